"""What the use cases share: opening the store for reading, and the clock."""

import time
from collections.abc import Callable
from typing import TypeVar

from ccgrep.config import Config
from ccgrep.errors import MissingObjectError
from ccgrep.sources.scan import Scan, scan
from ccgrep.store.lifecycle import open_store
from ccgrep.store.store import Store

T = TypeVar("T")

WAS_OPEN = "the store's directory was open to other users: it is private now (0700)"


def scanner(config: Config) -> Callable[[], Scan]:
    return lambda: scan(list(config.roots))


def read(config: Config, work: Callable[[Store], T]) -> T:
    """Runs `work` on the store; once more if a writer took an object away meanwhile."""
    store = open_store(config.store_dir)
    head = store.head()
    try:
        return work(store)
    except MissingObjectError:
        if store.head() == head:
            raise
        return work(open_store(config.store_dir))


def now_ms() -> int:
    return time.time_ns() // 1_000_000
