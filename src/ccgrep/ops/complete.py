"""Completes arguments from the full-text index: projects, branches, models, tools and REFs.

The user waits for a key press: this reads the index as it is and imports no more than a word
search does. Values that are unsafe to print are left out.
"""

from __future__ import annotations

import os
from itertools import islice

from ccgrep.config import Config
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import Hit, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.paths import last_name
from ccgrep.refs import match_session, short_ids
from ccgrep.store.access import check_usable
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIELDS = {"tool": "tool_name", "branch": "branch", "model": "model"}
_MAX_COMPLETIONS = 30
_MAX_RECENT = 100  # documents to search for the most recent sessions and turns
_DESCRIPTION_COLUMNS = 60
_MIN_ID_DIGITS = 10


class Completion(NamedTuple):
    text: str
    description: str = ""


def complete(config: Config, kind: str, prefix: str) -> list[Completion]:
    """Return a few values of `kind` that start with `prefix`."""
    check_usable(config.store_dir)
    if kind in ("machine", "remote"):
        from ccgrep.remote.local import list_names  # noqa: PLC0415 - imports msgspec

        names = list_names(config.store_dir, kind)
        return [Completion(n) for n in names if n == one_line(n) and n.startswith(prefix)]
    if kind == "tag":
        return _find_tags(config, prefix)
    if kind == "commit":
        return _safe(_find_commits(), prefix)
    tags = _find_tags(config, prefix, needs_any=False) if kind == "mark" else []
    kind = "ref" if kind == "mark" else kind
    generation = generations.current(config.store_dir)
    if generation is None:
        return tags
    return tags + _safe(_find(generations.open_reader(generation.path), kind, prefix), prefix)


def _safe(found: Iterable[Completion], prefix: str) -> list[Completion]:
    safe = (one for one in found if one.text == one_line(one.text) and one.text.startswith(prefix))
    return [
        Completion(text, clip(one_line(description), _DESCRIPTION_COLUMNS))
        for text, description in islice(safe, _MAX_COMPLETIONS)
    ]


def _find_tags(config: Config, prefix: str, needs_any: bool = True) -> list[Completion]:
    from ccgrep.store.lifecycle import read_consistently  # noqa: PLC0415 - imports msgspec

    marks = read_consistently(config.store_dir, lambda store: store.snapshot().marks)
    tags = {tag for mark in marks for tag in mark.tags} | ({"any"} if needs_any else set())
    return [Completion(t) for t in sorted(tags) if t == one_line(t) and t.startswith(prefix)]


def _find(reader: TextReader, kind: str, prefix: str) -> Iterable[Completion]:
    if kind == "project":
        return _find_projects(reader, prefix)
    if kind in FIELDS:
        names = {*reader.value_counts(FIELDS[kind], prefix), *(["any"] if kind == "tool" else [])}
        return [Completion(name) for name in sorted(names)]
    if kind == "ref" and prefix.startswith("@"):
        return _find_turn_ids(reader, prefix[1:])
    if kind == "ref" and ":" in prefix:
        return _find_turns(reader, prefix.partition(":")[0])
    return _find_sessions(reader, prefix)


def _find_commits() -> list[Completion]:
    """Return the last commits of the current directory's repository."""
    from ccgrep.blame.git import Repository  # noqa: PLC0415 - other values do not need git

    return [Completion(*one) for one in Repository(os.curdir).recent_names(_MAX_COMPLETIONS)]


def _find_projects(reader: TextReader, prefix: str) -> list[Completion]:
    """Return names, or paths if the prefix is absolute."""
    paths = sorted(path for path in reader.value_counts("project") if path)
    if prefix.startswith("/"):
        return [Completion(path) for path in paths]
    return [Completion(*pair) for pair in {last_name(path): path for path in paths}.items()]


def _find_sessions(reader: TextReader, prefix: str) -> Iterator[Completion]:
    """Yield the most recent sessions; by short id unless the prefix is longer."""
    query = reader.everything()
    if prefix:
        query = reader.any_value("session", reader.session_ids(prefix))
    recent = reader.recent_sessions(query, _MAX_RECENT)[:_MAX_COMPLETIONS]
    titles = dict(reader.session_and_title(address) for address in recent)
    short = short_ids(titles, reader.session_ids)
    for id, title in titles.items():
        yield Completion(short[id] if short[id].startswith(prefix) else id, title)


def _find_turns(reader: TextReader, session: str) -> Iterator[Completion]:
    """Yield the turns of a session, or nothing if the prefix `session` is ambiguous."""
    id = match_session(session, reader.session_ids) if session else None
    if id is None:
        return
    for hit in sorted(reader.search(reader.term("session", id)), key=lambda hit: hit.turn):
        yield Completion(f"{session}:{hit.turn}", _prompt(reader, hit))


def _find_turn_ids(reader: TextReader, digits: str) -> Iterator[Completion]:
    """Yield the ids of recent turns."""
    for hit in reader.search(reader.everything(), _MAX_RECENT, "started"):
        id = f"{hit.object_key:014x}"  # the first 14 digits of the id
        if id.startswith(digits):
            yield Completion(f"@{id[: max(_MIN_ID_DIGITS, len(digits))]}", _prompt(reader, hit))


def _prompt(reader: TextReader, hit: Hit) -> str:
    _, stored = reader.stored_at(hit.address)
    return (stored.prompt.strip() or stored.answer) if stored else ""
