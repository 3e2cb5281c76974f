"""Which sessions came of which: sub-agents of those they served, forks of what they begin with."""

from collections.abc import Iterator, Sequence

from ccgrep.model import Entry, ObjectId
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


def trees(store: Store, rows: Sequence[Row], limit: int) -> Iterator[tuple[Row, int]]:
    """Each session with its depth, those that came of it right below; at most `limit` trees."""
    originals = _originals(store, rows)
    ids = {row.session.id for row in rows}
    below: dict[str, list[Row]] = {}
    tops = []
    for row in rows:
        session = row.session
        above = session.parent or session.forked_from or originals.get(session.id, "")
        if above in ids:
            below.setdefault(above, []).append(row)
        else:
            tops.append(row)
    seen: set[str] = set()
    number = 0
    for top in (*tops, *rows):  # Those that claim to come of each other have no top.
        if top.session.id in seen or (limit and number == limit):
            continue
        number += 1
        left = [(top, 0)]
        while left:
            row, depth = left.pop()
            if row.session.id not in seen:
                seen.add(row.session.id)
                yield row, depth
                left += ((one, depth + 1) for one in reversed(below.get(row.session.id, [])))


def _originals(store: Store, rows: Sequence[Row]) -> dict[str, str]:
    """For forks that do not say so, the session whose turns they begin with.

    Copied turns keep their times, so only sessions that began at the same moment are compared.
    """
    began: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        session = row.session
        if session.kind == "main" and not session.forked_from and session.started is not None:
            began.setdefault((session.source, session.started), []).append(row)
    return dict(pair for group in began.values() if len(group) > 1 for pair in _forks(store, group))


def _forks(store: Store, group: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Forks with their originals, among sessions that began at the same moment."""
    entries = {row.session.id: store.manifest(row).entries for row in group}
    same: dict[ObjectId, list[str]] = {}
    for id, own in entries.items():
        same.setdefault(own[0].turn, []).append(id)
    for ids in same.values():
        shared = _shared([entries[id] for id in ids])
        original, *forks = sorted(ids, key=lambda one: (_went_on(entries[one], shared), one))
        yield from ((fork, original) for fork in forks)


def _shared(sessions: Sequence[Sequence[Entry]]) -> int:
    """How many turns all of the sessions begin with."""
    turns = zip(*sessions, strict=False)
    equal = (len({entry.turn for entry in at}) == 1 for at in turns)
    return next((n for n, is_equal in enumerate(equal) if not is_equal), min(map(len, sessions)))


def _went_on(entries: Sequence[Entry], shared: int) -> int:
    """When a session went on by itself: the original did so first, or not at all."""
    return (entries[shared].started or 0) if len(entries) > shared else 0
