"""Formats a team's server and what was pushed to it, as text and as JSON fields."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ccgrep.output.formatting import byte_size, iso_time, pluralize, short_age
from ccgrep.team.admin import TeamStatus
from ccgrep.team.history import TeamCount, TeamStats
from ccgrep.team.push import TeamReport
from ccgrep.text import one_line

_MISSING = {
    "pg_textsearch": "of many matches, only the newest are ranked",
    "pg_trgm": "-F and -E compare only the newest 20,000 turns",
    "vector": "--semantic and --hybrid do not work",
}


def init_lines(url: str, missing: Sequence[str]) -> Iterator[str]:
    yield f"{one_line(url)} is a team's server"
    yield from _missing_lines(missing)


def _missing_lines(missing: Sequence[str]) -> Iterator[str]:
    for name in missing:
        yield f"without {name}: {_MISSING[name]}"


def status_lines(status: TeamStatus, now_ms: int) -> Iterator[str]:
    turns, sessions = pluralize(status.turns, "turn"), pluralize(status.sessions, "session")
    yield f"{turns} of {sessions} in {pluralize(status.projects, 'project')}"
    tables = pluralize(status.partitions, "table")
    yield f"{byte_size(status.bytes)} in {tables}, schema version {status.version}"
    yield from _missing_lines(status.missing_extensions)
    for member in status.members:
        right = "" if member.can_push else "\tread only"
        yield f"{one_line(member.role)}\t{one_line(member.project)}{right}"
    yield from _forgotten_lines(status, now_ms)


def _forgotten_lines(status: TeamStatus, now_ms: int) -> Iterator[str]:
    if not status.forgotten:
        return
    line = f"{pluralize(status.forgotten, 'session')} forgotten"
    if status.unpurged:
        yield f"{line}, {status.unpurged} may have bytes on disk until `ccgrep team purge`"
    elif status.purged is not None:
        yield f"{line}, their bytes removed {short_age(status.purged * 1000, now_ms)} ago"


def status_fields(status: TeamStatus) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    purged = status.purged * 1000 if status.purged is not None else None
    return {**fields, "missing_extensions": status.missing_extensions, "purged": iso_time(purged)}


def push_lines(name: str, report: TeamReport, is_dry_run: bool) -> Iterator[str]:
    if report.forgotten:
        yield f"{name}: {pluralize(report.forgotten, 'session')} forgotten"
    verb = "would push" if is_dry_run else "pushed"
    for project, count in sorted(report.projects.items()):
        sessions, turns = pluralize(count.sessions, "session"), pluralize(count.turns, "turn")
        hidden = f", {pluralize(count.redactions, 'secret')} redacted" if count.redactions else ""
        size = byte_size(count.bytes)
        yield f"{name}: {verb} {one_line(project)}: {turns} of {sessions} ({size}){hidden}"
    if not report.projects:
        yield f"{name}: {verb} nothing new"


def push_fields(name: str, report: TeamReport) -> dict[str, Any]:
    return {"remote": name, **msgspec.to_builtins(report)}


def stats_lines(stats: TeamStats, limit: int) -> Iterator[str]:
    """Yield KIND, NAME, SESSIONS, TURNS."""
    yield f"total\t-\t{stats.sessions}\t{stats.turns}"
    for kind, counts in _groups(stats).items():
        for one in counts[: limit or None]:
            yield f"{kind}\t{one_line(one.name) or '-'}\t{one.sessions}\t{one.turns}"


def stats_fields(stats: TeamStats, limit: int) -> dict[str, Any]:
    groups = {
        f"{kind}s": [
            {kind: one.name or None, "sessions": one.sessions, "turns": one.turns}
            for one in counts[: limit or None]
        ]
        for kind, counts in _groups(stats).items()
    }
    return {
        "sessions": stats.sessions,
        "turns": stats.turns,
        "copies": stats.copies,
        "first_turn": iso_time(stats.first),
        "last_turn": iso_time(stats.last),
        **groups,
    }


def _groups(stats: TeamStats) -> dict[str, list[TeamCount]]:
    return {
        "owner": stats.people,
        "source": stats.sources,
        "project": stats.projects,
        "day": stats.days,
        "tool": stats.tools,
    }
