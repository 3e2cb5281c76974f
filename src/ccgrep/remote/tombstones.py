"""Tombstones: sessions that some machine has forgotten, so that every machine forgets them."""

from collections.abc import Callable

from ccgrep.errors import UntrustedError
from ccgrep.ingest.archive_history import forget_lines
from ccgrep.remote.local import State
from ccgrep.remote.remote import Listing, Remote
from ccgrep.store import gc
from ccgrep.store.manifest import conversation_key, forgotten_key
from ccgrep.store.store import Store


def read_tombstones(
    remote: Remote, listing: Listing, state: State, store: Store, warn: Callable[[str], None]
) -> dict[bytes, str]:
    """Return the keys that this machine has not applied yet, with their names.

    A machine that cannot read tombstones compares their names with those of its own sessions.
    """
    new = listing.tombstones.keys() - set(state.applied)
    if not remote.key.can_read:
        return {key: name for key, name in _own_names(remote, store).items() if name in new}
    found = {}
    for name in sorted(new):
        try:
            found[remote.read_tombstone(name)] = name
        except UntrustedError as error:
            warn(str(error))
    return found


def _own_names(remote: Remote, store: Store) -> dict[bytes, str]:
    """Return the keys under which the sessions of a store may have been forgotten."""
    keys = set()
    for row in store.rows():
        entries = store.manifest(row).entries
        keys.add(conversation_key(row.base_id, entries[0].turn if entries else None))
        keys.update(map(forgotten_key, filter(None, (row.base_id, row.session.parent))))
    return {key: remote.tombstone_name(key) for key in keys}


def apply_tombstones(store: Store, keys: dict[bytes, str], now_ms: int) -> int:
    """Forget the sessions of the keys, and return their number. Needs the writer lock.

    The snapshot says that their bytes are still there, until garbage is collected.
    """
    if keys.keys() <= set(store.snapshot().forgotten):
        return 0
    rows = gc.find_forgotten(store, keys.keys())
    gc.forget(store, rows, now_ms, forget_lines, keys.keys())
    return len(rows)
