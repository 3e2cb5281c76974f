"""How several commands get at the turns, in the same words."""

from __future__ import annotations

import sys

from ccgrep.cli.context import Context
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.light_typing import SimpleNamespace as Arguments
from ccgrep.ops.search import How
from ccgrep.text import escape

if TYPE_CHECKING:
    from ccgrep.ingest.run import Progress


def how_of(arguments: Arguments, context: Context, is_indexed: bool = True) -> How:
    """Whether to look for changes first, and where to tell of it."""

    def on_progress(progress: Progress) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only when it is built

            shared_bar()(progress)

    def warn(note: str) -> None:
        if not arguments.quiet:
            context.say(f"ccgrep: {escape(note)}")

    return How(not arguments.no_refresh, is_indexed, on_progress, warn)


def close_bar() -> None:
    """Takes the progress bar away, if one was drawn."""
    progress = sys.modules.get("ccgrep.cli.progress")
    if progress is not None:
        progress.shared_bar().close()
