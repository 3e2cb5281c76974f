"""Decides which source files have to be read. Pure: stats in, a plan out.

An unchanged stat means unchanged content only if the file had not been written just before it was
read: within one clock tick a file can be rewritten at the same size. Such files, and files with an
mtime in the future, are suspects: their content is compared by checksum. A file whose mtime was
restored after it was rewritten has another ctime.
"""

from collections.abc import Mapping

from msgspec import Struct

from ccgrep.sources.registry import is_racy
from ccgrep.sources.scan import Scan
from ccgrep.store.manifest import SourceFile


class Plan(Struct, frozen=True):
    """The paths to act on, by what has to happen to them."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def plan(
    known: Mapping[str, SourceFile],
    scan: Scan,
    now_ns: int,
    is_full: bool = False,
    is_upgrade: bool = False,
) -> Plan:
    """Return what has to be read to bring the store to what `scan` found.

    With `is_upgrade`, transcripts without stored bytes are read again.
    """
    new, changed, suspect = [], [], []
    for path, found in scan.files.items():
        before = known.get(path)
        stat = (found.size, found.mtime_ns, found.inode, found.ctime_ns)
        if before is None:
            new.append(path)
        elif is_full or not has_same_stat(before, stat) or (is_upgrade and _lacks_bytes(before)):
            changed.append(path)
        elif may_have_changed(before, now_ns):
            suspect.append(path)
    roots = set(scan.complete_roots)
    gone = [p for p, before in known.items() if p not in scan.files and before.root in roots]
    return Plan(tuple(new), tuple(changed), tuple(suspect), tuple(gone))


def _lacks_bytes(file: SourceFile) -> bool:
    return file.size > 0 and not file.parts


def has_same_stat(before: SourceFile, stat: tuple[int, ...]) -> bool:
    """Return whether a file has the size, mtime, inode and ctime that it had when it was read."""
    ctime_ns = before.ctime_ns or stat[3]  # An older version did not record it.
    return stat == (before.size, before.mtime_ns, before.inode, ctime_ns)


def may_have_changed(before: SourceFile, now_ns: int) -> bool:
    """Return whether the file may have changed since it was read with the same stat."""
    return is_racy(before.mtime_ns, before.read_ns) or before.mtime_ns > now_ns
