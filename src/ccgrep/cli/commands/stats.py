"""ccgrep stats: what was used, how often; permissions to allow.

numpy is imported here, while the background refresh runs.
"""

from collections.abc import Iterable
from types import SimpleNamespace as Arguments
from typing import NamedTuple

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, make_feedback
from ccgrep.cli.filter_options import filters_of
from ccgrep.errors import UsageError
from ccgrep.ops import stats as ops
from ccgrep.output import stats_charts, stats_json, stats_lines
from ccgrep.output.json_document import encode_document
from ccgrep.output.style import Style
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.stats.report import Dimension
from ccgrep.stats.tallies import Progress
from ccgrep.text import one_line

_ON_TERMINAL = 10
_KINDS = ("", "tools", "bash", "tokens")
_DIMENSIONS: tuple[Dimension, ...] = ("project", "model", "day", "week")


class _Look(NamedTuple):
    """How a report is to look."""

    is_json: bool
    is_terminal: bool
    limit: int
    width: int
    style: Style
    by: Dimension | None = None
    is_settings: bool = False


def run(arguments: Arguments, context: Context, refresh: BackgroundRefresh | None) -> int:
    kind = _kind(arguments)

    def on_progress(progress: Progress) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only when it is made

            shared_bar().counted(progress.done, progress.shards, "counting what was used")

    config = context.config()
    filters = filters_of(arguments, context, config)
    warn = make_feedback(arguments, context).warn
    request = ops.StatsRequest(config, filters, on_progress, warn, refresh)
    try:
        lines = _lines(kind, request, _look(arguments, context))
    finally:
        clear_progress_bar()
    context.write_lines(lines)
    return 0


def _kind(arguments: Arguments) -> str:
    words = arguments.what
    kind = words[0] if words else ""
    if kind not in _KINDS or len(words) > 1:
        typed = one_line(" ".join(words))
        raise UsageError(
            f"stats cannot tell about {typed}: choose tools, bash, tokens or nothing; "
            f"to search for these words: `ccgrep search stats {typed}`"
        )
    if arguments.suggest and kind != "bash":
        raise UsageError("--suggest belongs to `ccgrep stats bash`")
    if arguments.settings and not arguments.suggest:
        raise UsageError("--settings belongs to `ccgrep stats bash --suggest`")
    if arguments.by and kind != "tokens" and (kind, arguments.by) != ("tools", "project"):
        raise UsageError(f"--by {arguments.by} belongs to `ccgrep stats tokens`")
    return "suggest" if arguments.suggest else kind


def _look(arguments: Arguments, context: Context) -> _Look:
    is_terminal = context.is_terminal and not arguments.json
    limit = _ON_TERMINAL if is_terminal else 0
    if arguments.limit is not None:
        limit = arguments.limit
    style = context.style_for(arguments.color)
    return _Look(
        arguments.json, is_terminal, limit, context.width, style, arguments.by, arguments.settings
    )


def _lines(kind: str, request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    match kind:
        case "tools":
            return _tools(request, look)
        case "suggest":
            return _suggestions(request, look)
        case "bash":
            return _bash(request, look)
        case "tokens":
            return _tokens(request, look)
    return _overview(request, look)


def _overview(request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    found, coverage = ops.overview(request)
    if look.is_json:
        return [encode_document(stats_json.overview(found, coverage, look.limit))]
    if look.is_terminal:
        return stats_charts.overview(found, look.limit, look.width, look.style)
    return stats_lines.overview(found, look.limit)


def _tools(request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    found, coverage = ops.tools(request)
    if look.is_json:
        return [encode_document(stats_json.tools(found, coverage, look.limit))]
    if look.is_terminal:
        return stats_charts.tools(found, look.limit, bool(look.by), look.width, look.style)
    return stats_lines.tools(found, look.limit, bool(look.by))


def _bash(request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    found, coverage = ops.bash(request)
    if look.is_json:
        return [encode_document(stats_json.bash(found, coverage, look.limit))]
    if look.is_terminal:
        return stats_charts.bash(found, look.limit, look.width, look.style)
    return stats_lines.bash(found, look.limit)


def _tokens(request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    found, coverage = ops.tokens(request, (look.by,) if look.by else _DIMENSIONS)
    if look.is_json:
        return [encode_document(stats_json.tokens(found, coverage, look.limit))]
    if look.is_terminal:
        return stats_charts.tokens(found, look.limit, look.width, look.style)
    return stats_lines.tokens(found, look.limit)


def _suggestions(request: ops.StatsRequest, look: _Look) -> Iterable[str]:
    found, coverage = ops.suggestions(request)
    if look.is_settings:
        return [stats_json.settings(found.allowed)]
    if look.is_json:
        return [encode_document(stats_json.suggestions(found, coverage))]
    if look.is_terminal:
        return stats_charts.suggestions(found, look.limit, look.style)
    return stats_lines.suggestions(found)
