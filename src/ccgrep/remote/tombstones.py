"""Tombstones: sessions that some machine has forgotten, so that every machine forgets them."""

from collections.abc import Callable

from ccgrep.errors import UntrustedError
from ccgrep.ingest.archive_history import forget_lines
from ccgrep.remote.local import State
from ccgrep.remote.remote import Listing, Remote
from ccgrep.store import gc
from ccgrep.store.manifest import conversation_keys, forgotten_key
from ccgrep.store.store import Store


def read_tombstones(
    remote: Remote, listing: Listing, state: State, store: Store, warn: Callable[[str], None]
) -> dict[bytes, str]:
    """Return the keys that this machine has not applied yet, with their names.

    These include its own: a `forget` that was killed has recorded keys, but deleted nothing. A
    machine that cannot read tombstones compares their names with those of its own sessions.
    """
    known = set(state.applied)
    own = {key: remote.tombstone_name(key) for key in store.snapshot().forgotten}
    found = {key: name for key, name in own.items() if name not in known}
    new = listing.tombstones.keys() - known - set(own.values())
    if not remote.key.can_read:
        names = _own_names(remote, store) if new else {}
        return found | {key: name for key, name in names.items() if name in new}
    for name in sorted(new):
        try:
            found[remote.read_tombstone(name)] = name
        except UntrustedError as error:
            warn(str(error))
    return found


def _own_names(remote: Remote, store: Store) -> dict[bytes, str]:
    """Return the keys under which the sessions of a store may have been forgotten."""
    keys: set[bytes] = set()
    for row in store.rows():
        keys.update(conversation_keys(row.base_id, store.manifest(row).entries))
        keys.update(map(forgotten_key, filter(None, (row.base_id, row.session.parent))))
    return {key: remote.tombstone_name(key) for key in keys}


def apply_tombstones(store: Store, keys: dict[bytes, str], now_ms: int) -> int:
    """Forget the sessions of the keys, and return their number. Needs the writer lock.

    The snapshot says that their bytes are still there, until garbage is collected. A key may be
    that of a path on another machine. If the same path has a session here that is not forgotten,
    such as a fork, the key is not recorded.
    """
    rows = gc.find_forgotten(store, keys.keys())
    recorded = set(store.snapshot().forgotten)
    ids = {row.session.id for row in rows}
    kept = (row for row in store.rows() if row.session.id not in ids)
    kept_paths = {forgotten_key(file.path) for row in kept for file in row.files}
    new = keys.keys() - (kept_paths - recorded)
    if rows or new - recorded:
        gc.forget(store, rows, now_ms, forget_lines, new)
    return len(rows)
