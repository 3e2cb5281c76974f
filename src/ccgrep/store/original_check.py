"""Checks the stored bytes of files, and drops those that are lost.

A part is checked by unpacking it, because it depends on turns and blobs.
"""

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.model import ObjectId
from ccgrep.store.manifest import Row, SideFiles, SourceFile
from ccgrep.store.originals import iterate_parts, list_objects
from ccgrep.store.store import Store


def check_bytes(store: Store, file: SourceFile, lost: list[str]) -> set[ObjectId]:
    """Unpack the bytes of a file; return the objects that hold them, and add damage to `lost`."""
    used = {part.id for part in file.parts}
    try:
        used.update(list_objects(file, store.read))
        for _ in iterate_parts(file.parts, store.read):
            pass
    except StoreError:
        lost.append(f"bytes of {file.path}")
    return used


def drop_lost_bytes(store: Store, row: Row) -> Row:
    """Return a row without bytes that cannot be read. Its files are marked to be read again."""
    files = tuple(
        file if _has_bytes(store, file) else replace(file, size=-1, parts=(), parts_crc=0)
        for file in row.files
    )
    side_files = row.side_files
    if side_files is not None and not _has_side_files(store, side_files):
        side_files = None
        files = tuple(replace(file, size=-1) for file in files)
    versions = tuple(file for file in row.versions if _has_bytes(store, file))
    return replace(row, files=files, versions=versions, side_files=side_files)


def _has_side_files(store: Store, id: ObjectId) -> bool:
    try:
        return all(_has_bytes(store, file) for file in store.load(id, SideFiles).files)
    except StoreError:
        return False


def _has_bytes(store: Store, file: SourceFile) -> bool:
    lost: list[str] = []
    check_bytes(store, file, lost)
    return not lost
