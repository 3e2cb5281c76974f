"""From a REF to what it names: a session, a turn of a session, or a turn by its id."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ccgrep.errors import RefError
from ccgrep.model import ObjectId
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store
from ccgrep.text import clip, one_line

_OBJECT = re.compile(r"@([0-9a-f]{7,64})")
_PLACE = re.compile(r"([^:@\s][^:\s]*)(?::(\d+))?(?::.*)?", re.DOTALL)
_MAX_CANDIDATES = 10
_SHORTEST = 8


class Target(Struct, frozen=True):
    """What a REF names: `turn` is a number in `row`'s session, `object` a turn's id."""

    row: Row | None = None
    turn: int | None = None
    object: ObjectId | None = None


def abbreviations(ids: Iterable[str]) -> dict[str, str]:
    """For each id its shortest prefix of 8 or more characters that no other id has."""
    ordered = sorted(set(ids))
    short: dict[str, str] = {}
    for position, id in enumerate(ordered):
        neighbours = ordered[max(position - 1, 0) : position] + ordered[position + 1 : position + 2]
        shared = max((_shared(id, other) for other in neighbours), default=0)
        short[id] = id[: max(shared + 1, _SHORTEST)]
    return short


def _shared(a: str, b: str) -> int:
    for position, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return position
    return min(len(a), len(b))


def find(store: Store, rows: Sequence[Row], ref: str) -> Target:
    """What `ref` names; a REF that names nothing or too much lists what it could mean."""
    if by_id := _OBJECT.fullmatch(ref):
        return Target(object=_find_object(store, by_id.group(1)))
    place = _PLACE.fullmatch(ref.strip())
    if place is None:
        raise RefError(f"{one_line(ref)} is not a REF: give a session id, SESSION:TURN or @id")
    row = _find_session(rows, place.group(1))
    if place.group(2) is None:
        return Target(row=row)
    number = int(place.group(2)[:9])
    if number >= row.session.turns:
        raise RefError(
            f"Turn {number} out of range (session has {row.session.turns} turns): "
            f"see `ccgrep show {row.session.id}`"
        )
    return Target(row=row, turn=number)


def _find_object(store: Store, hex_prefix: str) -> ObjectId:
    found = store.find("turn", hex_prefix)
    if not found:
        raise RefError(f"@{hex_prefix} names no turn: `ccgrep show SESSION` prints the ids")
    if len(found) > 1:
        names = "\n".join(f"  @{id.hex()}" for id in found[:_MAX_CANDIDATES])
        raise RefError(f"@{hex_prefix} is ambiguous, it could be:\n{names}")
    return found[0]


def _find_session(rows: Sequence[Row], prefix: str) -> Row:
    matching = [row for row in rows if row.session.id.startswith(prefix)]
    exact = [row for row in matching if row.session.id == prefix]
    if exact:
        return exact[0]
    live = [row for row in matching if not row.is_superseded]
    live = [row for row in live if row.session.turns] or live
    if len(live) == 1:
        return live[0]
    if matching:
        listed = candidates(live or matching)
        raise RefError(f"{one_line(prefix)} is ambiguous, it could be:\n{listed}")
    raise RefError(f"{one_line(prefix)} names no session{_nearest(rows, prefix)}")


def _nearest(rows: Sequence[Row], prefix: str) -> str:
    wanted = prefix.lower()
    near = [
        row
        for row in rows
        if wanted in row.session.id.lower() or wanted in row.session.title.lower()
    ]
    if near:
        return f"; near it:\n{candidates(near)}"
    recent = sorted(rows, key=lambda row: row.session.ended or 0, reverse=True)[:5]
    return f"; the most recent are:\n{candidates(recent)}" if recent else ": there are none yet"


def candidates(rows: Sequence[Row]) -> str:
    lines = [
        f"  {row.session.id}  {clip(one_line(row.session.title), 60)}"
        for row in rows[:_MAX_CANDIDATES]
    ]
    more = len(rows) - _MAX_CANDIDATES
    return "\n".join(lines) + (f"\n  … and {more} more" if more > 0 else "")
