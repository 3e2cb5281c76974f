"""What there is to pick from before anything is typed: recent turns, and commands that were run."""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.blame.file_changes import SHELLS
from ccgrep.config import Config
from ccgrep.fulltext.reader import Hit, TextReader
from ccgrep.ops.search import open_index
from ccgrep.ops.sessions import Turns
from ccgrep.refs import short_ids
from ccgrep.search.filters import scope
from ccgrep.search.request import Filters
from ccgrep.stats.shell import script_of
from ccgrep.text import one_line

_MOST_TURNS = 100
_MOST_COMMAND_TURNS = 5000


class Recent(NamedTuple):
    """A turn by its place, and what was asked."""

    short_id: str
    turn: int
    prompt: str


def recent_turns(config: Config, filters: Filters) -> Iterator[Recent]:
    """The most recent turns that pass, the newest first."""
    reader = open_index(config)
    if reader is None:
        return
    hits = _newest(reader, filters, _MOST_TURNS)
    stored = [reader.stored_at(hit.address) for hit in hits]
    short = short_ids((session for (session, _), _ in stored), reader.session_ids)
    for (session, turn), text in stored:
        if text is not None:
            yield Recent(short[session], turn, text.prompt.strip() or text.answer)


def past_commands(config: Config, filters: Filters) -> Iterator[str]:
    """The shell commands that agents ran, the newest first, each once.

    Only those of one line that show every character they consist of: they are put onto a
    command line, and a person must see what would be run.
    """
    reader = open_index(config)
    if reader is None:
        return
    turns, seen = Turns(config), set()
    for hit in _newest(reader, filters, _MOST_COMMAND_TURNS, SHELLS):
        turn = turns.at(*reader.place(hit.address))
        calls = list(turn.calls()) if turn is not None else []
        for call in reversed(calls):
            command = (script_of(call) or "").strip()
            if command and command not in seen and one_line(command) == command:
                seen.add(command)
                yield command


def _newest(
    reader: TextReader, filters: Filters, limit: int, tools: frozenset[str] = frozenset()
) -> list[Hit]:
    limits = scope(reader, filters)
    must = [*limits.must, *([reader.any_value("tool_name", tools)] if tools else [])]
    query = reader.filtered(reader.everything(), must, limits.never)
    return reader.search(query, limit, order_by="started")
