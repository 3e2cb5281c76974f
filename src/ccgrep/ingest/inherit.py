"""Joins the turns that workers of Claude Code copied from one session.

Each worker copies the conversation since the last compaction, so several of them hold consecutive
or overlapping parts. A copy has new record ids, and old outputs may be cut. Its API messages keep
their ids, and its records their times.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.sources.reading import SessionReading, add_totals


def join_copies(
    session: Session, entries: Sequence[Entry], reading: SessionReading
) -> tuple[Session, tuple[Entry, ...]]:
    """Return a recovered session with the turns of one more worker, in order of time."""
    joined = list(entries)
    known = {key: number for number, entry in enumerate(entries) for key in _keys(entry)}
    for copy in reading.entries:
        number = next((known[key] for key in _keys(copy) if key in known), None)
        if number is None:
            joined.append(copy)
        else:
            joined[number] = max(joined[number], copy, key=_completeness)
    joined.sort(key=lambda entry: (entry.started or 0, entry.turn))
    first, second = sorted((session, reading.session), key=lambda part: part.started or 0)
    described = replace(
        first,
        title=first.title or second.title,
        models=tuple(dict.fromkeys((*first.models, *second.models))),
        versions=tuple(dict.fromkeys((*first.versions, *second.versions))),
    )
    return add_totals(described, joined), tuple(joined)


def find_missing(
    copies: Sequence[Entry], own: Sequence[Entry], load: Callable[[ObjectId], Turn]
) -> list[Entry]:
    """Return the copies of turns that a session's own transcript does not hold."""
    turns = {entry.turn for entry in own}
    keys = {key for entry in own for key in _keys(entry)}
    return [
        copy
        for copy in copies
        if copy.turn not in turns
        and keys.isdisjoint(_keys(copy))
        and not (_is_within(copy, own) and not load(copy.turn).prompt)
    ]


def _keys(entry: Entry) -> list[bytes]:
    """Return what a copy of a turn may share with it."""
    uuids = [entry.uuids[i : i + 16] for i in range(0, len(entry.uuids), 16)]
    return [entry.turn + repr(entry.started).encode(), *(u.key for u in entry.usage), *uuids]


def _completeness(entry: Entry) -> tuple[int, int, int, ObjectId]:
    """Order two copies of a turn in the same way, whichever arrives first."""
    return entry.messages, entry.tools, len(entry.uuids), entry.turn


def _is_within(copy: Entry, own: Sequence[Entry]) -> bool:
    """Return whether a copy lies within the time of a turn, as a part of it does."""
    begin, end = copy.started, copy.ended
    if begin is None or end is None:
        return False
    return any((e.started or begin + 1) <= begin and end <= (e.ended or 0) for e in own)
