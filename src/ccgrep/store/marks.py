"""Marks: tags and notes that the user puts on turns and sessions.

A mark of a session names it by its id. A mark of a turn names its content and the place where the
user put it. Forks and copies of the turn have the same content, so they are marked too. A turn that
grows, or that a newer reader reads differently, gets another id: the mark then follows its place.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.model import ObjectId
from ccgrep.store.manifest import Manifest, Mark, Row

NO_TURN = ObjectId(b"")


class Marked(Struct, frozen=True):
    """What the user marked: whole sessions by id, and turns by their objects' ids."""

    sessions: frozenset[str] = frozenset()
    turns: frozenset[ObjectId] = frozenset()


def select_marked(marks: Iterable[Mark], tags: Iterable[str]) -> Marked:
    """Return what has one of the tags. `any` stands for every mark."""
    chosen = [mark for mark in marks if has_tag(mark, tags)]
    return Marked(
        frozenset(mark.session for mark in chosen if not mark.turn),
        frozenset(mark.turn for mark in chosen if mark.turn),
    )


def has_tag(mark: Mark, tags: Iterable[str]) -> bool:
    return any(tag == "any" or tag in mark.tags for tag in tags)


def follow_turns(
    marks: Iterable[Mark], rows: Mapping[str, Row], load: Callable[[Row], Manifest]
) -> tuple[Mark, ...]:
    """Return the marks after these sessions changed.

    A mark moves to what is now at its place, unless a session with the same id has its turn still.
    """
    turns: dict[str, list[ObjectId]] = {}

    def turns_of(row: Row) -> list[ObjectId]:
        if row.session.id not in turns:
            turns[row.session.id] = [entry.turn for entry in load(row).entries]
        return turns[row.session.id]

    def follow(mark: Mark) -> Mark:
        row = rows.get(mark.session) if mark.turn else None
        if row is None or mark.number >= len(turns_of(row)):
            return mark
        namesakes = [other for other in rows.values() if other.base_id == row.base_id]
        if any(mark.turn in turns_of(other) for other in namesakes):
            return mark
        return replace(mark, turn=turns_of(row)[mark.number])

    return tuple(map(follow, marks))


def drop_forgotten(
    marks: Iterable[Mark], sessions: set[str], holds: Callable[[ObjectId], bool]
) -> tuple[Mark, ...]:
    """Return the marks without those of forgotten sessions whose turns nothing else holds."""
    return tuple(
        mark for mark in marks if mark.session not in sessions or (mark.turn and holds(mark.turn))
    )


def tags_by_session(marks: Iterable[Mark]) -> dict[str, tuple[str, ...]]:
    """Return the tags that each session and its turns have together."""
    tags: dict[str, set[str]] = {}
    for mark in marks:
        tags.setdefault(mark.session, set()).update(mark.tags)
    return {session: tuple(sorted(found)) for session, found in tags.items()}
