"""Find the sessions that differ between two snapshots, and their places.

Snapshots are compared from the root down: shards, rows, entries. Equal hashes are not read.
"""

from collections.abc import Iterator, Sequence

from ccgrep.errors import StoreError
from ccgrep.model import Entry
from ccgrep.store.manifest import Manifest, Row, Snapshot
from ccgrep.store.store import Store


def changed_rows(
    store: Store, old: Snapshot, new: Snapshot
) -> Iterator[tuple[Row | None, Row | None]]:
    for name in sorted({*old.shards, *new.shards}):
        if old.shards.get(name) != new.shards.get(name):
            before, after = store.shard_rows(old, name), store.shard_rows(new, name)
            for id in sorted({*before, *after}):
                if before.get(id) != after.get(id):
                    yield before.get(id), after.get(id)


def indexed_entries(store: Store, before: Row | None, after: Row) -> Sequence[Entry]:
    """Return the entries whose documents are still valid: none if the session's values changed."""
    if before is None or _values(before) != _values(after):
        return ()
    try:
        return store.load(before.manifest, Manifest).entries
    except StoreError:
        return ()


def _values(row: Row) -> tuple[object, ...]:
    """Return the values that every document of a session repeats."""
    session = row.session
    return (session.project, session.kind, session.parent, session.branch, session.source,
            session.started, row.is_superseded)  # fmt: skip


def is_same_document(before: Entry, after: Entry) -> bool:
    is_same_turn = before.turn == after.turn and before.started == after.started
    return is_same_turn and before.branch == after.branch
