"""What has changed since the last run? A child looks while the search is under way.

    seen    "ccgrep seen 4 <HEAD>\\n", "root <path>\\n" for each root, then for each folder
            "<mtime_ns> <path>\\n" (-1: it was not there), an empty line, "<path>\\n" for each
            transcript, an empty line, for each transcript mtime_ns, size and inode as 8 bytes,
            as this machine orders them, and a checksum

`?`, or all bits of the 8 bytes, stands for a time within two seconds of the look: such a file or
folder can change without its stat saying so, and counts as changed. A folder that was not changed
has the files that it had, so nothing is listed. The newest transcripts come first: what changes is
mostly what was changed last. What only recovers lost sessions is not looked at: a run that reads
anything new takes that in. Derived: without it, or when it is wrong, a search looks for itself.
"""

from __future__ import annotations

import os
import sys

from ccgrep.named import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.sources.scan import FoundFile, Root, Scan
from ccgrep.store.notes import read_note, sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO, Literal

    Outcome = Literal["fresh", "stale", "taken in"]
    TakeIn = Callable[[list[str], Callable[[], object]], bool]
    """Takes in a few transcripts, says when they can be searched, and whether it could at all."""

_RACY_NS = 2_000_000_000
_NEVER = 2**64 - 1  # no file's time
_NUMBERS_BYTES = 24  # of a transcript
_NEWEST = 64  # transcripts that are looked at first
_MANY = 10_000  # transcripts that two processes look at
OUTCOMES: dict[int, Outcome] = {0: "fresh", 1: "stale", 2: "taken in"}
_FRESH, _STALE, _TAKEN_IN = OUTCOMES
_RUNNING = -1000  # no exit code, and no signal
_CHANGE, _READY = b"c", b"r"


class Transcripts(NamedTuple):
    """Paths of transcripts, and of each what its stat was: time, size and inode."""

    paths: Sequence[bytes]
    numbers: Sequence[int]

    def part(self, start: int, end: int | None = None) -> Transcripts:
        last = len(self.paths) if end is None else end
        return Transcripts(self.paths[start:last], self.numbers[3 * start : 3 * last])

    def changed(self) -> list[bytes]:
        """Those that are not as they were."""
        stat = os.lstat
        found = []
        numbers = iter(self.numbers)
        for path, time, size, inode in zip(self.paths, numbers, numbers, numbers, strict=True):
            info = stat(path)
            if info.st_mtime_ns != time or info.st_size != size or info.st_ino != inode:
                found.append(path)
        return found


def description(head: str, roots: Sequence[Root], scan: Scan, scanned_ns: int) -> bytes | None:
    """What `seen` is to hold after a run that took in everything that `scan` saw."""
    if scan.troubles or any("\n" in path for path in (*scan.files, *scan.folders)):
        return None
    files = [file for file in scan.files.values() if file.kind == "session"]
    files.sort(key=lambda file: file.mtime_ns, reverse=True)
    folders = [
        f"{time if _is_settled(time, scanned_ns) else '?'} {path}\n"
        for path, time in scan.folders.items()
    ]
    start = os.fsencode("".join([*_head(head, roots), *folders]))
    paths = [os.fsencode(file.path) for file in files]
    return _described(start, paths, b"".join(_numbers(file, scanned_ns) for file in files))


def _described(start: bytes, paths: Sequence[bytes], numbers: bytes) -> bytes:
    return sealed(b"\n".join((start, *paths, b"", numbers)))


def _head(head: str, roots: Sequence[Root]) -> list[str]:
    return [f"ccgrep seen 4 {head}\n", *(f"root {root.path}\n" for root in roots)]


def _numbers(file: FoundFile, scanned_ns: int) -> bytes:
    is_settled = file.mtime_ns >= 0 and _is_settled(file.mtime_ns, scanned_ns)
    numbers = (file.mtime_ns if is_settled else _NEVER, file.size, file.inode)
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)


def _is_settled(mtime_ns: int, scanned_ns: int) -> bool:
    return mtime_ns <= scanned_ns - _RACY_NS


def described_anew(store_dir: str, head: str, scan: Scan, scanned_ns: int) -> bytes | None:
    """`seen` after a run that took in the few files of `scan`; nothing if it is damaged."""
    try:
        start, files = _split(read_note(os.path.join(store_dir, "seen")))
    except ValueError:
        return None
    paths, numbers = list(files.paths), bytearray(files.numbers)
    for path, file in scan.files.items():
        name = os.fsencode(path)
        if name in paths:
            at = paths.index(name)
            del paths[at], numbers[at * _NUMBERS_BYTES : (at + 1) * _NUMBERS_BYTES]
        paths.insert(0, name)
        numbers[:0] = _numbers(file, scanned_ns)
    _, _, start = start.partition(b"\n")
    return _described(os.fsencode(_head(head, ())[0]) + start, paths, bytes(numbers))


