"""What was used, how often, as columns: separated by tabs, one record a line, for programs.

Unknown names are `-`. docs/scripting.md says what the columns are; they are stable.
"""

from collections.abc import Iterator

from ccgrep.output.stats_json import rate, shown_of
from ccgrep.stats.report import BashUse, Group, Overview, TokenReport, ToolUse
from ccgrep.stats.suggest import Suggestions
from ccgrep.text import one_line


def overview(found: Overview, limit: int) -> Iterator[str]:
    """KIND, NAME, SESSIONS, TURNS, CALLS, and tokens."""
    whole = Group("", found.sessions, found.turns, found.calls, found.tokens)
    yield _group("total", whole)
    yield from (_group("source", group) for group in found.sources)
    yield from (_group("project", group) for group in found.projects[: limit or None])
    yield from (_group("day", group) for group in found.days[: limit or None])


def tools(found: tuple[ToolUse, ...], limit: int, by_project: bool) -> Iterator[str]:
    """TOOL, PROJECT (`*` is all), CALLS, ERRORS, RATE."""
    for use in found[: limit or None]:
        rows = use.projects if by_project else (("*", use.calls, use.errors),)
        for project, calls, errors in rows:
            yield _line(use.tool, project, calls, errors, f"{rate(calls, errors):.4f}")


def bash(found: tuple[BashUse, ...], limit: int) -> Iterator[str]:
    """BASE, SUB, COUNT, ERRORS, COMPOUND, SUDO."""
    yield from (_line(*use) for use in found[: limit or None])


def tokens(found: TokenReport, limit: int) -> Iterator[str]:
    """KIND, NAME, and tokens."""
    yield _line("total", "", *found.total)
    for dimension, rows in found.by.items():
        for name, spent in shown_of(dimension, rows, limit):
            yield _line(dimension, name, *spent)


def suggestions(found: Suggestions) -> Iterator[str]:
    """CONFIDENCE or `skipped`, RULE or pattern, COUNT, REASON."""
    for one in found.suggestions:
        yield _line(one.confidence, one.rule, one.uses, one.reason)
    for other in found.skipped:
        yield _line("skipped", other.pattern, other.uses, other.reason)


def _group(kind: str, group: Group) -> str:
    counts = (group.sessions, group.turns, group.calls)
    return _line(kind, group.name, *counts, *group.tokens)


def _line(*fields: object) -> str:
    return "\t".join(one_line(str(field)) or "-" for field in fields)
