"""Has any source file changed? A child looks, from the first moment of a search on.

It begins before anything else is imported, on a guess: where the store probably is, and that
somebody will want to know. So it only reads, until it is told which roots are meant; from then on
it may take in what has changed. Who does not want to know drops it. Imports next to nothing; the
note that it goes by is described in `freshness`.
"""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.refresh.messages import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    Outcome = Literal["fresh", "stale", "taken in", "handed over"]
    TakeIn = Callable[[list[str], bytes, Line], bool]
    """Takes in a few transcripts, as it is told, says when they can be searched or hands over what
    is left to do for that, and whether it could at all."""

VERSION = "ccgrep seen 5"
NUMBERS_BYTES = 24
"""Time, size and inode of a transcript."""
_NEWEST = 64  # transcripts that are looked at first
_LONG_BYTES = 512  # of their names, on the average
_MANY = 10_000  # transcripts that two processes look at
_OUTCOMES: dict[int, Outcome] = {0: "fresh", 1: "stale", 2: "taken in"}
_FRESH, _STALE, _TAKEN_IN = _OUTCOMES
_RUNNING = -1000  # no exit code, and no signal
_SIGKILL = 9
CHANGE, READY, TAKE_OVER = b"change", b"ready", b"take over"
_WANTED, WRITING = b"wanted", b"writing"


class Transcripts(NamedTuple):
    """Paths of transcripts, and of each what its stat was: time, size and inode."""

    paths: Sequence[bytes]
    numbers: Sequence[int]

    def halves(self, middle: int) -> tuple[Transcripts, Transcripts]:
        return (
            Transcripts(self.paths[:middle], self.numbers[: 3 * middle]),
            Transcripts(self.paths[middle:], self.numbers[3 * middle :]),
        )

    def changed(self) -> list[bytes]:
        return list(self.changes())

    def changes(self) -> Iterator[bytes]:
        """Those that are not as they were; raises FileNotFoundError if one is gone."""
        stat = os.lstat
        numbers = iter(self.numbers)
        for path, time, size, inode in zip(self.paths, numbers, numbers, numbers, strict=True):
            info = stat(path)
            if info.st_mtime_ns != time or info.st_size != size or info.st_ino != inode:
                yield path


class Seen(NamedTuple):
    """What the last run saw: a line with its HEAD, one for each root and for each pattern of what
    it was not to take in, for each folder and for each transcript, and the numbers of these.

    The larger parts are views of the note: most of it is not needed at once, and a copy of a
    megabyte takes as long as to look at a hundred transcripts.
    """

    head: bytes
    where: bytes
    folders: memoryview
    names: memoryview
    numbers: memoryview

    @property
    def files(self) -> Transcripts:
        return Transcripts(bytes(self.names).split(b"\n") if self.names else (), self.numbers)

    def newest(self) -> tuple[Transcripts, Seen]:
        """The first of the transcripts, and the others."""
        first = bytes(self.names[: _NEWEST * _LONG_BYTES]).split(b"\n", _NEWEST)[:_NEWEST]
        end = sum(map(len, first)) + len(first)
        if end > _NEWEST * _LONG_BYTES or not self.names:  # The last one may be cut.
            return Transcripts((), self.numbers[:0]), self
        middle = 3 * len(first)
        others = self._replace(names=self.names[end:], numbers=self.numbers[middle:])
        return Transcripts(first, self.numbers[:middle]), others

    def is_same_folders(self) -> bool:
        """Whether no file was added or removed since."""
        for line in bytes(self.folders).splitlines():
            time, _, path = line.partition(b" ")
            try:
                is_same = os.stat(path).st_mtime_ns == int(time)
            except FileNotFoundError:
                is_same = time == b"-1"
            if not is_same:
                return False
        return True


def parsed(note: bytes) -> Seen:
    """Raises ValueError if that is no such note, or not all of it."""
    folders = note.index(b"\n\n") + 2
    names = note.index(b"\n\n", folders) + 2
    names_end = note.index(b"\n\n", names)
    head, _, where = note[: folders - 2].partition(b"\n")
    files = note.count(b"\n", names, names_end) + 1 if names < names_end else 0
    view = memoryview(note)
    numbers = view[names_end + 2 : names_end + 2 + files * NUMBERS_BYTES]
    if len(numbers) < files * NUMBERS_BYTES:
        raise ValueError("it is not whole")
    parts = (view[folders : names - 2], view[names:names_end], numbers.cast("Q"))
    return Seen(head, where, *parts)


