"""Live values for a shell that completes: what of the index begins as typed, and what each is.

A key was pressed and somebody waits: only the text index is asked, as it is, and nothing is
imported that a word search does not import. What cannot be typed safely is left out.
"""

from __future__ import annotations

import os

from ccgrep.config import Config
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import Hit, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.refs import match_session, short_ids
from ccgrep.store.access import check_usable
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIELDS = {"tool": "tool_name", "branch": "branch", "model": "model"}
_MOST = 30
_RECENT = 100
"""Documents among which the most recent sessions and turns are looked for."""
_MEANING_COLUMNS = 60
_ID_DIGITS = 10


class Value(NamedTuple):
    text: str
    meaning: str = ""


def live_values(config: Config, kind: str, prefix: str) -> list[Value]:
    """The values of `kind` that begin with `prefix`, at most a screen or two of them."""
    check_usable(config.store_dir)
    found = generations.current(config.store_dir)
    if found is None:
        return []
    reader = generations.open_reader(found.path)
    values = _values(reader, kind, prefix)
    safe = (v for v in values if v.text == one_line(v.text) and v.text.startswith(prefix))
    return [
        Value(value.text, clip(one_line(value.meaning), _MEANING_COLUMNS))
        for _, value in zip(range(_MOST), safe, strict=False)
    ]


def _values(reader: TextReader, kind: str, prefix: str) -> Iterable[Value]:
    if kind == "project":
        return _projects(reader, prefix)
    if kind in FIELDS:
        some = {"any": 0} if kind == "tool" else {}
        return [Value(name) for name in sorted({**reader.values(FIELDS[kind], prefix), **some})]
    if kind == "ref" and prefix.startswith("@"):
        return _turn_ids(reader, prefix[1:])
    if kind == "ref" and ":" in prefix:
        return _turns(reader, prefix.partition(":")[0])
    return _sessions(reader, prefix)


def _projects(reader: TextReader, prefix: str) -> list[Value]:
    """Names, since a part of the path will do; whole paths if that is what was begun."""
    paths = sorted(path for path in reader.values("project") if path)
    if prefix.startswith("/"):
        return [Value(path) for path in paths]
    return [Value(*pair) for pair in {os.path.basename(path): path for path in paths}.items()]


def _sessions(reader: TextReader, prefix: str) -> Iterator[Value]:
    """The most recent first, by short ids unless more was typed."""
    query = reader.everything()
    if prefix:
        query = reader.any_value("session", reader.session_ids(prefix))
    recent = reader.recent_sessions(query, _RECENT)[:_MOST]
    titles = dict(reader.titled(address) for address in recent)
    short = short_ids(titles, reader.session_ids)
    for id, title in titles.items():
        yield Value(short[id] if short[id].startswith(prefix) else id, title)


def _turns(reader: TextReader, session: str) -> Iterator[Value]:
    """The turns of the session that is meant, if it is one."""
    id = match_session(session, reader.session_ids) if session else None
    if id is None:
        return
    for hit in sorted(reader.search(reader.term("session", id)), key=lambda hit: hit.turn):
        yield Value(f"{session}:{hit.turn}", _prompt(reader, hit))


def _turn_ids(reader: TextReader, digits: str) -> Iterator[Value]:
    """Those of the most recent turns: an id is copied from somewhere, not remembered."""
    for hit in reader.search(reader.everything(), _RECENT, "started"):
        # The key is the id's first 14 digits.
        id = f"{hit.object_key:014x}"
        if id.startswith(digits):
            yield Value(f"@{id[: max(_ID_DIGITS, len(digits))]}", _prompt(reader, hit))


def _prompt(reader: TextReader, hit: Hit) -> str:
    _, stored = reader.stored_at(hit.address)
    return (stored.prompt.strip() or stored.answer) if stored else ""
