"""Finds the turns that read or changed a file, and the turn that wrote one of its lines.

The full-text index narrows down the turns. Without an index, all turns of the store are read.
"""

import os
from collections.abc import Iterator

from msgspec import Struct

from ccgrep.blame.file_access import (
    Change,
    FileAccess,
    file_accesses,
    is_file_tool,
)
from ccgrep.blame.replay import AmbiguousLineError, find_writer
from ccgrep.errors import NotFoundError, UsageError
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.model import Session, Turn
from ccgrep.paths import ends_with
from ccgrep.refs import short_ids
from ccgrep.search.filters import filter_clauses
from ccgrep.search.regex import whole_words
from ccgrep.search.request import Filters, Place
from ccgrep.search.store_scan import StoreLookup, StoreScan
from ccgrep.search.turn_reader import TurnReader
from ccgrep.sources.file_tools import SHELL_TOOLS
from ccgrep.store.store import Store
from ccgrep.text import one_line


class BlamedTurn(Struct, frozen=True):
    """A turn that accessed the file, at the most recent of its places."""

    place: Place
    short_id: str
    id: str
    started: int
    prompt: str
    accesses: tuple[FileAccess, ...]
    session: Session | None = None


class _Match(Struct, frozen=True):
    """A turn with its accesses to the file."""

    document: DocumentHit
    place: Place
    turn: Turn
    accesses: tuple[FileAccess, ...]


class FileHistory:
    """The turns that accessed a file, which is given by its path or the end of it."""

    def __init__(
        self, store: Store, reader: TextReader | None, file: str, filters: Filters
    ) -> None:
        self._store = store
        self._reader = reader
        self._file = file
        self._path = _normalize(file)
        self._filters = filters
        self._turns = TurnReader(store)

    def turns(self, limit: int = 0) -> list[BlamedTurn]:
        """Return the turns that read or changed the file, the newest first."""
        return self._blamed(list(self._matches(limit)))

    def writer_of(self, line: int) -> BlamedTurn:
        """Return the turn that wrote a line of the file as it is now."""
        text = _read_text(self._file)
        lines = text.count("\n") + (not text.endswith("\n"))
        shown = f"'{one_line(self._file)}'"
        if not 1 <= line <= lines:
            raise UsageError(f"{shown} has {lines} lines: there is no line {line}")
        try:
            writer = find_writer(text, line, self._changes())
        except AmbiguousLineError:
            raise NotFoundError(
                f"cannot tell which turn wrote line {line} of {shown}: "
                "the text of a change occurs there more than once"
            ) from None
        if writer is None:
            raise NotFoundError(
                f"no turn is known to have written line {line} of {shown}: "
                "it is older, or was written by hand or by a shell command"
            )
        return self._blamed([writer])[0]

    def _changes(self) -> Iterator[tuple[_Match, Change]]:
        """Yield the changes of the file, the newest first, or of namesakes if it has none."""
        matches = list(self._matches())
        paths = {os.path.abspath(self._file), os.path.realpath(self._file)}
        is_known = any(access.path in paths for match in matches for access in match.accesses)
        for match in matches:
            for access in reversed(match.accesses):
                if access.path in paths or not is_known:
                    yield from ((match, change) for change in reversed(access.changes))

    def _matches(self, limit: int = 0) -> Iterator[_Match]:
        """Yield each turn once, at its most recent place."""
        seen: set[int] = set()
        for match in self._indexed() if self._reader is not None else self._scanned():
            if match.document.object_key not in seen:
                seen.add(match.document.object_key)
                yield match
                if len(seen) == limit:
                    return

    def _indexed(self) -> Iterator[_Match]:
        assert self._reader is not None
        clauses = filter_clauses(self._reader, self._filters)
        query = clauses.apply(_candidate_query(self._reader, self._path))
        for document in sorted(self._reader.search(query), key=_newest_first):
            place = Place(*self._reader.place(document.address))
            turn = self._turns.turn(*place)
            if turn is not None and (accesses := self._accesses(place, turn)):
                yield _Match(document, place, turn, accesses)

    def _scanned(self) -> list[_Match]:
        matches = [
            _Match(document, place, turn, accesses)
            for document, place, turn in StoreScan(self._store, self._filters).turns()
            if (accesses := self._accesses(place, turn))
        ]
        return sorted(matches, key=lambda match: _newest_first(match.document))

    def _accesses(self, place: Place, turn: Turn) -> tuple[FileAccess, ...]:
        entry = self._turns.entry(*place)
        accesses = file_accesses(turn, entry.cwd if entry is not None else "")
        return tuple(access for access in accesses if ends_with(access.path, self._path))

    def _blamed(self, matches: list[_Match]) -> list[BlamedTurn]:
        lookup = self._reader or StoreLookup(self._store)
        short = short_ids((match.place.session for match in matches), lookup.session_ids)
        snapshot = self._store.snapshot()
        rows = {id: self._store.row(id, snapshot) for id in short}
        return [
            BlamedTurn(
                place=match.place,
                short_id=short[match.place.session],
                id=self._turns.turn_id(*match.place),
                started=match.document.started,
                prompt=match.turn.prompt,
                accesses=match.accesses,
                session=row.session if (row := rows[match.place.session]) else None,
            )
            for match in matches
        ]


def _normalize(file: str) -> str:
    """Return the path as the end of a path; one that starts with `..` becomes absolute."""
    path = os.path.normpath(file if os.path.lexists(file) else file.replace("\\", "/"))
    path = os.path.abspath(path) if path.split("/")[0] == ".." else path
    if not file or path in (".", "/"):
        raise UsageError(f"'{one_line(file)}' does not name a file: pass a path or the end of one")
    return path


def _read_text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace", newline="") as opened:
            return opened.read().replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            f"cannot read '{one_line(file)}' ({error.strerror}): -L needs the present file"
        ) from None


def _candidate_query(reader: TextReader, path: str) -> Query:
    """Return a query for turns with the words of the file's name in the input of a file tool.

    The directories are left out: they may be in the working directory instead of in the input.
    """
    name = whole_words(f"/{os.path.basename(path)}/", ignore_case=False)
    file_tools = [tool for tool in reader.value_counts("tool_name") if is_file_tool(tool)]
    patches = [reader.any_value("tool_name", SHELL_TOOLS), *_in_input(reader, ["Begin", "Patch"])]
    tools = [reader.any_value("tool_name", file_tools), reader.all_of(patches)]
    named = reader.all_of([reader.any_of(tools), *_in_input(reader, name)])
    return reader.any_of([named, reader.any_value("partial", ["tool"])])


def _in_input(reader: TextReader, words: list[str]) -> list[Query]:
    return [reader.term("tool", stem) for word in words for stem in reader.stems(word)]


def _newest_first(document: DocumentHit) -> tuple[int, int, int]:
    return -document.started, document.session_key, -document.turn
