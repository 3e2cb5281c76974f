"""ccgrep stats: count sessions, tools and tokens; suggest permissions.

Importing this module imports numpy, while the background refresh runs.
"""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from types import SimpleNamespace as Arguments
from typing import NamedTuple

from ccgrep.cli.context import Context
from ccgrep.cli.feedback import clear_progress_bar, make_feedback
from ccgrep.cli.filter_options import parse_filters
from ccgrep.errors import UsageError
from ccgrep.ops import stats as ops
from ccgrep.output import cost_report, stats_charts, stats_json, stats_lines
from ccgrep.output.json_document import encode_document
from ccgrep.output.style import Style
from ccgrep.refresh.background import BackgroundRefresh
from ccgrep.stats.prices import TRILLION, read_prices
from ccgrep.stats.report import Dimension, Overview, Report, TokenReport
from ccgrep.stats.suggest import review, suggest
from ccgrep.stats.tallies import Progress
from ccgrep.text import one_line, redact

_ON_TERMINAL = 10
_DIMENSIONS: tuple[Dimension, ...] = ("project", "model", "day", "week")
_COST_DIMENSIONS: tuple[Dimension, ...] = ("project", "model", "month", "day")
_PAGE_DIMENSIONS: tuple[Dimension, ...] = ("project", "model", "week")
_MAX_BUDGET = 10**6


class _Format(NamedTuple):
    """The format of a report."""

    is_json: bool
    is_terminal: bool
    limit: int
    width: int
    style: Style
    by: Dimension | None = None
    is_settings: bool = False
    has_reviewed: bool = False
    budget: int | None = None  # in trillionths of a dollar


def run(arguments: Arguments, context: Context, refresh: BackgroundRefresh | None) -> int:
    kind = _kind(arguments)
    if arguments.remote:
        from ccgrep.cli.team_stats import print_team_stats  # noqa: PLC0415 - only with -R

        return print_team_stats(arguments, context, kind)
    if arguments.owner:
        raise UsageError("--owner needs -R: only a team's server knows who pushed a turn")

    def on_progress(progress: Progress) -> None:
        if context.is_error_terminal and not arguments.quiet:
            from ccgrep.cli.progress import shared_bar  # noqa: PLC0415 - only to draw it

            shared_bar().count(progress.done, progress.shards, "counting")

    if arguments.html is not None and kind:
        raise UsageError(f"--html shows everything: leave out {kind}")
    config = context.config()
    filters = parse_filters(arguments, context, config)
    warn = make_feedback(arguments, context).warn
    needs_prices = kind in ("tokens", "cost") or arguments.html is not None
    prices = read_prices(config.prices) if needs_prices else None
    request = ops.StatsRequest(config, filters, on_progress, warn, refresh, prices)
    try:
        if arguments.html is not None:
            return _write_page(request, arguments, context)
        lines = _REPORTS[kind](request, _format(arguments, context))
    finally:
        clear_progress_bar()
    context.write_lines(lines)
    return 0


def _write_page(request: ops.StatsRequest, arguments: Arguments, context: Context) -> int:
    """Write the page with charts and print its path."""
    from ccgrep.ops.save_file import write_file  # noqa: PLC0415 - only for --html
    from ccgrep.output.stats_page import page_lines  # noqa: PLC0415

    def make(report: Report) -> tuple[Overview, TokenReport]:
        return report.overview(), report.tokens(_PAGE_DIMENSIONS, by_cost=True)

    (overview, tokens), _ = ops.make_report(request, make)
    lines = page_lines(overview, tokens, "Coding agents")
    write_file(arguments.html, "".join(f"{line}\n" for line in lines))
    context.write(one_line(arguments.html))
    return 0


def _kind(arguments: Arguments) -> str:
    words = arguments.what
    kind = words[0] if words else ""
    if kind not in ("", "tools", "bash", "tokens", "cost") or len(words) > 1:
        typed = one_line(" ".join(words))
        raise UsageError(
            f"invalid value '{typed}' for WHAT: use tools, bash, tokens, cost or nothing, or "
            f"search for these words with `ccgrep search stats {typed}`"
        )
    if arguments.suggest and kind != "bash":
        raise UsageError("--suggest needs bash: use `ccgrep stats bash --suggest`")
    if arguments.settings and not arguments.suggest:
        raise UsageError("--settings needs --suggest: use `ccgrep stats bash --suggest --settings`")
    if arguments.include_reviewed and not arguments.settings:
        raise UsageError(
            "--include-reviewed needs --settings: use `ccgrep stats bash --suggest --settings "
            "--include-reviewed`"
        )
    if arguments.budget is not None and (kind != "cost" or not arguments.since):
        budget = one_line(arguments.budget)
        raise UsageError(
            "--budget needs cost and --since: "
            f"use `ccgrep stats cost --since 30d --budget {budget}`"
        )
    if (
        arguments.by
        and kind not in ("tokens", "cost")
        and (kind, arguments.by) != ("tools", "project")
    ):
        raise UsageError(
            f"--by {arguments.by} needs tokens: use `ccgrep stats tokens --by {arguments.by}`"
        )
    return "suggest" if arguments.suggest else kind


