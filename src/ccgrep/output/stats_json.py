"""What was used, how often, as JSON. Names are whole, unknown ones are null."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ccgrep.output.formatting import iso_time
from ccgrep.output.report_json import coverage_fields
from ccgrep.search.request import Coverage
from ccgrep.stats.report import BashUse, Dimension, Group, Overview, TokenReport, Tokens, ToolUse
from ccgrep.stats.suggest import Suggestions

T = TypeVar("T")


def overview(found: Overview, coverage: Coverage, limit: int) -> dict[str, Any]:
    most = limit or None
    return {
        "coverage": coverage_fields(coverage),
        "sessions": found.sessions,
        "turns": found.turns,
        "copies": found.copies,
        "messages": found.messages,
        "tool_calls": found.calls,
        "tool_errors": found.errors,
        "tokens": tokens_of(found.tokens),
        "first_turn": iso_time(found.first),
        "last_turn": iso_time(found.last),
        "sources": [_group("source", group) for group in found.sources],
        "projects": [_group("project", group) for group in found.projects[:most]],
        "days": [_group("day", group) for group in found.days[:most]],
        "tools": [_tool(use) for use in found.tools[:most]],
    }


def tools(found: tuple[ToolUse, ...], coverage: Coverage, limit: int) -> dict[str, Any]:
    shown = []
    for use in found[: limit or None]:
        projects = [
            {"project": name or None, **_calls(calls, errors)}
            for name, calls, errors in use.projects
        ]
        shown.append({**_tool(use), "projects": projects})
    return {
        "coverage": coverage_fields(coverage),
        **_calls(sum(use.calls for use in found), sum(use.errors for use in found)),
        "tools": shown,
    }


def bash(found: tuple[BashUse, ...], coverage: Coverage, limit: int) -> dict[str, Any]:
    return {
        "coverage": coverage_fields(coverage),
        "count": sum(use.uses for use in found),
        "compound": sum(use.compound for use in found),
        "commands": [
            {
                "base": use.base or None,
                "sub": use.sub or None,
                "count": use.uses,
                "errors": use.errors,
                "compound": use.compound,
                "sudo": use.privileged,
            }
            for use in found[: limit or None]
        ],
    }


def tokens(found: TokenReport, coverage: Coverage, limit: int) -> dict[str, Any]:
    groups = {
        f"{dimension}s": [
            {dimension: name or None, **tokens_of(spent)}
            for name, spent in shown_of(dimension, rows, limit)
        ]
        for dimension, rows in found.by.items()
    }
    return {"coverage": coverage_fields(coverage), "total": tokens_of(found.total), **groups}


def shown_of(dimension: Dimension, rows: Sequence[T], limit: int) -> Sequence[T]:
    """The first `limit` rows, but of days and weeks, which go by, the last; 0 is all."""
    if dimension in ("day", "week"):
        return rows[-limit:] if limit else rows
    return rows[: limit or None]


def suggestions(found: Suggestions, coverage: Coverage) -> dict[str, Any]:
    return {
        "coverage": coverage_fields(coverage),
        "suggestions": [
            {
                "pattern": one.pattern,
                "rule": one.rule,
                "count": one.uses,
                "confidence": one.confidence,
                "reason": one.reason,
            }
            for one in found.suggestions
        ],
        "skipped": [
            {"pattern": one.pattern, "count": one.uses, "reason": one.reason}
            for one in found.skipped
        ],
    }


def settings(rules: Iterable[str]) -> str:
    """A block for Claude Code's settings.json; rules come from a table, not from transcripts."""
    block = msgspec.json.encode({"permissions": {"allow": list(rules)}})
    return msgspec.json.format(block, indent=2).decode()


def tokens_of(spent: Tokens) -> dict[str, int]:
    return spent._asdict()


def _group(name: str, group: Group) -> dict[str, Any]:
    return {
        name: group.name or None,
        "sessions": group.sessions,
        "turns": group.turns,
        "tool_calls": group.calls,
        "tokens": tokens_of(group.tokens),
    }


def _tool(use: ToolUse) -> dict[str, Any]:
    return {"tool": use.tool, **_calls(use.calls, use.errors), "turns": use.turns}


def _calls(calls: int, errors: int) -> dict[str, Any]:
    return {"calls": calls, "errors": errors, "error_rate": rate(calls, errors)}


def rate(calls: int, errors: int) -> float:
    return round(errors / calls, 4) if calls else 0.0
