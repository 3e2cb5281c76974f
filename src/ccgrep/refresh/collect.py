"""Deletes what nothing refers to any more, in the store and in all that is derived from it."""

import os

from ccgrep.config import Config
from ccgrep.fulltext.sync import purge, sync
from ccgrep.steps import OnStep, ignore_steps
from ccgrep.store import gc
from ccgrep.store.gc import GcReport
from ccgrep.store.machines import drop_projects
from ccgrep.store.store import Store


def collect_garbage(
    store: Store, model_config: Config | None = None, on_step: OnStep = ignore_steps
) -> GcReport:
    """Collect garbage. Needs the locks of the store and of the vectors.

    With `model_config`, also delete the vectors of models that it does not use.
    What is derived comes first: `collect_garbage` clears the mark that there is something to purge,
    so a killed process would leave it.
    """
    purge(store)
    if os.path.isdir(os.path.join(store.directory, "vectors")):
        from ccgrep.semantic.prune import drop_dead_vectors  # noqa: PLC0415 - imports numpy

        drop_dead_vectors(store, model_config)
    drop_projects(store.directory, store.rows())
    report = gc.collect_garbage(store, on_step)
    sync(store)
    return report
