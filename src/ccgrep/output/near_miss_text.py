"""Puts into words what a search without hits nearly found, and how to find it."""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.output.formatting import pluralize
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ccgrep.search.near_miss import NearMiss

_MAX_PROJECTS = 3
_TEXTS = {
    "user": "prompts",
    "assistant": "answers",
    "tool": "tool output",
    "thinking": "thinking",
}
COMMAND_LINE = {
    "projects": "-p",
    "here": "--here",
    "since": "--since",
    "until": "--until",
    "sources": "--source",
    "sessions": "--session",
    "tools": "--tool",
    "branches": "--branch",
    "models": "--model-name",
    "machines": "--machine",
    "marked": "--tag",
    "subagents": "--subagents",
    "documents": "--documents",
    "max_sessions": "--max-sessions",
    "surfaces": "--surface",
    "kind": "use -t {}",
    "ignore_case": "use -i",
    "quotes": "leave out the quotes",
    "some_words": "leave out --all",
    "one_word": "use fewer words",
    "words": "use --words",
    "filters": "leave out {}",
    "window": "run `ccgrep index --embed-all`",
}
"""How the command line spells the filters, and the advice for each change of a request."""


def near_miss_text(miss: NearMiss, spelling: Mapping[str, str] = COMMAND_LINE) -> str:
    """Return one line: what was searched, what nearly matched, and how to find it."""
    filters = ", ".join(spelling.get(name, name) for name in miss.filters)
    parts = [_describe_search(miss, filters)]
    if miss.change:
        detail = filters if miss.change == "filters" else "".join(miss.names)
        advice = spelling[miss.change].format(detail)
        parts.append(f"{_found(miss)}, {advice}")
    if miss.outside_window:
        turns = pluralize(miss.outside_window, "turn")
        parts.append(f"{turns} outside the embedding window, {spelling['window']}")
    return "; ".join(parts)


def near_miss_fields(miss: NearMiss, spelling: Mapping[str, str] = COMMAND_LINE) -> dict[str, Any]:
    """Return the same for JSON."""
    return {**miss._asdict(), "advice": near_miss_text(miss, spelling)}


def _describe_search(miss: NearMiss, filters: str) -> str:
    if miss.searched is None:
        return "no turn matches"
    if not miss.searched:
        return f"no turn passes {filters}" if filters else "there are no turns yet"
    end = "es" if miss.searched == 1 else ""
    passing = f" that pass{end} {filters}" if filters else ""
    return f"0 of {pluralize(miss.searched, 'turn')}{passing} match{end}"


def _found(miss: NearMiss) -> str:
    count = f"{miss.turns:,}{' or more' if miss.is_more else ''}"
    names = [clip(one_line(name), 40) for name in miss.names]
    if miss.change == "kind":
        return f"{count} in {_TEXTS[names[0]]}"
    if miss.change == "filters" and names:
        more = ", …" if len(names) > _MAX_PROJECTS else ""
        return f"{count} in other projects ({', '.join(names[:_MAX_PROJECTS])}{more})"
    if miss.change == "one_word":
        return f"{count} with '{names[0]}' alone"
    return f"{count} {_WITH[miss.change]}"


_WITH = {
    "filters": "without the filters",
    "ignore_case": "in other case",
    "quotes": "with the words apart",
    "some_words": "with some of the words",
    "words": "with the words",
}
