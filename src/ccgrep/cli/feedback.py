"""Shows the progress and the warnings of long work on standard error."""

from __future__ import annotations

import sys

from ccgrep.cli.context import Context
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.refresh.background import Feedback
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.ingest.report import Progress
    from ccgrep.refresh.background import BackgroundRefresh
    from ccgrep.semantic.embedding import EmbedProgress
    from ccgrep.steps import OnStep


def make_feedback(arguments: Arguments, context: Context) -> Feedback:
    """Return callbacks that draw a progress bar and print warnings, unless `--quiet` is given."""
    is_quiet: bool = getattr(arguments, "quiet", False)

    def on_progress(progress: Progress) -> None:
        if context.is_error_terminal and not is_quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only for long work

            shared_bar()(progress)

    def warn(text: str) -> None:
        if not is_quiet:
            clear_progress_bar()
            context.warn(one_line(text))  # It may name a file.

    return Feedback(on_progress, warn, clear_progress_bar)


def make_embedding_bar(arguments: Arguments, context: Context) -> Callable[[EmbedProgress], None]:
    """Return a callback that shows how much a search has embedded."""

    def on_embed(progress: EmbedProgress) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only for long work

            # A search embeds for a second only: there is no time left to tell.
            label = f"{progress.done:,}/{progress.total:,} texts embedded"
            shared_bar().count(progress.done, progress.total, label)

    return on_embed


def make_step_bar(context: Context, is_quiet: bool = False) -> OnStep:
    """Return a callback that shows on a terminal how much of some work is done."""

    def on_step(what: str, done: int, total: int) -> None:
        if context.is_error_terminal and not is_quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only for long work

            shared_bar().count(done, total, f"{done:,}/{total:,} {what}")

    return on_step


def finish_refresh(refresh: BackgroundRefresh | None) -> None:
    """Wait until the store is up to date, unless `--no-refresh` is given."""
    try:
        if refresh is not None:
            refresh.finish()
    finally:
        clear_progress_bar()


def clear_progress_bar() -> None:
    """Remove the progress bar, if one was drawn."""
    progress = sys.modules.get("ccgrep.cli.progress")
    if progress is not None:
        progress.shared_bar().close()
