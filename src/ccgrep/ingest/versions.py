"""Keeps the stored bytes of files when a session takes a new state.

A session's row lists its files with their bytes. When a file is rewritten, moved or deleted, the
row that replaces it may no longer list the old bytes. They become a version of the session, unless
the file only grew, or a superseded session takes them.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ccgrep.store.manifest import Row, SourceFile, StoredPart

Parts = tuple[StoredPart, ...]


def strip_watermarks(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """Return the files with stored bytes, without their watermarks."""
    return tuple(
        replace(file, resume=0, resume_crc=0, end=0, end_crc=0) for file in files if file.parts
    )


def keep_versions(old: Row | None, new: Row, dropped: set[Parts]) -> Row:
    """Return `new` with the bytes of `old` that it lacks, except those in `dropped`.

    Agents rewrite their documents all the time, so a document has no versions.
    """
    if old is None or new.session.kind == "document":
        return new
    present = {file.parts for file in (*new.files, *new.versions)} | dropped
    lost = [
        file for file in strip_watermarks((*old.versions, *old.files)) if file.parts not in present
    ]
    return replace(
        new,
        versions=_drop_repeated((*new.versions, *lost)),
        side_files=new.side_files or old.side_files,
    )


def _drop_repeated(files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """Return the files with each content once, in order."""
    return tuple({file.parts: file for file in files}.values())