def _format(arguments: Arguments, context: Context) -> _Format:
    is_terminal = context.is_terminal and not arguments.json
    limit = line_limit(arguments, is_terminal)
    style = context.style_for(arguments.color)
    return _Format(
        arguments.json,
        is_terminal,
        limit,
        context.width,
        style,
        arguments.by,
        arguments.settings,
        arguments.include_reviewed,
        _budget(arguments.budget),
    )


def line_limit(arguments: Arguments, is_terminal: bool) -> int:
    """Return how many lines of each kind to print; 0 for all."""
    if arguments.limit is not None:
        return int(arguments.limit)
    return _ON_TERMINAL if is_terminal else 0


def _budget(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        budget = Decimal(text)
    except InvalidOperation:
        budget = Decimal(-1)
    if not 0 < budget <= _MAX_BUDGET:
        raise UsageError(f"invalid value '{one_line(text)}' for --budget: use an amount of dollars")
    return int(budget * TRILLION)


def _overview(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    found, coverage = ops.make_report(request, Report.overview)
    if format.is_json:
        return [encode_document(stats_json.overview(found, coverage, format.limit))]
    if format.is_terminal:
        return stats_charts.overview(found, format.limit, format.width, format.style)
    return stats_lines.overview(found, format.limit)


def _tools(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    found, coverage = ops.make_report(request, Report.tools)
    if format.is_json:
        return [encode_document(stats_json.tools(found, coverage, format.limit))]
    if format.is_terminal:
        return stats_charts.tools(found, format.limit, bool(format.by), format.width, format.style)
    return stats_lines.tools(found, format.limit, bool(format.by))


def _bash(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    found, coverage = ops.make_report(request, Report.bash)
    if format.is_json:
        return [encode_document(stats_json.bash(found, coverage, format.limit))]
    if format.is_terminal:
        return stats_charts.bash(found, format.limit, format.width, format.style)
    return stats_lines.bash(found, format.limit)


def _tokens(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    dimensions = (format.by,) if format.by else _DIMENSIONS
    found, coverage = ops.make_report(request, lambda report: report.tokens(dimensions))
    if format.is_json:
        return [encode_document(stats_json.tokens(found, coverage, format.limit))]
    if format.is_terminal:
        return stats_charts.tokens(found, format.limit, format.width, format.style)
    return stats_lines.tokens(found, format.limit)


def _cost(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    dimensions = (format.by,) if format.by else _COST_DIMENSIONS
    found, coverage = ops.make_report(
        request, lambda report: report.tokens(dimensions, by_cost=True)
    )
    if format.is_json:
        fields = cost_report.cost_fields(found, coverage, format.limit, format.budget)
        return [encode_document(fields)]
    if format.is_terminal:
        return cost_report.charts(found, format.limit, format.width, format.style, format.budget)
    return cost_report.lines(found, format.limit, format.budget)


def _suggestions(request: ops.StatsRequest, format: _Format) -> Iterable[str]:
    uses, coverage = ops.make_report(request, Report.shell_uses)
    found = suggest(uses)
    reviewed = [each for each in review(uses) if redact(each.rule) == each.rule]
    if format.is_settings:
        rules = [each.rule for each in reviewed] if format.has_reviewed else []
        return [stats_json.settings([*found.allowed, *rules])]
    if format.is_json:
        return [encode_document(stats_json.suggestions(found, reviewed, coverage))]
    if format.is_terminal:
        return stats_charts.suggestions(found, reviewed, format.limit, format.style)
    return stats_lines.suggestions(found, reviewed)


_REPORTS = {
    "": _overview, "tools": _tools, "bash": _bash, "tokens": _tokens, "cost": _cost,
    "suggest": _suggestions,
}  # fmt: skip