def read_head(store_dir: str) -> str:
    """HEAD as it stands there; empty when there is none."""
    try:
        with open(os.path.join(store_dir, "HEAD"), encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def is_same_folders(store_dir: str, roots: Sequence[Root]) -> bool:
    """Whether no file was added or removed since the last run, whichever HEAD that made: a child
    may be taking in what grew."""
    try:
        with open(os.path.join(store_dir, "seen"), "rb") as seen:
            if _first_lines(seen, roots)[1:] != _head("", roots)[1:]:
                return False
            while (line := seen.readline()) != b"\n":
                time, _, path = line[:-1].partition(b" ")
                try:
                    is_same = os.stat(path).st_mtime_ns == int(time)
                except FileNotFoundError:
                    is_same = time == b"-1"
                if not is_same:
                    return False
    except (OSError, ValueError):
        return False
    return True


def changed_files(
    store_dir: str, roots: Sequence[Root], on_change: Callable[[], object] | None = None
) -> list[str] | None:
    """The transcripts of the last run that are not as it saw them; `None` if one is gone, or if
    there was no such run.

    `on_change` is called when one of the newest has changed, and the look goes on beside it.
    """
    try:
        with open(os.path.join(store_dir, "seen"), "rb") as seen:
            if _first_lines(seen, roots) != _head(read_head(store_dir), roots):
                return None
            _, files = _split(seen.read())
        changed = files.part(0, _NEWEST).changed()
        rest = files.part(_NEWEST)
        if changed and on_change is not None:
            if not _is_same_beside(rest, on_change):
                return changed_files(store_dir, roots)
        elif len(rest.paths) > _MANY:
            half = len(rest.paths) // 2
            look = rest.part(half).changed
            if not _is_same_beside(rest.part(0, half), lambda: changed.extend(look())):
                changed = files.changed()
        else:
            changed += rest.changed()
    except (OSError, ValueError):
        return None
    return [os.fsdecode(path) for path in changed]


def _is_same_beside(files: Transcripts, work: Callable[[], object]) -> bool:
    """Whether transcripts are as they were: a child looks during `work`."""
    child = os.fork()
    if child == 0:
        code = 1
        os.nice(5)  # What is done meanwhile takes longer.
        try:
            code = 1 if files.changed() else 0
        finally:
            os._exit(code)
    try:
        work()
    finally:
        status = os.waitpid(child, 0)[1]
    return status == 0


def _first_lines(seen: BinaryIO, roots: Sequence[Root]) -> list[str]:
    return [os.fsdecode(seen.readline()) for _ in _head("", roots)]


def _split(seen: bytes) -> tuple[bytes, Transcripts]:
    """What comes before the transcripts, and these."""
    at = seen.index(b"\n\n") + 2
    end = seen.index(b"\n\n", at - 1)  # There may be none.
    paths = seen[at:end].split(b"\n") if end > at else []
    numbers = memoryview(seen)[end + 2 :][: len(paths) * _NUMBERS_BYTES]
    if len(numbers) < len(paths) * _NUMBERS_BYTES:
        raise ValueError("it is not whole")
    return seen[: at - 1], Transcripts(paths, numbers.cast("Q"))


class Look(Protocol):
    """Says whether the source files are as the last run saw them."""

    def is_decided(self) -> bool: ...

    def outcome(self) -> Outcome: ...

    def close(self) -> None: ...


class Check:
    """A look at the source files: a child looks at the transcripts, the asker at the folders.

    Through the pipe the child says when it knows of a change, and when what has changed can be
    searched. It goes on then to put the store in order, until `close`.
    """

    def __init__(self, child: int, store_dir: str, roots: Sequence[Root], pipe: int) -> None:
        self._child = child
        self._store_dir = store_dir
        self._roots = roots
        self._pipe = pipe
        self._said = b""
        self._exit_code = _RUNNING

    def is_decided(self) -> bool:
        """Whether something has changed for sure, or the answer is there: no time to be used."""
        try:
            self._hear()
        except BlockingIOError:
            return False
        return True

    def outcome(self) -> Outcome:
        """Waits for the answer; a child that died gives none, and then it is stale."""
        is_same = is_same_folders(self._store_dir, self._roots)
        os.set_blocking(self._pipe, True)
        while is_same and _READY not in self._said and self._hear():
            pass
        if is_same and _READY in self._said:
            return "taken in"
        self.close()
        return OUTCOMES.get(self._exit_code, "stale") if is_same else "stale"

    def close(self) -> None:
        """Waits until the child has ended."""
        if self._exit_code == _RUNNING:
            self._exit_code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
            os.close(self._pipe)  # Only now: the child may be about to say something.

    def _hear(self) -> bool:
        """Takes what the child says; it may have nothing more to say."""
        said = os.read(self._pipe, 16)
        self._said += said
        return said != b""


def start_check(store_dir: str, roots: Sequence[Root], load: Callable[[], TakeIn]) -> Check:
    """Begins to look, and if few transcripts have changed, to take them in by what `load` gives.

    A fork, because the look would hold Python's lock in a thread.
    """
    pipe, end = os.pipe()
    os.set_blocking(pipe, False)
    child = os.fork()
    if child == 0:
        code = _STALE

        def on_change() -> None:
            os.write(end, _CHANGE)
            load()

        def on_ready() -> None:
            os.write(end, _READY)

        try:
            changed = changed_files(store_dir, roots, on_change)
            if changed is not None:
                is_taken_in = bool(changed) and load()(changed, on_ready)
                code = _FRESH if not changed else _TAKEN_IN if is_taken_in else _STALE
        finally:
            os._exit(code)
    os.close(end)
    return Check(child, store_dir, roots, pipe)
