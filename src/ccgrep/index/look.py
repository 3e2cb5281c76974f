"""Has any source file changed? A child looks, from the first moment of a search on.

It begins before anything else is imported, on a guess: where the store probably is, and that
somebody will want to know. So it only reads, until it is told which roots are meant; from then on
it may take in what has changed. Who does not want to know drops it. Imports next to nothing; the
note that it goes by is described in `freshness`.
"""

from __future__ import annotations

import os

from ccgrep.named import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    Outcome = Literal["fresh", "stale", "taken in"]
    TakeIn = Callable[[list[str], bytes, Callable[[], object]], bool]
    """Takes in a few transcripts, as it is told, says when they can be searched, and whether it
    could at all."""

VERSION = "ccgrep seen 5"
NUMBERS_BYTES = 24
"""Time, size and inode of a transcript."""
_NEWEST = 64  # transcripts that are looked at first
_MANY = 10_000  # transcripts that two processes look at
_OUTCOMES: dict[int, Outcome] = {0: "fresh", 1: "stale", 2: "taken in"}
_FRESH, _STALE, _TAKEN_IN = _OUTCOMES
_RUNNING = -1000  # no exit code, and no signal
_SIGKILL = 9
_CHANGE, _READY, _WANTED = b"c", b"r", b"w"
_MESSAGE_BYTES = 4096  # what goes through a pipe as one, whatever else happens


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
    it was not to take in, for each folder and for each transcript, and the numbers of these."""

    head: bytes
    where: bytes
    folders: bytes
    names: bytes
    numbers: Sequence[int]

    @property
    def files(self) -> Transcripts:
        return Transcripts(self.names.split(b"\n") if self.names else (), self.numbers)

    def newest(self) -> tuple[Transcripts, Seen]:
        """The first of the transcripts, and the others: most of them are not needed at once."""
        names = self.names.split(b"\n", _NEWEST) if self.names else []
        first, rest = names[:_NEWEST], b"".join(names[_NEWEST:])
        middle = 3 * len(first)
        others = self._replace(names=rest, numbers=self.numbers[middle:])
        return Transcripts(first, self.numbers[:middle]), others

    def is_same_folders(self) -> bool:
        """Whether no file was added or removed since."""
        for line in self.folders.splitlines():
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
    start, folders, names, data = note.split(b"\n\n", 3)
    head, _, where = start.partition(b"\n")
    size = (names.count(b"\n") + 1 if names else 0) * NUMBERS_BYTES
    numbers = memoryview(data)[:size]
    if len(numbers) < size:
        raise ValueError("it is not whole")
    return Seen(head, where, folders, names, numbers.cast("Q"))


def read_head(store_dir: str) -> str:
    """HEAD as it stands there; empty when there is none."""
    try:
        with open(os.path.join(store_dir, "HEAD"), encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return ""


def last_seen(store_dir: str) -> Seen | None:
    """What the run saw that made HEAD; nothing if that is not known."""
    try:
        with open(os.path.join(store_dir, "seen"), "rb") as file:
            seen = parsed(file.read())
    except (OSError, ValueError):
        return None
    return seen if seen.head == f"{VERSION} {read_head(store_dir)}".encode() else None


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

    `on_change` is called when one of the newest has changed, and the look goes on beside it.
    """
    newest, others = seen.newest()

    def is_rest_same() -> bool:
        return not others.files.changed() and seen.is_same_folders()

    try:
        changed = newest.changed()
        if changed and on_change is not None and _is_true_beside(is_rest_same, on_change):
            return _decoded(changed)
        changed += _changed(others)
        return _decoded(changed) if seen.is_same_folders() else None
    except (OSError, ValueError):
        return None


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
    mine, others = files.halves(max(len(files.paths) - seen.folders.count(b"\n"), 0) // 2)
    changed: list[bytes] = []
    if _is_true_beside(lambda: not others.changed(), lambda: changed.extend(mine.changed())):
        return changed
    return changed + others.changed()


def _decoded(paths: list[bytes]) -> list[str]:
    return [os.fsdecode(path) for path in paths]


def _is_true_beside(claim: Callable[[], bool], work: Callable[[], object]) -> bool:
    """Whether a claim is true: a child finds out during `work`."""
    child = os.fork()
    if child == 0:
        code = 1
        os.nice(5)  # What is done meanwhile takes longer.
        try:
            code = 0 if claim() else 1
        finally:
            os._exit(code)
    try:
        work()
    finally:
        status = os.waitpid(child, 0)[1]
    return status == 0


class Look(Protocol):
    """Says whether the source files are as the last run saw them."""

    def is_decided(self) -> bool: ...

    def outcome(self) -> Outcome: ...

    def close(self) -> None: ...


class Check:
    """A look at the source files that a child has begun.

    Through one pipe the child is told that it is wanted, and for which roots. Through another it
    says when it knows of a change, and when what has changed can be searched. It goes on then to
    put the store in order, until `close`.
    """

    def __init__(self, store_dir: str, child: int, pipe: int, word: int) -> None:
        self.store_dir = store_dir
        self._child = child
        self._pipe = pipe
        self._word = word
        self._is_wanted = False
        self._said = b""
        self._exit_code = _RUNNING

    def want(self, where: bytes, told: bytes = b"") -> None:
        """The child may go on, if that is where the last run looked; who takes in is `told`."""
        self._is_wanted = True
        message = b"\n\n".join((_WANTED + where, told))
        try:
            os.write(self._word, message if len(message) <= _MESSAGE_BYTES else b"too long")
        except BrokenPipeError:
            return  # It knows already that it cannot say.

    def is_decided(self) -> bool:
        """Whether something has changed for sure, or the answer is there: no time to be used."""
        try:
            self._hear()
        except BlockingIOError:
            return False
        return True

    def outcome(self) -> Outcome:
        """Waits for the answer; a child that died gives none, and then it is stale."""
        os.set_blocking(self._pipe, True)
        while _READY not in self._said and self._hear():
            pass
        if _READY in self._said:
            return "taken in"
        self.close()
        return _OUTCOMES.get(self._exit_code, "stale")

    def close(self) -> None:
        """Waits until the child has ended; if nobody wants to know, that is now."""
        if self._exit_code != _RUNNING:
            return
        if not self._is_wanted:
            os.kill(self._child, _SIGKILL)
        self._exit_code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        os.close(self._word)
        os.close(self._pipe)  # Only now: the child may be about to say something.

    def _hear(self) -> bool:
        """Takes what the child says; it may have nothing more to say."""
        said = os.read(self._pipe, 16)
        self._said += said
        return said != b""


def begin(store_dir: str, load: Callable[[], TakeIn]) -> Check:
    """Begins to look; what has changed is taken in by what `load` gives, if that is wanted.

    A fork, because the look would hold Python's lock in a thread.
    """
    pipe, said = os.pipe()
    told, word = os.pipe()
    os.set_blocking(pipe, False)
    child = os.fork()
    if child == 0:
        code = _STALE
        try:
            os.close(word)  # Else it would wait for itself.
            code = _looked(store_dir, load, said, told)
        finally:
            os._exit(code)
    os.close(said)
    os.close(told)
    return Check(store_dir, child, pipe, word)


def _looked(store_dir: str, load: Callable[[], TakeIn], said: int, told: int) -> int:
    """The life of the child, and its exit code."""

    def on_change() -> None:
        os.write(said, _CHANGE)
        load()

    seen = last_seen(store_dir)
    changed = changed_files(seen, on_change) if seen is not None else None
    if seen is None or changed is None:
        return _STALE
    wanted, _, how = os.read(told, _MESSAGE_BYTES).partition(b"\n\n")
    if wanted != _WANTED + seen.where:
        return _STALE
    if not changed:
        return _FRESH
    is_taken_in = load()(changed, how, lambda: os.write(said, _READY))
    return _TAKEN_IN if is_taken_in else _STALE
