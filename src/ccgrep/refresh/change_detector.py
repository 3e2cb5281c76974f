"""Compares the transcripts on disk with the seen file: one stat per transcript and folder.

Runs in the background child of every search, so it imports next to nothing. A folder with an
unchanged mtime holds the same files, so nothing is listed.
"""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.refresh.seen_file import describe_locations, read_seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccgrep.refresh.seen_file import SeenFile


def detect_changes(
    store_dir: str, roots: Sequence[str], exclude: Sequence[str] = ()
) -> list[str] | None:
    """Return the transcripts that changed since the last ingest.

    Return None if a transcript was added or deleted, or if the last ingest did not cover these
    roots: then the roots have to be scanned.
    """
    seen = read_seen(store_dir)
    if seen is None or seen.locations != describe_locations(roots, exclude):
        return None
    try:
        changed = _changed_transcripts(seen)
        return changed if _has_same_folders(seen) else None
    except (OSError, ValueError):
        return None


def _changed_transcripts(seen: SeenFile) -> list[str]:
    """Raise FileNotFoundError if a transcript was deleted."""
    changed = []
    lstat, numbers = os.lstat, iter(seen.stats)  # This loop is a third of a search.
    columns = (numbers,) * 4
    for path, mtime_ns, ctime_ns, size, inode in zip(seen.paths, *columns, strict=True):
        info = lstat(path)
        is_written = info.st_mtime_ns != mtime_ns or info.st_ctime_ns != ctime_ns
        if is_written or info.st_size != size or info.st_ino != inode:
            changed.append(os.fsdecode(path))
    return changed


def _has_same_folders(seen: SeenFile) -> bool:
    """Return whether no file was added to or removed from a folder."""
    for line in seen.folders.splitlines():
        mtime_ns, _, path = line.partition(b" ")
        try:
            now = os.stat(path).st_mtime_ns
        except FileNotFoundError:
            now = -1
        if now != int(mtime_ns):
            return False
    return True
