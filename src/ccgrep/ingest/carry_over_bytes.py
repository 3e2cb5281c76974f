"""Carries the stored bytes of files over from an old store: what the files no longer contain."""

from collections.abc import Iterable

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.ingest.archive import has_stored_prefix
from ccgrep.ingest.archive_history import add_history
from ccgrep.ingest.versions import strip_watermarks
from ccgrep.model import ObjectId
from ccgrep.sources.files import open_side_file
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row, SideFiles, Snapshot, SourceFile
from ccgrep.store.originals import iterate_parts, list_objects
from ccgrep.store.store import Store


def copy_files(files: Iterable[SourceFile], old: Store, commit: Commit) -> tuple[SourceFile, ...]:
    """Copy the stored bytes of files; return the files, without bytes that cannot be read."""
    return tuple(
        file if _copy_file(file, old, commit) else replace(file, parts=(), parts_crc=0)
        for file in files
    )


def copy_side_files(row: Row, old: Store, commit: Commit) -> ObjectId | None:
    """Copy the side files of a session, and return their object."""
    files = copy_files(_side_files(row, old), old, commit)
    return commit.put("side_files", SideFiles(files)) if files else None


def add_missing_bytes(new: Row, row: Row, old: Store, commit: Commit) -> None:
    """Add to a session what the old store has of it, and its files no longer contain."""
    present = {file.parts for file in (*new.files, *new.versions)}
    lost = [
        file
        for file in strip_watermarks((*row.versions, *row.files))
        if file.parts not in present and not _is_on_disk(file)
    ]
    known = _side_files(new, commit)
    paths = {file.path for file in known}
    lost_side = [file for file in _side_files(row, old) if file.path not in paths]
    if not lost and not lost_side:
        return
    side_files = new.side_files
    if lost_side:
        all_files = (*copy_files(lost_side, old, commit), *known)
        side_files = commit.put("side_files", SideFiles(all_files))
    versions = (*strip_watermarks(copy_files(lost, old, commit)), *new.versions)
    manifest = replace(
        commit.manifest(new),
        stored=strip_watermarks((*versions, *new.files)),
        side_files=side_files,
    )
    commit.set_row(
        replace(
            new,
            versions=versions,
            side_files=side_files,
            manifest=commit.put("manifest", manifest),
        )
    )


def carry_over_histories(snapshot: Snapshot, old: Store, commit: Commit) -> tuple[SourceFile, ...]:
    """Return the hints of a commit with the lines of histories that only the old store has."""
    hints = {hint.path: hint for hint in commit.snapshot.hints}
    for hint in snapshot.hints:
        try:
            older = b"".join(iterate_parts(hint.parts, old.read))
        except StoreError:
            continue
        if older:
            empty = replace(hint, parts=(), parts_crc=0)
            hints[hint.path] = add_history(commit, hints.get(hint.path, empty), older)
    return tuple(hints[path] for path in sorted(hints))


def _side_files(row: Row, store: Store | Commit) -> tuple[SourceFile, ...]:
    if row.side_files is None:
        return ()
    try:
        return store.load(row.side_files, SideFiles).files
    except StoreError:
        return ()


def _copy_file(file: SourceFile, old: Store, commit: Commit) -> bool:
    """Copy the objects that hold a file's bytes, and return whether all of them can be read."""
    try:
        for id in list_objects(file, old.read):
            commit.add(old.read_frame(id))
    except StoreError:
        return False
    return True


def _is_on_disk(file: SourceFile) -> bool:
    """Return whether the file still starts with its stored bytes."""
    opened = open_side_file(file.path, file.root)
    if opened is None:
        return False
    with opened:
        return has_stored_prefix(opened, file)
