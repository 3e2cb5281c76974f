"""Parents of sessions: a sub-agent's parent started it, a fork's parent is its original."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence

from ccgrep.model import Entry, ObjectId
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


def walk_trees(store: Store, rows: Sequence[Row], limit: int) -> Iterator[tuple[Row, int]]:
    """Yield each session with its depth, followed by its descendants; `limit` 0 is no limit."""
    originals = _find_originals(store, rows)
    ids = {row.session.id for row in rows}
    children: dict[str, list[Row]] = {}
    tops = []
    for row in rows:
        session = row.session
        parent = session.parent or session.forked_from or originals.get(session.id, "")
        if parent in ids:
            children.setdefault(parent, []).append(row)
        else:
            tops.append(row)
    seen: set[str] = set()
    trees = 0
    for top in (*tops, *rows):  # Sessions that claim each other as parent have no top.
        if top.session.id in seen or (limit and trees == limit):
            continue
        trees += 1
        stack = [(top, 0)]
        while stack:
            row, depth = stack.pop()
            if row.session.id not in seen:
                seen.add(row.session.id)
                yield row, depth
                below = children.get(row.session.id, [])
                stack += ((child, depth + 1) for child in reversed(below))


def find_tops(rows: Sequence[Row], ids: Collection[str]) -> dict[str, str]:
    """Map each session to the outermost of itself and its ancestors that is in `ids`.

    A session that has none there is mapped to itself. Only sub-agents have ancestors.
    """
    parents = {row.session.id: row.session.parent for row in rows if row.session.kind == "subagent"}
    tops = {}
    for row in rows:
        id = top = row.session.id
        seen = {""}
        while id not in seen:
            seen.add(id)
            top = id if id in ids else top
            id = parents.get(id, "")
        tops[row.session.id] = top
    return tops


def add_descendants(
    row: Row, rows: Sequence[Row], chosen: dict[str, Row], with_superseded: bool = False
) -> None:
    """Add a session and its sub-agents to `chosen`, and if wanted its superseded versions."""
    if row.session.id in chosen:
        return
    chosen[row.session.id] = row
    folder = f"{os.sep}{row.base_id}{os.sep}subagents{os.sep}"
    for other in rows:
        is_below = any(folder in file.path for file in other.files)
        if other.is_superseded and not with_superseded:
            continue
        is_sub_agent = other.session.kind != "main" and (
            other.session.parent == row.base_id or is_below
        )
        is_earlier_version = other.is_superseded and other.base_id == row.base_id
        if (is_sub_agent and not row.is_superseded) or is_earlier_version:
            add_descendants(other, rows, chosen, with_superseded)


def find_copies(store: Store, originals: Collection[Row], rows: Iterable[Row]) -> dict[str, int]:
    """Map the id of each other session that copied turns of `originals` to their number.

    Copied turns keep their times. An equal turn of another time is no copy: the same short prompt
    may stand in unrelated sessions.
    """
    known = {row.session.id for row in originals}
    copied = {
        (entry.turn, entry.started)
        for row in originals
        for entry in store.manifest(row).entries
        if entry.started is not None
    }
    found: dict[str, int] = {}
    for row in rows:
        if row.session.id not in known:
            shared = sum((e.turn, e.started) in copied for e in store.manifest(row).entries)
            if shared:
                found[row.session.id] = shared
    return found


def find_original(store: Store, row: Row, rows: Sequence[Row]) -> Row | None:
    """Return the session that a fork was copied from, or None if it is unknown."""
    session = row.session
    id = session.forked_from
    if not id and session.forked_at is not None:
        like = [other for other in rows if other.session.started == session.started]
        id = _find_originals(store, like).get(session.id, "")
    return next((other for other in rows if other.session.id == id), None) if id else None


def _find_originals(store: Store, rows: Sequence[Row]) -> dict[str, str]:
    """Map each fork whose transcript does not name its original to the session it starts with.

    Copied turns keep their times, so only sessions with the same start are compared.
    """
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        session = row.session
        if session.kind == "main" and not session.forked_from and session.started is not None:
            groups.setdefault((session.source, session.started), []).append(row)
    pairs = (_pair_forks(store, group) for group in groups.values() if len(group) > 1)
    return dict(pair for group in pairs for pair in group)


def _pair_forks(store: Store, group: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield each fork of a group with its original.

    Without a time of the fork, the original is the session whose own turns start first.
    """
    entries = {row.session.id: store.manifest(row).entries for row in group}
    forked_at = {row.session.id: row.session.forked_at or 0 for row in group}
    by_first_turn: dict[ObjectId, list[str]] = {}
    for id, own in entries.items():
        by_first_turn.setdefault(own[0].turn, []).append(id)
    for ids in by_first_turn.values():
        shared = count_common_turns([entries[id] for id in ids])
        ordered = sorted((forked_at[id], _diverged_ms(entries[id], shared), id) for id in ids)
        yield from ((fork, ordered[0][-1]) for *_, fork in ordered[1:])


def count_common_turns(sessions: Sequence[Sequence[Entry]]) -> int:
    """Return how many turns all of the sessions start with."""
    columns = zip(*sessions, strict=False)
    equal = (len({entry.turn for entry in column}) == 1 for column in columns)
    return next((n for n, is_equal in enumerate(equal) if not is_equal), min(map(len, sessions)))


def _diverged_ms(entries: Sequence[Entry], shared: int) -> int:
    """Return when a session's own turns start. The original's start first, or there are none."""
    return (entries[shared].started or 0) if len(entries) > shared else 0