def read_head(store_dir: str) -> str:
    """HEAD as it stands there; empty when there is none."""
    try:
        with open(os.path.join(store_dir, "HEAD"), encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def last_seen(store_dir: str) -> Seen | None:
    """What the run saw that made HEAD; nothing if that is not known."""
    seen = _read_seen(store_dir)
    is_right = seen is not None and seen.head == f"{VERSION} {read_head(store_dir)}".encode()
    return seen if is_right else None


def _read_seen(store_dir: str) -> Seen | None:
    try:
        with open(os.path.join(store_dir, "seen"), "rb") as file:
            return parsed(file.read())
    except (OSError, ValueError):
        return None


def where_lines(roots: Sequence[str], exclude: Sequence[str] = ()) -> bytes:
    lines = [f"root {path}" for path in roots] + [f"exclude {pattern!r}" for pattern in exclude]
    return os.fsencode("\n".join(lines))


def changed_since(
    store_dir: str, roots: Sequence[str], exclude: Sequence[str] = ()
) -> list[str] | None:
    """The transcripts that are not as the last run saw them; `None` if one came or is gone, or if
    there was no such run over these roots."""
    seen = last_seen(store_dir)
    if seen is None or seen.where != where_lines(roots, exclude):
        return None
    return changed_files(seen)


def changed_files(seen: Seen, on_change: Callable[[], object] | None = None) -> list[str] | None:
    """The transcripts that are not as they were; `None` if one came or is gone.

    `on_change` is called when one of the newest has changed, and no other is looked at then.
    """
    newest, others = seen.newest()
    try:
        changed = newest.changed()
        if changed and on_change is not None:
            on_change()
            return _decoded(changed)
        changed += _changed(others)
        return _decoded(changed) if seen.is_same_folders() else None
    except (OSError, ValueError):
        return None


def _is_rest_same(store_dir: str) -> bool:
    """Whether nothing has changed but, perhaps, the newest transcripts. HEAD may have by now, by
    what was taken in of these."""
    seen = _read_seen(store_dir)
    try:
        others = seen.newest()[1] if seen is not None else None
        return others is not None and others.is_same_folders() and not _changed(others)
    except (OSError, ValueError):
        return False


def is_same(seen: Seen) -> bool:
    """Whether nothing has changed; if something has, that is soon known."""
    newest, others = seen.newest()
    try:
        is_newest_same = next(newest.changes(), None) is None
        return is_newest_same and seen.is_same_folders() and not _changed(others)
    except (OSError, ValueError):
        return False


def _changed(seen: Seen) -> list[bytes]:
    """The transcripts that have changed; of many, another process looks at a part."""
    files = seen.files
    if len(files.paths) <= _MANY:
        return files.changed()
    # Who looks at the folders too has fewer transcripts to look at.
    folders = bytes(seen.folders).count(b"\n")
    mine, others = files.halves(max(len(files.paths) - folders, 0) // 2)
    changed: list[bytes] = []
    if _is_true_beside(lambda: not others.changed(), lambda: changed.extend(mine.changed())):
        return changed
    return changed + others.changed()


def _decoded(paths: list[bytes]) -> list[str]:
    return [os.fsdecode(path) for path in paths]


def _is_true_beside(claim: Callable[[], bool], work: Callable[[], object]) -> bool:
    """Whether a claim is true: a child finds out during `work`."""
    child = _finding_out(claim, 5)  # What is done meanwhile takes longer.
    try:
        work()
    finally:
        is_true = _is_true(child)
    return is_true


def _finding_out(claim: Callable[[], bool], nice: int) -> int:
    """A child that finds out whether a claim is true, as far as nobody else is in a hurry."""
    child = os.fork()
    if child == 0:
        code = 1
        os.nice(nice)
        try:
            code = 0 if claim() else 1
        finally:
            os._exit(code)
    return child


def _is_true(child: int) -> bool:
    return os.waitpid(child, 0)[1] == 0


class Look(Protocol):
    """Says whether the source files are as the last run saw them."""

    def is_decided(self) -> bool: ...

    def outcome(self, is_writing: bool = False) -> Outcome: ...

    def close(self) -> None: ...


class Check:
    """A look at the source files that a child has begun.

    The child is told that it is wanted, and for which roots. It says when one of the newest
    transcripts has changed, and takes that in while another child looks at the others. It says
    when what has changed can be searched, or hands over what is left to do for that, and goes on
    to put the store in order, until `close`.
    """

    def __init__(self, store_dir: str, child: int, line: Line) -> None:
        self.store_dir = store_dir
        self.line = line
        self._child = child
        self._helper: int | None = None
        self._is_all = True  # that has changed, what the child takes in
        self._is_wanted = False
        self._heard: bytes | None = None  # and not answered yet
        self._exit_code = _RUNNING

    def want(self, where: bytes, told: bytes = b"") -> None:
        """The child may go on, if that is where the last run looked; who takes in is `told`."""
        self._is_wanted = True
        self._tell(b"\n\n".join((_WANTED, where, told)))

    def is_decided(self) -> bool:
        """Whether something has changed for sure, or the answer is there: no time to be used."""
        if self._heard is None:
            self._heard = self._hear(self.line.heard)
        return self._heard is not None

    def outcome(self, is_writing: bool = False) -> Outcome:
        """Waits for the answer; a child that died gives none, and then it is stale. One that is
        about to take something in may hand over the rest to who `is_writing`."""
        if is_writing:
            self._tell(WRITING)
        heard, self._heard = self._heard, None
        while heard in (None, CHANGE):
            heard = self._hear(self.line.receive)
        if heard == TAKE_OVER:
            return "handed over"
        if self.is_all() and heard == READY:
            return "taken in"
        self.close()
        return _OUTCOMES.get(self._exit_code, "stale") if self._is_all else "stale"

    def is_all(self) -> bool:
        """Whether nothing has changed but what the child takes in; waits for that."""
        if self._helper is not None:
            self._is_all = _is_true(self._helper)
            self._helper = None
        return self._is_all

    def close(self) -> None:
        """Waits until the child has ended; if nobody wants to know, that is now. One that cannot
        hand over what is left to do ends, and leaves that to the next one."""
        if self._exit_code != _RUNNING:
            return
        if not self._is_wanted:
            os.kill(self._child, _SIGKILL)
        self.line.close()
        self.is_all()
        self._exit_code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])

    def _hear(self, listen: Callable[[], bytes | None]) -> bytes | None:
        """What the child says; nothing if it has nothing more to say."""
        try:
            heard = listen()
        except EOFError:
            return b""
        if heard == CHANGE and self._is_wanted:
            self._helper = _finding_out(lambda: _is_rest_same(self.store_dir), 19)
        return heard

    def _tell(self, message: bytes) -> None:
        try:
            self.line.send(message)
        except BrokenPipeError:
            return  # It knows already that it cannot say.


def begin(store_dir: str, load: Callable[[], TakeIn]) -> Check:
    """Begins to look; what has changed is taken in by what `load` gives, if that is wanted.

    A fork, because the look would hold Python's lock in a thread.
    """
    hears, said = os.pipe()
    told, says = os.pipe()
    child = os.fork()
    if child == 0:
        code = _STALE
        try:
            os.close(says)  # Else it would wait for itself.
            code = _looked(store_dir, load, Line(told, said))
        finally:
            os._exit(code)
    os.close(said)
    os.close(told)
    return Check(store_dir, child, Line(hears, says))


def _looked(store_dir: str, load: Callable[[], TakeIn], line: Line) -> int:
    """The life of the child, and its exit code."""

    def on_change() -> None:
        line.send(CHANGE)
        load()

    seen = last_seen(store_dir)
    changed = changed_files(seen, on_change) if seen is not None else None
    if seen is None or changed is None:
        return _STALE
    word, where, told = line.receive().split(b"\n\n", 2)
    if (word, where) != (_WANTED, seen.where):
        return _STALE
    if not changed:
        return _FRESH
    return _TAKEN_IN if load()(changed, told, line) else _STALE
