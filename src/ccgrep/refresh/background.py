"""Refreshes the store in a child process while the parent searches.

    parent   start() ── fork ──▶ search the current index ──▶ wait() ──▶ changed? search again
    child                └─▶ detect changes ─▶ ingest ─▶ sync full text ─▶ report ─▶ tidy ─▶ exit

The child reports one line on a pipe. If it dies before that, the parent refreshes by itself, which
does the work or raises the error. The child is forked before any library is loaded: there are no
threads yet, and little memory to share.
"""

from __future__ import annotations

import os

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.config import Config
    from ccgrep.ingest.report import Progress

_SIGKILL = 9


class Feedback(NamedTuple):
    """Callbacks through which long work reports to the user."""

    on_progress: Callable[[Progress], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    clear_progress: Callable[[], None] = lambda: None


class Refreshed(NamedTuple):
    """The result of a refresh: whether the store changed, and how much it still lacks."""

    is_changed: bool = False
    is_fresh: bool = True
    behind_files: int = 0
    behind_bytes: int = 0

    def encode(self) -> bytes:
        return " ".join(str(int(value)) for value in self).encode()

    @classmethod
    def decode(cls, line: bytes) -> Refreshed:
        is_changed, is_fresh, files, size = map(int, line.split())
        return cls(bool(is_changed), bool(is_fresh), files, size)


class BackgroundRefresh:
    """A running refresh. Whoever starts it closes it."""

    def __init__(self, config: Config, feedback: Feedback, child: int, results: int) -> None:
        self._config = config
        self._feedback = feedback
        self._child = child
        self._results = results
        self._is_awaited = False
        self._is_closed = False

    def wait(self) -> Refreshed:
        """Return the result of the refresh; if the child failed, refresh here."""
        line = os.read(self._results, 100)
        self._is_awaited = True
        if line:
            return Refreshed.decode(line)
        from ccgrep.refresh.update import refresh  # noqa: PLC0415 - only after a failure

        return refresh(self._config, self._feedback)

    def finish(self) -> None:
        """Wait until the store is up to date and the child has exited."""
        self.wait()
        self.close()

    def close(self) -> None:
        """Wait until the child exits. A refresh that nobody waited for is killed, which is safe."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_awaited:
            os.kill(self._child, _SIGKILL)
        os.close(self._results)
        os.waitpid(self._child, 0)


def start(config: Config, feedback: Feedback) -> BackgroundRefresh:
    """Fork a child that refreshes the store."""
    results, report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(results)
        try:
            _refresh(config, feedback, report)
        finally:
            os._exit(0)
    os.close(report)
    return BackgroundRefresh(config, feedback, child, results)


def _refresh(config: Config, feedback: Feedback, report: int) -> None:
    from ccgrep.refresh.change_detector import detect_changes  # noqa: PLC0415 - the child only

    changed = detect_changes(config.store_dir, [root.path for root in config.roots], config.exclude)
    if changed == []:
        os.write(report, Refreshed().encode())
        return
    from ccgrep.refresh.update import update  # noqa: PLC0415 - only after a change

    def on_refreshed(result: Refreshed) -> None:
        feedback.clear_progress()  # The parent prints its results next.
        os.write(report, result.encode())

    update(config, changed, feedback, on_refreshed)
