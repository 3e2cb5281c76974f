"""Has anything changed since the last run? Answered by a child while the search is under way.

    seen    "<HEAD> <digest>\\n": the snapshot after a run that left nothing to do, and a hash of
            the paths and stats that it saw; derived, and not there while any of them is doubtful

The answer costs a look at every source file and no more: nothing of the store is read.
"""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ccgrep.sources.scan import FoundFile, Root, scan

_RACY_NS = 2_000_000_000


def digest(files: Iterable[FoundFile]) -> str:
    """What tells one state of the source files from another."""
    from hashlib import blake2b  # noqa: PLC0415 - only in the child, or after an index run

    lines = sorted(f"{f.path}\0{f.size}\0{f.mtime_ns}\0{f.inode}" for f in files)
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def is_at_rest(files: Iterable[FoundFile], scanned_ns: int) -> bool:
    """Whether no file can change from here on without its stat saying so."""
    return all(file.mtime_ns < scanned_ns - _RACY_NS for file in files)


def read_head(store_dir: str) -> str:
    """HEAD as it stands there; empty when there is none."""
    try:
        with open(os.path.join(store_dir, "HEAD"), encoding="ascii", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def _is_fresh(store_dir: str, roots: Sequence[Root]) -> bool:
    try:
        with open(os.path.join(store_dir, "seen"), encoding="ascii") as file:
            head, _, seen = file.read(200).strip().partition(" ")
    except (OSError, UnicodeDecodeError):
        return False
    if not head or head != read_head(store_dir):
        return False
    found = scan(list(roots))
    return not found.troubles and digest(found.files.values()) == seen


class Check(NamedTuple):
    """A look at the source files that is under way in a child."""

    child: int

    def is_fresh(self) -> bool:
        """Waits for the answer; a child that died gives none, and then it is no."""
        _, status = os.waitpid(self.child, 0)
        return os.waitstatus_to_exitcode(status) == 0


def start_check(store_dir: str, roots: Sequence[Root]) -> Check:
    """Begins to look. A fork, because the look would hold Python's lock in a thread."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if _is_fresh(store_dir, roots) else 1
        finally:
            os._exit(code)
    return Check(child)
