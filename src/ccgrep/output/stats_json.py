"""Formats reports of `ccgrep stats` as JSON. Names are complete, and unknown ones are null."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ccgrep.output.formatting import format_usd, iso_time
from ccgrep.output.json_document import coverage_fields
from ccgrep.search.request import Coverage
from ccgrep.stats.report import BashUse, Dimension, Group, Overview, Spent, TokenReport, ToolUse
from ccgrep.stats.suggest import Reviewed, Suggestions

T = TypeVar("T")


def overview(report: Overview, coverage: Coverage, limit: int) -> dict[str, Any]:
    most = limit or None
    return {
        "coverage": coverage_fields(coverage),
        "sessions": report.sessions,
        "turns": report.turns,
        "copies": report.copies,
        "messages": report.messages,
        "tool_calls": report.calls,
        "tool_errors": report.errors,
        "tokens": report.tokens._asdict(),
        "first_turn": iso_time(report.first),
        "last_turn": iso_time(report.last),
        "sources": [_group("source", group) for group in report.sources],
        "projects": [_group("project", group) for group in report.projects[:most]],
        "days": [_group("day", group) for group in report.days[:most]],
        "tools": [_tool(use) for use in report.tools[:most]],
    }


def tools(uses: tuple[ToolUse, ...], coverage: Coverage, limit: int) -> dict[str, Any]:
    rows = []
    for use in uses[: limit or None]:
        projects = [
            {"project": name or None, **_calls(calls, errors)}
            for name, calls, errors in use.projects
        ]
        rows.append({**_tool(use), "projects": projects})
    return {
        "coverage": coverage_fields(coverage),
        **_calls(sum(use.calls for use in uses), sum(use.errors for use in uses)),
        "tools": rows,
    }


def bash(uses: tuple[BashUse, ...], coverage: Coverage, limit: int) -> dict[str, Any]:
    return {
        "coverage": coverage_fields(coverage),
        "count": sum(use.uses for use in uses),
        "compound": sum(use.compound for use in uses),
        "commands": [
            {
                "base": use.base or None,
                "sub": use.sub or None,
                "count": use.uses,
                "errors": use.errors,
                "compound": use.compound,
                "sudo": use.privileged,
            }
            for use in uses[: limit or None]
        ],
    }


def tokens(report: TokenReport, coverage: Coverage, limit: int) -> dict[str, Any]:
    groups = {
        f"{dimension}s": [
            {dimension: spent.name or None, **spent_fields(spent)}
            for spent in limit_rows(dimension, rows, limit)
        ]
        for dimension, rows in report.by.items()
    }
    return {"coverage": coverage_fields(coverage), "total": spent_fields(report.total), **groups}


def spent_fields(spent: Spent) -> dict[str, Any]:
    usd = to_usd(spent.cost) if spent.is_priced else None
    return {**spent.tokens._asdict(), "usd": usd}


def to_usd(cost: int) -> float:
    """Return trillionths of a dollar as a JSON number of dollars. The sums are made before."""
    return float(format_usd(cost, decimals=12))


def limit_rows(dimension: Dimension, rows: Sequence[T], limit: int) -> Sequence[T]:
    """Return the first `limit` rows, or the last ones of days, weeks and months. 0 means all."""
    if dimension in ("day", "week", "month"):
        return rows[-limit:] if limit else rows
    return rows[: limit or None]


def suggestions(
    report: Suggestions, reviewed: Iterable[Reviewed], coverage: Coverage
) -> dict[str, Any]:
    return {
        "coverage": coverage_fields(coverage),
        "suggestions": [
            {
                "pattern": each.pattern,
                "rule": each.rule,
                "count": each.uses,
                "confidence": each.confidence,
                "reason": each.reason,
            }
            for each in report.suggestions
        ],
        "reviewed": [
            {
                "pattern": each.command,
                "rule": each.rule,
                "count": each.uses,
                "reason": each.reason,
            }
            for each in reviewed
        ],
        "skipped": [
            {"pattern": pattern, "count": uses, "reason": reason}
            for pattern, uses, reason in report.skipped
        ],
    }


def settings(rules: Iterable[str]) -> str:
    """Return a block for Claude Code's settings.json. Rules have no quotes and no control codes."""
    block = msgspec.json.encode({"permissions": {"allow": list(rules)}})
    return msgspec.json.format(block, indent=2).decode()


def _group(name: str, group: Group) -> dict[str, Any]:
    return {
        name: group.name or None,
        "sessions": group.sessions,
        "turns": group.turns,
        "tool_calls": group.calls,
        "tokens": group.tokens._asdict(),
    }


def _tool(use: ToolUse) -> dict[str, Any]:
    return {"tool": use.tool, **_calls(use.calls, use.errors), "turns": use.turns}


def _calls(calls: int, errors: int) -> dict[str, Any]:
    return {"calls": calls, "errors": errors, "error_rate": rate(calls, errors)}


def rate(calls: int, errors: int) -> float:
    return round(errors / calls, 4) if calls else 0.0
