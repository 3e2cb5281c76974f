"""What has changed since the last run? A child looks while the search is under way.

    seen    "ccgrep seen 1 <HEAD>\\n", "root <path>\\n" for each root, then for each folder
            "<mtime_ns> <path>\\n" (-1: it was not there), an empty line, and for each transcript
            "<mtime_ns> <size> <inode> <path>\\n"

`?` stands for a time within two seconds of the look: such a file or folder can change without
its stat saying so, and counts as changed. A folder that was not changed has the files that it
had, so nothing is listed. What only recovers lost sessions is not looked at: a run that reads
anything new takes that in. Derived: without it, or when it is wrong, a search looks for itself.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ccgrep.sources.scan import Root, Scan

_RACY_NS = 2_000_000_000
Outcome = Literal["fresh", "stale", "taken in"]
OUTCOMES: dict[int, Outcome] = {0: "fresh", 1: "stale", 2: "taken in"}
_FRESH, _STALE, _TAKEN_IN = OUTCOMES


def description(head: str, roots: Sequence[Root], scan: Scan, scanned_ns: int) -> str | None:
    """What `seen` is to hold after a run that took in everything that `scan` saw."""
    if scan.troubles or any("\n" in path for path in (*scan.files, *scan.folders)):
        return None
    lines = [f"ccgrep seen 1 {head}", *(f"root {root.path}" for root in roots)]
    lines += [f"{_time(time, scanned_ns)} {path}" for path, time in scan.folders.items()]
    lines.append("")
    for file in scan.files.values():
        if file.kind == "session":
            time = _time(file.mtime_ns, scanned_ns)
            lines.append(f"{time} {file.size} {file.inode} {file.path}")
    return "\n".join(lines) + "\n"


def _time(mtime_ns: int, scanned_ns: int) -> str:
    return str(mtime_ns) if mtime_ns <= scanned_ns - _RACY_NS else "?"


def described_anew(seen: str, head: str, scan: Scan, scanned_ns: int) -> str:
    """`seen` after a run that took in the few files of `scan`."""
    _, _, rest = seen.partition("\n")
    for path, file in scan.files.items():
        end = rest.find(f" {path}\n") + 1
        if end:
            start = rest.rfind("\n", 0, end) + 1
            stat = f"{_time(file.mtime_ns, scanned_ns)} {file.size} {file.inode} "
            rest = f"{rest[:start]}{stat}{rest[end:]}"
    return f"ccgrep seen 1 {head}\n{rest}"


def read_seen(store_dir: str) -> str:
    try:
        with open(os.path.join(store_dir, "seen"), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def read_head(store_dir: str) -> str:
    """HEAD as it stands there; empty when there is none."""
    try:
        with open(os.path.join(store_dir, "HEAD"), encoding="ascii", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def changed_files(store_dir: str, roots: Sequence[Root]) -> list[str] | None:
    """The transcripts that are not as the last run saw them; `None` when only a look at all
    folders can tell."""
    folders, _, files = read_seen(store_dir).partition("\n\n")
    head = [f"ccgrep seen 1 {read_head(store_dir)}", *(f"root {root.path}" for root in roots)]
    lines = folders.split("\n")
    if lines[: len(head)] != head or not _is_same_folders(lines[len(head) :]):
        return None
    try:
        return _changed(files.splitlines())
    except (OSError, ValueError):
        return None


def _is_same_folders(lines: list[str]) -> bool:
    for line in lines:
        time, _, path = line.partition(" ")
        try:
            if str(os.stat(path).st_mtime_ns) != time:
                return False
        except OSError:
            if time != "-1":
                return False
    return True


def _changed(lines: list[str]) -> list[str]:
    changed = []
    stat = os.lstat
    for line in lines:
        time, size, inode, path = line.split(" ", 3)
        info = stat(path)
        if (
            time == "?"
            or info.st_mtime_ns != int(time)
            or info.st_size != int(size)
            or info.st_ino != int(inode)
        ):
            changed.append(path)
    return changed


class Check(NamedTuple):
    """A look at the source files that is under way in a child."""

    child: int

    def outcome(self) -> Outcome:
        """Waits for the answer; a child that died gives none, and then it is stale."""
        _, status = os.waitpid(self.child, 0)
        return OUTCOMES.get(os.waitstatus_to_exitcode(status), "stale")


def start_check(
    store_dir: str, roots: Sequence[Root], take_in: Callable[[list[str]], bool]
) -> Check:
    """Begins to look, and if few transcripts have changed, to take them in.

    A fork, because the look would hold Python's lock in a thread.
    """
    child = os.fork()
    if child == 0:
        code = _STALE
        # msgspec would take it instead of typing, and it takes ten milliseconds to import.
        sys.modules.setdefault("typing_extensions", None)  # type: ignore[arg-type]
        try:
            changed = changed_files(store_dir, roots)
            if changed is not None:
                code = _FRESH if not changed else _TAKEN_IN if take_in(changed) else _STALE
        finally:
            os._exit(code)
    return Check(child)
