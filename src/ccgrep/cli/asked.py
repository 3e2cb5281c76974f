"""What several commands are asked in the same words: which turns, and how to get at them."""

import os
import sys
from types import SimpleNamespace as Arguments
from typing import TYPE_CHECKING

from ccgrep.cli.context import Context, refs_from, source_name
from ccgrep.ops.search import How
from ccgrep.search.request import Filters
from ccgrep.text import escape

if TYPE_CHECKING:
    from ccgrep.index.build import Progress


def filters_of(arguments: Arguments, context: Context) -> Filters:
    """The turns that are meant."""
    now_ms = context.now_ms
    when = (arguments.since, arguments.until)
    if any(when):
        from ccgrep.cli.when import parse_when  # noqa: PLC0415 - datetime is slow to import

        since, until = (parse_when(text, now_ms) if text else None for text in when)
    else:
        since = until = None
    sessions = refs_from(arguments.session) if arguments.session else None
    return Filters(
        project=arguments.project,
        here=os.getcwd() if arguments.here else None,
        since=since,
        until=until,
        source=source_name(arguments.source),
        sessions=tuple(sessions) if sessions is not None else None,
        tool=arguments.tool,
        branch=arguments.branch,
        model=arguments.model_name,
        subagents=arguments.subagents or "include",
        max_sessions=max(arguments.max_sessions or 0, 0),
    )


def how_of(arguments: Arguments, context: Context, is_indexed: bool = True) -> How:
    """Whether to look for changes first, and where to tell of it."""

    def on_progress(progress: "Progress") -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only when it is built

            shared_bar()(progress)

    def on_note(note: str) -> None:
        if not arguments.quiet:
            context.say(f"ccgrep: {escape(note)}")

    return How(not arguments.no_refresh, is_indexed, on_progress, on_note)


def close_bar() -> None:
    """Takes the progress bar away, if one was drawn."""
    progress = sys.modules.get("ccgrep.cli.progress")
    if progress is not None:
        progress.shared_bar().close()
