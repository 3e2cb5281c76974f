"""Finds turns by what their tool calls did: the files they touched, or the output they got.

The full-text index narrows down the turns. Without an index, all turns of the store are read.
"""

import os
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ccgrep.blame.file_access import FileAccess, file_accesses, is_file_tool
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.model import Entry, Session, Turn
from ccgrep.refs import short_ids
from ccgrep.search.filters import filter_clauses
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.regex import whole_words
from ccgrep.search.request import Filters, Place
from ccgrep.search.store_scan import StoreLookup, StoreScan
from ccgrep.search.turn_reader import TurnReader
from ccgrep.sources.file_tools import SHELL_TOOLS
from ccgrep.store.lifecycle import open_store
from ccgrep.store.store import Store


class FoundTurn(Struct, frozen=True):
    """A turn at the most recent of its places."""

    document: DocumentHit
    place: Place
    turn: Turn
    entry: Entry

    def accesses(self) -> Iterator[FileAccess]:
        """Yield what the turn did to files, with absolute paths."""
        return file_accesses(self.turn, self.entry.cwd)


IsWanted = Callable[[FoundTurn], object]


class BlamedTurn(Struct, frozen=True):
    """A turn that accessed a file, and what it did."""

    place: Place
    short_id: str
    id: str
    started: int
    prompt: str
    accesses: tuple[FileAccess, ...] = ()
    session: Session | None = None


class AccessLog:
    """The turns of the store that pass the filters, found by their tool calls."""

    def __init__(self, store: Store, reader: TextReader | None, filters: Filters) -> None:
        self._store = store
        self._reader = reader
        self._filters = filters
        self._turns = TurnReader(store)

    def find_touching(self, paths: Iterable[str], is_wanted: IsWanted) -> Iterator[FoundTurn]:
        """Yield the wanted turns that touched a file with the name of one of these, newest first.

        The directories do not count: they may be in the working directory, not in the input.
        """
        reader = self._reader
        return self._find(None if reader is None else _file_query(reader, paths), is_wanted)

    def find_printing(self, words: Iterable[str], is_wanted: IsWanted) -> Iterator[FoundTurn]:
        """Yield the wanted turns with one of these words in tool output, newest first."""
        reader = self._reader
        return self._find(None if reader is None else _output_query(reader, words), is_wanted)

    def find_running(
        self, words: Iterable[str], since: int, until: int, is_wanted: IsWanted
    ) -> Iterator[FoundTurn]:
        """Yield the wanted turns of a time with all these words in a tool's input, newest first."""
        reader = self._reader
        query = None
        if reader is not None:
            query = reader.all_of([reader.between(since, until), *_in_input(reader, words)])
        return self._find(
            query, lambda found: since <= found.document.started <= until and is_wanted(found)
        )

    def _find(self, query: Query | None, is_wanted: IsWanted) -> Iterator[FoundTurn]:
        """Yield each wanted turn once, at the most recent place where it is wanted."""
        seen: set[int] = set()
        for found in self._scan() if query is None else self._find_in_index(query):
            if found.document.object_key not in seen and is_wanted(found):
                seen.add(found.document.object_key)
                yield found

    def _find_in_index(self, query: Query) -> Iterator[FoundTurn]:
        assert self._reader is not None
        restricted = filter_clauses(self._reader, self._filters).apply(query)
        for document in sorted(self._reader.search(restricted), key=_newest_first):
            place = Place(*self._reader.place(document.address))
            turn, entry = self._turns.turn(*place), self._turns.entry(*place)
            if turn is not None and entry is not None:
                yield FoundTurn(document, place, turn, entry)

    def _scan(self) -> list[FoundTurn]:
        found = [
            FoundTurn(document, place, turn, entry)
            for document, place, turn in StoreScan(self._store, self._filters).turns()
            if (entry := self._turns.entry(*place)) is not None
        ]
        return sorted(found, key=lambda turn: _newest_first(turn.document))

    def describe(
        self,
        found: Iterable[FoundTurn],
        accesses: Callable[[FoundTurn], tuple[FileAccess, ...]] = lambda _: (),
    ) -> list[BlamedTurn]:
        """Return what to print of each turn."""
        turns = list(found)
        lookup = self._reader or StoreLookup(self._store)
        short = short_ids((turn.place.session for turn in turns), lookup.session_ids)
        snapshot = self._store.snapshot()
        rows = {id: self._store.row(id, snapshot) for id in short}
        return [
            BlamedTurn(
                place=turn.place,
                short_id=short[turn.place.session],
                id=self._turns.turn_id(*turn.place),
                started=turn.document.started,
                prompt=turn.turn.prompt,
                accesses=accesses(turn),
                session=row.session if (row := rows[turn.place.session]) else None,
            )
            for turn in turns
        ]


def open_access_log(store_dir: str, filters: Filters) -> AccessLog:
    return AccessLog(open_store(store_dir), open_current_reader(store_dir), filters)


def _file_query(reader: TextReader, paths: Iterable[str]) -> Query:
    """Return a query for turns with the words of a file's name in the input of a file tool."""
    file_tools = [tool for tool in reader.value_counts("tool_name") if is_file_tool(tool)]
    patches = [reader.any_value("tool_name", SHELL_TOOLS), *_in_input(reader, ["Begin", "Patch"])]
    tools = reader.any_of([reader.any_value("tool_name", file_tools), reader.all_of(patches)])
    named = [
        reader.all_of(_in_input(reader, whole_words(f"/{name}/", ignore_case=False)))
        for name in sorted({os.path.basename(path) for path in paths})
    ]
    return reader.any_of([reader.all_of([tools, reader.any_of(named)]), _partly_indexed(reader)])


def _output_query(reader: TextReader, words: Iterable[str]) -> Query:
    return reader.any_of([reader.any_value("output", words), _partly_indexed(reader)])


def _partly_indexed(reader: TextReader) -> Query:
    return reader.any_value("partial", ["tool"])


def _in_input(reader: TextReader, words: Iterable[str]) -> list[Query]:
    return [reader.term("tool", stem) for word in words for stem in reader.stems(word)]


def _newest_first(document: DocumentHit) -> tuple[int, int, int]:
    return -document.started, document.session_key, -document.turn
