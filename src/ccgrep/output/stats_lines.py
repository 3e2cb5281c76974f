"""Formats reports of `ccgrep stats` for programs: one record per line, fields separated by tabs.

An unknown name is `-`. docs/scripting.md documents the columns, which are stable.
"""

from collections.abc import Iterable, Iterator

from ccgrep.output.formatting import format_usd
from ccgrep.output.stats_json import limit_rows, rate
from ccgrep.stats.report import BashUse, Group, Overview, TokenReport, ToolUse
from ccgrep.stats.suggest import Reviewed, Suggestions
from ccgrep.text import one_line


def overview(report: Overview, limit: int) -> Iterator[str]:
    """Yield KIND, NAME, SESSIONS, TURNS, CALLS, and tokens."""
    total = Group("", report.sessions, report.turns, report.calls, report.tokens)
    yield _group("total", total)
    yield from (_group("source", group) for group in report.sources)
    yield from (_group("project", group) for group in report.projects[: limit or None])
    yield from (_group("day", group) for group in report.days[: limit or None])


def tools(uses: tuple[ToolUse, ...], limit: int, by_project: bool) -> Iterator[str]:
    """Yield TOOL, PROJECT (`*` is all), CALLS, ERRORS, RATE."""
    for use in uses[: limit or None]:
        rows = use.projects if by_project else (("*", use.calls, use.errors),)
        for project, calls, errors in rows:
            yield _line(use.tool, project, calls, errors, f"{rate(calls, errors):.4f}")


def bash(uses: tuple[BashUse, ...], limit: int) -> Iterator[str]:
    """Yield BASE, SUB, COUNT, ERRORS, COMPOUND, SUDO."""
    yield from (_line(*use) for use in uses[: limit or None])


def tokens(report: TokenReport, limit: int) -> Iterator[str]:
    """Yield KIND, NAME, tokens, and dollars."""
    yield _line("total", "", *report.total.tokens, format_usd(report.total.cost))
    for dimension, rows in report.by.items():
        for spent in limit_rows(dimension, rows, limit):
            usd = format_usd(spent.cost) if spent.is_priced else "-"
            yield _line(dimension, spent.name, *spent.tokens, usd)


def suggestions(report: Suggestions, reviewed: Iterable[Reviewed]) -> Iterator[str]:
    """Yield CONFIDENCE, `review` or `skipped`, RULE or pattern, COUNT, REASON."""
    for suggestion in report.suggestions:
        yield _line(suggestion.confidence, suggestion.rule, suggestion.uses, suggestion.reason)
    for each in reviewed:
        yield _line("review", each.rule, each.uses, each.reason)
    for skipped in report.skipped:
        yield _line("skipped", *skipped)


def _group(kind: str, group: Group) -> str:
    counts = (group.sessions, group.turns, group.calls)
    return _line(kind, group.name, *counts, *group.tokens)


def _line(*fields: object) -> str:
    return "\t".join(one_line(str(field)) or "-" for field in fields)
