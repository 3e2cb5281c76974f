"""Shows the progress and the warnings of long work on standard error."""

from __future__ import annotations

import sys

from ccgrep.cli.context import Context
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.refresh.background import Feedback

if TYPE_CHECKING:
    from ccgrep.ingest.report import Progress


def make_feedback(arguments: Arguments, context: Context) -> Feedback:
    """Return callbacks that draw a progress bar and print warnings, unless `--quiet` is given."""

    def on_progress(progress: Progress) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only for long work

            shared_bar()(progress)

    def warn(text: str) -> None:
        if not arguments.quiet:
            clear_progress_bar()
            context.warn(text)

    return Feedback(on_progress, warn, clear_progress_bar)


def refresh_now(context: Context, is_quiet: bool = False) -> None:
    """Refresh the store in this process, and show the progress."""
    from ccgrep.refresh.update import bring_up_to_date  # noqa: PLC0415 - a search forks instead

    try:
        bring_up_to_date(context.config(), make_feedback(Arguments(quiet=is_quiet), context))
    finally:
        clear_progress_bar()


def clear_progress_bar() -> None:
    """Remove the progress bar, if one was drawn."""
    progress = sys.modules.get("ccgrep.cli.progress")
    if progress is not None:
        progress.shared_bar().close()
