"""Removes what nothing refers to any more."""

import os

from ccgrep.config import Config
from ccgrep.fulltext.sync import purge, sync
from ccgrep.store.gc import GcReport, collect_garbage
from ccgrep.store.lifecycle import open_store
from ccgrep.store.lock import lock_vectors


def gc(config: Config, wait_s: float = 10.0) -> GcReport:
    """Remove unreachable objects and what is derived from them, and merge packs."""
    store = open_store(config.store_dir)
    with store.lock(wait_s), lock_vectors(config.store_dir, wait_s):
        purge(store)
        report = collect_garbage(store)
        sync(store)
        if os.path.isdir(os.path.join(config.store_dir, "vectors")):
            from ccgrep.semantic.prune import drop_dead_vectors  # noqa: PLC0415 - imports numpy

            drop_dead_vectors(config, store, drops_other_models=True)
    return report
