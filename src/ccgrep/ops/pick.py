"""Finds what `ccgrep pick` offers: recent turns, and commands that agents ran."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.fulltext.reader import Hit, TextReader
from ccgrep.refs import short_ids
from ccgrep.search.filters import filter_clauses
from ccgrep.search.index_opener import open_current_reader
from ccgrep.search.query import content_units, parse
from ccgrep.search.request import Filters
from ccgrep.search.snippet import Span, word_finder
from ccgrep.search.turn_reader import TurnReader
from ccgrep.sources.file_tools import SHELL_TOOLS
from ccgrep.stats.shell import script_of
from ccgrep.store.lifecycle import open_store
from ccgrep.text import one_line

_MAX_COMMAND_TURNS = 5000


class RecentTurn(NamedTuple):
    """A turn with its prompt or, without one, its answer."""

    short_id: str
    turn: int
    text: str
    project: str
    started: int
    session: str = ""


def recent_turns(config: Config, filters: Filters, limit: int) -> Iterator[RecentTurn]:
    """Yield the most recent turns that pass the filters, the newest first; 0 is no limit."""
    reader = open_current_reader(config.store_dir)
    if reader is None:
        return
    hits = _newest_hits(reader, filters, limit)
    turns = [reader.stored_at(hit.address) for hit in hits]
    short = short_ids((session for (session, _), _ in turns), reader.session_ids)
    for hit, ((session, number), stored) in zip(hits, turns, strict=True):
        if stored is not None:
            text = stored.prompt.strip() or stored.answer
            yield RecentTurn(short[session], number, text, stored.project, hit.started, session)


def make_finder(config: Config, query: str) -> Callable[[str], list[Span]]:
    """Return a function that finds the words of a query in a text."""
    reader = open_current_reader(config.store_dir)
    if reader is None:
        return lambda _: []
    units = content_units(parse(query, reader.stems, reader.tokens))
    return word_finder(units, reader.stems)


def past_commands(config: Config, filters: Filters) -> Iterator[str]:
    """Yield the distinct shell commands that agents ran, the newest first.

    Skip commands with line breaks or invisible characters: the user's shell will run the chosen
    one, so the user must see every character.
    """
    reader = open_current_reader(config.store_dir)
    if reader is None:
        return
    turns, seen = TurnReader(open_store(config.store_dir)), set()
    for hit in _newest_hits(reader, filters, _MAX_COMMAND_TURNS, SHELL_TOOLS):
        turn = turns.turn(*reader.place(hit.address))
        calls = list(turn.calls()) if turn is not None else []
        for call in reversed(calls):
            command = (script_of(call) or "").strip()
            if command and command not in seen and one_line(command) == command:
                seen.add(command)
                yield command


def _newest_hits(
    reader: TextReader, filters: Filters, limit: int, tools: frozenset[str] = frozenset()
) -> list[Hit]:
    must = [reader.any_value("tool_name", tools)] if tools else []
    query = filter_clauses(reader, filters).apply(reader.everything(), must)
    return reader.search(query, limit, order_by="started")
