"""A progress bar on standard error."""

import sys
import time
from functools import cache
from typing import TYPE_CHECKING

from ccgrep.ingest.report import Progress
from ccgrep.output.formatting import byte_size

if TYPE_CHECKING:
    from ccgrep.semantic.embedding import EmbedProgress

_DELAY_S = 0.3
_REDRAW_S = 0.1
_WIDTH = 24


@cache
def shared_bar() -> "Bar":
    """Return the bar of a command that shows one only if the work takes long."""
    return Bar(delay_s=_DELAY_S)


def embedding_text(progress: "EmbedProgress") -> str:
    """Return how many texts are embedded, how fast, and how long the rest will take."""
    rate = progress.done / max(progress.seconds, 0.001)
    left = (progress.total - progress.done) / max(rate, 0.001)
    done = f"{progress.done:,}/{progress.total:,} texts embedded"
    return f"{done}  {rate:.0f}/s  {left:.0f} s left"


class Bar:
    """A line that is redrawn until `close`, or the end of a `with` statement, erases it."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self._started = time.monotonic()
        self._visible_from = self._started + delay_s
        self._drawn_at = 0.0  # 0 if the bar is not on the screen

    def __call__(self, progress: Progress) -> None:
        if not progress.bytes:
            return
        files = f"{progress.files_done:,}/{progress.files:,} files"
        rate = progress.bytes_done / max(time.monotonic() - self._started, 0.001)
        left = (progress.bytes - progress.bytes_done) / max(rate, 1)
        share = progress.bytes_done / progress.bytes
        self._draw(share, f"{files}  {byte_size(rate)}/s  {left:.0f} s left")

    def embedding(self, progress: "EmbedProgress") -> None:
        """Show how many texts are embedded."""
        self._draw(progress.done / progress.total, embedding_text(progress))

    def count(self, done: int, total: int, label: str) -> None:
        """Show how many of `total` items are done."""
        self._draw(done / max(total, 1), label)

    def _draw(self, share: float, text: str) -> None:
        now = time.monotonic()
        if now < self._visible_from or now - self._drawn_at < _REDRAW_S:
            return
        self._drawn_at = now
        filled = int(share * _WIDTH)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        sys.stderr.write(f"\r{bar} {share:4.0%}  {text}\x1b[K")
        sys.stderr.flush()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._drawn_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn_at = 0.0
