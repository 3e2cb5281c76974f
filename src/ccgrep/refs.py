"""REFs: a session id or its prefix, SESSION:TURN, a whole record line, or @hash.

The only module that parses and resolves REFs and shortens session ids. Callers pass functions that
list session ids, because the store, the full-text index and the tallies each list their own.
Every word search imports this module, so it imports neither `re` nor msgspec nor the store.
"""

from __future__ import annotations

from ccgrep.errors import AmbiguousRefError, RefError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.text import clip, one_line, shared_length

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ccgrep.model import ObjectId
    from ccgrep.store.manifest import Row
    from ccgrep.store.store import Store

    ListIds = Callable[[str], Collection[str]]
    """Returns the ids of the sessions that start with a prefix."""

_MAX_CANDIDATES = 10
_SHORTEST = 8


class Ref(NamedTuple):
    """A parsed REF: either `hash`, or `session` with an optional turn number."""

    session: str = ""
    turn: int | None = None
    hash: str = ""


class Target(NamedTuple):
    """What a REF names in the store: a session, one of its turns, or a turn's object."""

    row: Row | None = None
    turn: int | None = None
    object: ObjectId | None = None


def parse(ref: str) -> Ref:
    digits = ref.removeprefix("@")
    if digits != ref and 7 <= len(digits) <= 64 and not digits.strip("0123456789abcdef"):
        return Ref(hash=digits)
    session, _, rest = ref.strip().partition(":")
    if session.split() != [session] or session.startswith("@"):
        raise RefError(f"'{one_line(ref)}' is not a REF: pass a session id, SESSION:TURN or @hash")
    turn = rest.partition(":")[0]
    if turn and not (turn.isascii() and turn.isdecimal()):
        raise RefError(f"'{one_line(turn)}' is not a turn number: pass SESSION:TURN, such as abc:3")
    return Ref(session, int(turn[:9]) if turn else None)


def find(store: Store, rows: Sequence[Row], ref: str) -> Target:
    """Return what `ref` names, where `rows` are all sessions of `store`."""
    parsed = parse(ref)
    if not parsed.hash:
        return Target(find_row(rows, ref), parsed.turn)
    matching = store.find_ids("turn", parsed.hash)
    if len(matching) == 1:
        return Target(object=matching[0])
    hash = f"@{parsed.hash}"
    if not matching:
        raise RefError(
            f"no turn matches '{hash}', nor a stored image: `ccgrep show SESSION` prints the hashes"
        )
    names = "\n".join(f"  @{id.hex()}" for id in matching[:_MAX_CANDIDATES])
    raise RefError(f"'{hash}' is ambiguous, it could be:\n{names}")


def find_blob(store: Store, ref: str) -> ObjectId | None:
    """Return the image or document that `ref` names, or None if it names something else."""
    digits = parse(ref).hash if ref.startswith("@") else ""
    if not digits or store.find_ids("turn", digits):
        return None
    matching = store.find_ids("blob", digits)
    return matching[0] if len(matching) == 1 else None


def find_row(rows: Sequence[Row], ref: str) -> Row:
    """Return the session that `ref` names, as a session or by one of its turns."""
    titles = {row.session.id: row.session.title for row in rows}
    found = find_session(ref, lambda prefix: _preferred_ids(rows, prefix), titles.__getitem__)
    row = next(row for row in rows if row.session.id == found)
    turn, turns = parse(ref).turn, row.session.turns
    if turn is not None and turn >= turns:
        raise RefError(
            f"turn {turn} is out of range (session has {turns} turns): "
            f"run `ccgrep show {row.session.id}`"
        )
    return row


def _preferred_ids(rows: Sequence[Row], prefix: str) -> list[str]:
    """Return the matching sessions, without superseded and empty ones if others match."""
    matching = [row for row in rows if row.session.id.startswith(prefix)]
    live = [row for row in matching if not row.is_superseded]
    preferred = [row for row in live if row.session.turns] or live or matching
    exact = [row for row in matching if row.session.id == prefix]
    return [row.session.id for row in exact or preferred]


def match_session(prefix: str, list_ids: ListIds) -> str | None:
    """Return the session that `prefix` names, or None if it names none or several."""
    ids = list_ids(prefix)
    if prefix in ids:
        return prefix
    return next(iter(ids)) if len(ids) == 1 else None


def find_session(ref: str, list_ids: ListIds, title_of: Callable[[str], str] = lambda _: "") -> str:
    """Return the id of the session that `ref` names. Errors list candidates by `title_of`."""
    prefix = parse(ref).session
    if not prefix:
        raise RefError(f"'{ref}' names a turn: pass the session id")
    if (session := match_session(prefix, list_ids)) is not None:
        return session
    shown = f"'{one_line(prefix)}'"
    if ids := list_ids(prefix):
        message = f"{shown} is ambiguous, it could be:\n{_candidates(ids, title_of)}"
        raise AmbiguousRefError(message, sorted(ids))
    part = prefix.lower()
    near = [id for id in list_ids("") if part in id.lower() or part in title_of(id).lower()]
    if near:
        raise RefError(f"no session matches {shown}, did you mean:\n{_candidates(near, title_of)}")
    raise RefError(f"no session matches {shown}: run `ccgrep list`")


def _candidates(ids: Collection[str], title_of: Callable[[str], str]) -> str:
    shown = sorted(ids)[:_MAX_CANDIDATES]
    lines = [f"  {id}  {clip(one_line(title_of(id)), 60)}".rstrip() for id in shown]
    more = len(ids) - len(shown)
    return "\n".join(lines) + (f"\n  … and {more} more" if more else "")


def short_ids(ids: Iterable[str], list_ids: ListIds = lambda _: ()) -> dict[str, str]:
    """Map each id to its shortest prefix of at least 8 characters that no other session has.

    The other sessions are those of `ids` and of `list_ids`.
    """
    wanted = set(ids)
    families: dict[str, set[str]] = {}
    for id in wanted:
        families.setdefault(id[:_SHORTEST], set()).add(id)
    short = {}
    for prefix, family in families.items():
        ordered = sorted(family.union(list_ids(prefix)))
        # In alphabetical order, an id shares its longest prefix with a neighbour.
        shared = [0, *map(shared_length, ordered, ordered[1:]), 0]
        for position, id in enumerate(ordered):
            if id in wanted:
                short[id] = id[: max(*shared[position : position + 2], _SHORTEST - 1) + 1]
    return short
