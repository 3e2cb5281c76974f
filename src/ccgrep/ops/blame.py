"""Which turns read or changed a file, and which of them wrote a line of it."""

import os
from collections.abc import Callable, Iterator

from msgspec import Struct

from ccgrep.blame.file_changes import SHELLS, Change, Touch, is_touching, matches, touches
from ccgrep.blame.replay import UnclearError, writer
from ccgrep.config import Config
from ccgrep.errors import NotFoundError, UsageError
from ccgrep.fulltext.reader import Hit as Found
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.model import Session, Turn
from ccgrep.refresh.background import Feedback
from ccgrep.refresh.update import refresh
from ccgrep.search.filters import scope
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.regex import whole_words
from ccgrep.search.request import Filters, Place
from ccgrep.search.searcher import make_searcher
from ccgrep.search.store_scan import StoreScan
from ccgrep.search.turn_reader import TurnReader
from ccgrep.store.lifecycle import open_store
from ccgrep.text import one_line


class Blamed(Struct, frozen=True):
    """A turn that touched the file, at the most recent of its places."""

    place: Place
    short_id: str
    id: str
    started: int
    prompt: str
    touches: tuple[Touch, ...]
    session: Session | None = None


class _Touching(Struct, frozen=True):
    found: Found
    place: Place
    turn: Turn
    touches: tuple[Touch, ...]


def take_in(config: Config, warn: Callable[[str], None]) -> None:
    """Takes in what changed, so that what an agent did just now is known; not the first time."""
    open_store(config.store_dir)  # Says what to do when there is none.
    refresh(config, Feedback(warn=warn))


def blame(config: Config, file: str, filters: Filters, limit: int = 0) -> list[Blamed]:
    """The turns that read or changed a file, the newest first."""
    reader = open_current_reader(config.store_dir)
    found = list(_folded(_touching(config, reader, _wanted(file), filters), limit))
    return _made(config, reader, found)


def blame_line(config: Config, file: str, line: int, filters: Filters) -> Blamed:
    """The turn that wrote a line of a file as it is now."""
    text = _present_text(file)
    lines = text.count("\n") + (not text.endswith("\n"))
    if not 1 <= line <= lines:
        raise UsageError(f"{one_line(file)} has {lines} lines, and no line {line}")
    reader = open_current_reader(config.store_dir)
    found = list(_folded(_touching(config, reader, _wanted(file), filters)))
    try:
        owner = writer(text, line, _changes(found, {os.path.abspath(file), os.path.realpath(file)}))
    except UnclearError:
        raise _untold(file, line, "the text of a change stands there more than once") from None
    if owner is None:
        why = "it was there before, or was written by hand or by a command"
        raise _untold(file, line, why)
    return _made(config, reader, [owner])[0]


def _untold(file: str, line: int, why: str) -> NotFoundError:
    return NotFoundError(f"cannot be told who wrote line {line} of {one_line(file)}: {why}")


def _wanted(file: str) -> str:
    """What a path has to be or to end in; what leads out of here is taken from here."""
    path = os.path.normpath(file)
    path = os.path.abspath(path) if path.split("/")[0] == ".." else path
    if not file or path in (".", "/"):
        raise UsageError("FILE must name a file: its path, or the end of it")
    return path


def _present_text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace", newline="") as opened:
            return opened.read().replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            f"{one_line(file)} cannot be read ({error.strerror}): -L goes by the file as it is now"
        ) from None


def _touching(
    config: Config, reader: TextReader | None, wanted: str, filters: Filters
) -> Iterator[_Touching]:
    """The turns that touch what is wanted, the newest first."""
    turns = TurnReader(open_store(config.store_dir))
    if reader is not None:
        for found, place in _candidates(reader, wanted, filters):
            turn = turns.turn(*place)
            if turn is not None and (done := _done(turns, place, turn, wanted)):
                yield _Touching(found, place, turn, done)
        return
    scanned = (
        _Touching(found, place, turn, done)
        for found, place, turn in StoreScan(open_store(config.store_dir), filters).turns()
        if (done := _done(turns, place, turn, wanted))
    )
    yield from sorted(scanned, key=lambda one: _newest_first(one.found))


def _candidates(reader: TextReader, wanted: str, filters: Filters) -> Iterator[tuple[Found, Place]]:
    """The turns that the index cannot rule out: they have the words of the file's name in what
    a tool that touches files was given."""
    limits = scope(reader, filters)
    query = reader.filtered(_named(reader, wanted), limits.must, limits.never)
    for found in sorted(reader.search(query), key=_newest_first):
        yield found, Place(*reader.place(found.address))


def _named(reader: TextReader, wanted: str) -> Query:
    # The folders may stand in the working directory instead of in what the tool was given.
    words = whole_words(f"/{os.path.basename(wanted)}/", ignore_case=False)
    names = [name for name in reader.values("tool_name") if is_touching(name)]
    by_tool = [reader.any_value("tool_name", names)]
    by_tool.append(
        reader.all_of([reader.any_value("tool_name", SHELLS), *_given(reader, ["Begin", "Patch"])])
    )
    said = reader.all_of([reader.any_of(by_tool), *_given(reader, words)])
    return reader.any_of([said, reader.any_value("partial", ["tool"])])


def _given(reader: TextReader, words: list[str]) -> list[Query]:
    return [reader.term("tool", stem) for word in words for stem in reader.stems(word)]


def _newest_first(found: Found) -> tuple[int, int, int]:
    return -found.started, found.session_key, -found.turn


def _done(turns: TurnReader, place: Place, turn: Turn, wanted: str) -> tuple[Touch, ...]:
    entry = turns.entry(*place)
    cwd = entry.cwd if entry is not None else ""
    return tuple(touch for touch in touches(turn, cwd) if matches(touch.path, wanted))


def _folded(found: Iterator[_Touching], limit: int = 0) -> Iterator[_Touching]:
    """Each turn once, at the first of its places."""
    seen: set[int] = set()
    for one in found:
        if one.found.object_key not in seen:
            seen.add(one.found.object_key)
            yield one
            if len(seen) == limit:
                return


def _changes(found: list[_Touching], paths: set[str]) -> Iterator[tuple[_Touching, Change]]:
    """The changes of a file, the newest first; if it has none, those of its namesakes."""
    is_known = any(touch.path in paths for one in found for touch in one.touches)
    for one in found:
        for touch in reversed(one.touches):
            if touch.path in paths or not is_known:
                yield from ((one, change) for change in reversed(touch.changes))


def _made(config: Config, reader: TextReader | None, found: list[_Touching]) -> list[Blamed]:
    searcher = make_searcher(config, reader)
    short = searcher.short_ids(one.place.session for one in found)
    store = open_store(config.store_dir)
    snapshot = store.snapshot()
    rows = {id: store.row(id, snapshot) for id in short}
    return [
        Blamed(
            place=one.place,
            short_id=short[one.place.session],
            id=searcher.turn_id(one.place),
            started=one.found.started,
            prompt=one.turn.prompt,
            touches=one.touches,
            session=row.session if (row := rows[one.place.session]) else None,
        )
        for one in found
    ]
