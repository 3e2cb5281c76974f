"""Deletes what nothing refers to any more, in the store and in all that is derived from it."""

import os

from ccgrep.config import Config
from ccgrep.fulltext.sync import purge, sync
from ccgrep.store import gc
from ccgrep.store.gc import GcReport
from ccgrep.store.machines import drop_projects
from ccgrep.store.store import Store


def collect_garbage(config: Config, store: Store, drops_other_models: bool = False) -> GcReport:
    """Collect garbage. Needs the locks of the store and of the vectors.

    What is derived comes first: `collect_garbage` clears the mark that there is something to purge,
    so a killed process would leave it.
    """
    purge(store)
    if os.path.isdir(os.path.join(config.store_dir, "vectors")):
        from ccgrep.semantic.prune import drop_dead_vectors  # noqa: PLC0415 - imports numpy

        drop_dead_vectors(config, store, drops_other_models)
    drop_projects(store.directory, store.rows())
    report = gc.collect_garbage(store)
    sync(store)
    return report
