"""Forgets sessions, and removes what nothing refers to any more."""

import os
import time

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.ingest.archive_history import forget_lines
from ccgrep.refresh.collect import collect_garbage
from ccgrep.refs import find as find_ref
from ccgrep.store import fsio
from ccgrep.store import gc as store_gc
from ccgrep.store.gc import GcReport
from ccgrep.store.lifecycle import list_old_stores, new_store_dir, open_store
from ccgrep.store.lineage import add_descendants
from ccgrep.store.lock import lock_vectors
from ccgrep.store.machines import read_machines
from ccgrep.store.manifest import Row


class ForgetReport(Struct, frozen=True):
    """The deleted sessions. `set_aside` lists old stores, which may still hold them.

    `machines` are other machines, which forget them when they sync next.
    """

    sessions: tuple[str, ...]
    report: GcReport
    set_aside: tuple[str, ...]
    machines: tuple[str, ...] = ()


def gc(config: Config, wait_s: float = 10.0) -> GcReport:
    """Remove unreachable objects and what is derived from them, and merge packs."""
    store = open_store(config.store_dir)
    with store.lock(wait_s), lock_vectors(config.store_dir, wait_s):
        if config.keep == "turns":
            store_gc.drop_originals(store)
        return collect_garbage(config, store, drops_other_models=True)


def forget(config: Config, refs: list[str], wait_s: float = 10.0) -> ForgetReport:
    """Delete sessions with their sub-agents and all that is derived from them."""
    store = open_store(config.store_dir)
    with store.lock(wait_s), lock_vectors(config.store_dir, wait_s):
        new_dir = new_store_dir(config.store_dir)
        if os.path.isdir(new_dir):
            fsio.remove_tree(new_dir)  # A killed `index --recreate` left a copy of the sessions.
        rows = list(store.rows())
        chosen: dict[str, Row] = {}
        for ref in refs:
            target = find_ref(store, rows, ref)
            if target.row is None or target.turn is not None:
                raise StoreError(f"{ref} names a turn: only whole sessions can be forgotten")
            add_descendants(target.row, rows, chosen, with_superseded=True)
        fsio.remove(os.path.join(store.directory, "seen"))  # It names the transcripts.
        store_gc.forget(store, chosen.values(), time.time_ns() // 1_000_000, forget_lines)
        report = collect_garbage(config, store)
    set_aside = tuple(list_old_stores(config.store_dir))
    machines = read_machines(config.store_dir)
    others = sorted(name for id, name in machines.names.items() if id != machines.own)
    return ForgetReport(tuple(sorted(chosen)), report, set_aside, tuple(others))
