"""Forgets sessions, and removes what nothing refers to any more."""

import os
import time
from collections.abc import Callable

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.ingest.archive_history import forget_lines
from ccgrep.refresh.collect import collect_garbage
from ccgrep.refs import find as find_ref
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import fsio
from ccgrep.store import gc as store_gc
from ccgrep.store.gc import GcReport
from ccgrep.store.lifecycle import list_old_stores, new_store_dir, open_store
from ccgrep.store.lineage import add_descendants, find_copies
from ccgrep.store.lock import lock_vectors
from ccgrep.store.machines import read_machines
from ccgrep.store.manifest import Row
from ccgrep.store.pruned import drop_sessions


class ForgetReport(Struct, frozen=True):
    """The deleted sessions, and what still holds their turns.

    `copies` are forks and copies with the number of turns they hold, `set_aside` are old stores.
    `machines` are other machines, which forget the sessions when they sync next.
    """

    sessions: tuple[str, ...]
    report: GcReport
    set_aside: tuple[str, ...]
    copies: dict[str, int] = {}
    machines: tuple[str, ...] = ()


def gc(
    config: Config,
    wait_s: float = 10.0,
    warn: Callable[[str], None] = lambda _: None,
    on_step: OnStep = ignore_steps,
) -> GcReport:
    """Remove unreachable objects and what is derived from them, and merge packs."""
    store = open_store(config.store_dir)
    with store.lock(wait_s, warn), lock_vectors(config.store_dir, wait_s, warn):
        if config.keep == "turns":
            store_gc.drop_originals(store)
        return collect_garbage(store, config, on_step)


def forget(
    config: Config,
    refs: list[str],
    wait_s: float = 10.0,
    with_copies: bool = False,
    warn: Callable[[str], None] = lambda _: None,
    on_step: OnStep = ignore_steps,
) -> ForgetReport:
    """Delete sessions with their sub-agents and all that is derived from them.

    With `with_copies`, also delete the sessions that copied their turns.
    """
    store = open_store(config.store_dir)
    with store.lock(wait_s, warn), lock_vectors(config.store_dir, wait_s, warn):
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
        compared = count_steps(rows, "sessions compared", len(rows), on_step)
        copies = find_copies(store, chosen.values(), compared)
        if with_copies:
            for row in rows:
                if row.session.id in copies:
                    add_descendants(row, rows, chosen, with_superseded=True)
            copies = find_copies(store, chosen.values(), rows)
        fsio.remove(os.path.join(store.directory, "seen"))  # It names the transcripts.
        drop_sessions(store, chosen.keys())
        store_gc.forget(store, chosen.values(), time.time_ns() // 1_000_000, forget_lines)
        report = collect_garbage(store, on_step=on_step)
    set_aside = tuple(list_old_stores(config.store_dir))
    machines = read_machines(config.store_dir)
    others = sorted(name for id, name in machines.names.items() if id != machines.own)
    return ForgetReport(tuple(sorted(chosen)), report, set_aside, copies, tuple(others))
