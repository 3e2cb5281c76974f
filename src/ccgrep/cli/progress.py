"""A bar on standard error while an index is built, when that is a terminal."""

import sys
import time
from functools import cache
from typing import TYPE_CHECKING

from ccgrep.ingest.report import Progress
from ccgrep.output.formatting import byte_size

if TYPE_CHECKING:
    from ccgrep.semantic.embedding import EmbedProgress

_EVERY_S = 0.1
_WIDTH = 24


@cache
def shared_bar() -> "Bar":
    """One bar for a command that does not know beforehand whether it needs one."""
    return Bar(after_s=0.4)


class Bar:
    """Redraws one line; `close` takes it away again."""

    def __init__(self, after_s: float = 0.0) -> None:
        self._started = time.monotonic()
        self._after = self._started + after_s  # short work needs no bar
        self._drawn = 0.0  # when; 0 is not at all

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now < self._after or now - self._drawn < _EVERY_S or not progress.bytes:
            return
        files = f"{progress.files_done:,}/{progress.files:,} files"
        rate = progress.bytes_done / max(now - self._started, 0.001)
        left = (progress.bytes - progress.bytes_done) / max(rate, 1)
        share = progress.bytes_done / progress.bytes
        self._draw(now, share, f"{files}  {byte_size(rate)}/s  {left:.0f} s left")

    def embedding(self, progress: "EmbedProgress") -> None:
        """The same while texts are embedded."""
        now = time.monotonic()
        if now - self._drawn < _EVERY_S:
            return
        rate = progress.done / max(progress.seconds, 0.001)
        left = (progress.total - progress.done) / max(rate, 0.001)
        done = f"{progress.done:,}/{progress.total:,} texts embedded  {rate:.0f}/s"
        self._draw(now, progress.done / progress.total, f"{done}  {left:.0f} s left")

    def counted(self, done: int, total: int, work: str) -> None:
        """The same for a count of parts that are done."""
        now = time.monotonic()
        if now >= self._after and now - self._drawn >= _EVERY_S:
            self._draw(now, done / max(total, 1), work)

    def _draw(self, now: float, share: float, text: str) -> None:
        self._drawn = now
        filled = int(share * _WIDTH)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        sys.stderr.write(f"\r{bar} {share:4.0%}  {text}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = 0.0
