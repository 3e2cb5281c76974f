"""What the use cases share: a scan of the roots, and the clock."""

import time
from collections.abc import Callable

from ccgrep.config import Config
from ccgrep.sources.scan import Scan, scan

WAS_OPEN = "the store's directory was open to other users: it is private now (0700)"


def scanner(config: Config) -> Callable[[], Scan]:
    return lambda: scan(list(config.roots))


def now_ms() -> int:
    return time.time_ns() // 1_000_000
