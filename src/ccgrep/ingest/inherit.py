"""Joins the turns that workers of Claude Code copied from one session.

Each worker copies the conversation since the last compaction, so several of them hold consecutive
or overlapping parts. A copy has new record ids, and old outputs may be cut. Its API messages keep
their ids, and its records their times.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from msgspec.structs import replace

from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.sources.reading import SessionReading, add_totals


def join_copies(
    session: Session, entries: Sequence[Entry], reading: SessionReading
) -> tuple[Session, tuple[Entry, ...]]:
    """Return a recovered session with the turns of one more worker, in order of time."""
    joined = [
        entry
        for group in _group_copies(entries, reading.entries)
        for entry in max(group.known, group.copied, key=_completeness)
    ]
    joined.sort(key=lambda entry: (entry.started or 0, entry.turn))
    first, second = sorted((session, reading.session), key=lambda part: part.started or 0)
    described = replace(
        first,
        title=first.title or second.title,
        models=tuple(dict.fromkeys((*first.models, *second.models))),
        versions=tuple(dict.fromkeys((*first.versions, *second.versions))),
    )
    return add_totals(described, joined), tuple(joined)


class _Group(NamedTuple):
    """Turns of both sides that share records."""

    keys: set[bytes]
    known: list[Entry]
    copied: list[Entry]

    def join(self, other: "_Group") -> "_Group":
        return _Group(self.keys | other.keys, self.known + other.known, self.copied + other.copied)


def _group_copies(known: Sequence[Entry], copied: Sequence[Entry]) -> list[_Group]:
    """Return the turns of both sides in groups that share records.

    A group usually has one turn of each side, but one worker may see several turns where another
    sees one.
    """
    groups: list[_Group] = []
    for entry, is_known in (*((e, True) for e in known), *((e, False) for e in copied)):
        group = _Group(set(_keys(entry)), [entry] if is_known else [], [] if is_known else [entry])
        related = [other for other in groups if not group.keys.isdisjoint(other.keys)]
        groups = [other for other in groups if other not in related]
        groups.append(reduce(_Group.join, related, group))
    return groups


def find_missing(
    copies: Sequence[Entry], own: Sequence[Entry], load: Callable[[ObjectId], Turn]
) -> list[Entry]:
    """Return the copied turns that are not in the session's own transcript, or not entirely."""
    turns = {entry.turn for entry in own}
    return [copy for copy in copies if copy.turn not in turns and _is_missing(copy, own, load)]


def _is_missing(copy: Entry, own: Sequence[Entry], load: Callable[[ObjectId], Turn]) -> bool:
    keys, turn = set(_keys(copy)), load(copy.turn)
    related = [
        entry
        for entry in own
        if not keys.isdisjoint(_keys(entry)) or (not turn.prompt and _is_within(copy, entry))
    ]
    held = {text.strip() for entry in related for text in load(entry.turn).assistant_texts()}
    # Some versions of Claude Code wrote an answer only to the transcript of a worker.
    return not related or not held.issuperset(text.strip() for text in turn.assistant_texts())


def _keys(entry: Entry) -> list[bytes]:
    """Return what a copy of a turn may share with it."""
    uuids = [entry.uuids[i : i + 16] for i in range(0, len(entry.uuids), 16)]
    return [entry.turn + repr(entry.started).encode(), *(u.key for u in entry.usage), *uuids]


def _completeness(copies: Sequence[Entry]) -> tuple[int, int, int, int, list[ObjectId]]:
    """Order two copies of turns in the same way, whichever arrives first."""
    messages, tools = sum(c.messages for c in copies), sum(c.tools for c in copies)
    records = sum(len(c.uuids) for c in copies)
    return messages, tools, records, len(copies), sorted(c.turn for c in copies)


def _is_within(copy: Entry, own: Entry) -> bool:
    """Return whether a copy lies within the time of a turn, as a part of it does."""
    times = own.started, copy.started, copy.ended, own.ended
    known = [time for time in times if time is not None]
    return len(known) == len(times) and known == sorted(known)
