"""Parse the options that several commands share: filters and context."""

from __future__ import annotations

import os

from ccgrep.cli.context import Context, parse_sources, read_refs
from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING, SimpleNamespace
from ccgrep.search.request import Filters
from ccgrep.text import one_line

if TYPE_CHECKING:
    from ccgrep.kinds import Inclusion


def parse_filters(
    arguments: SimpleNamespace,
    context: Context,
    config: Config,
    documents: Inclusion = "include",
) -> Filters:
    """Return the filters; `documents` is the command's default for `--documents`."""
    since = until = None
    if arguments.since or arguments.until:
        from ccgrep.cli.time_argument import parse_when  # noqa: PLC0415 - datetime is slow to import

        since = parse_when(arguments.since, context.now_ms) if arguments.since else None
        until = parse_when(arguments.until, context.now_ms, True) if arguments.until else None
        if since is not None and until is not None and since > until:
            since_and_until = f"--since {arguments.since} and --until {arguments.until}"
            raise UsageError(
                one_line(f"{since_and_until} exclude every turn: choose an earlier --since")
            )
    sessions = read_refs(arguments.session) if arguments.session else None
    machines = None
    if arguments.machine:
        from ccgrep.ops.machines import select_sessions  # noqa: PLC0415 - rare

        machines = select_sessions(config, arguments.machine)
    marked = None
    if arguments.tag:
        from ccgrep.ops.marks import tag_filter  # noqa: PLC0415 - rare

        marked = tag_filter(config, arguments.tag)
    return Filters(
        projects=tuple(arguments.project or ()),
        here=os.getcwd() if arguments.here else None,
        since=since,
        until=until,
        sources=parse_sources(arguments.source),
        sessions=tuple(sessions) if sessions is not None else None,
        tools=tuple(arguments.tool or ()),
        branches=tuple(arguments.branch or ()),
        models=tuple(arguments.model_name or ()),
        machines=machines,
        marked=marked,
        subagents=arguments.subagents or config.subagents,
        documents=vars(arguments).get("documents") or documents,
        max_sessions=max(arguments.max_sessions or 0, 0),
    )


def parse_context(arguments: SimpleNamespace) -> tuple[int, int]:
    """Return how many turns to print before and after, from `-B`, `-A` and `-C`."""
    both = arguments.context or 0
    before, after = arguments.before_context, arguments.after_context
    return (both if before is None else before, both if after is None else after)
