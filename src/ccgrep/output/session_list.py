"""Formats sessions for `ccgrep list`, one line each."""

from collections.abc import Iterator

from ccgrep.ops.list import ListedSession
from ccgrep.output.formatting import pluralize, short_age
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.text import clip, columns, one_line

_AGE_COLUMNS = 4
_PROJECT_COLUMNS = 20
_MAX_INDENT = 10


def list_lines(
    sessions: list[ListedSession], now_ms: int, width: int | None, style: Style
) -> Iterator[str]:
    """Yield rows aligned to `width` columns, or separated by tabs if `width` is None."""
    rows = [_fields(item, now_ms) for item in sessions]
    if width is None:
        yield from ("\t".join(fields) for fields in rows)
        return
    ids, projects, numbers = (
        max((columns(row[at]) for row in rows), default=0) for at in (0, 2, 3)
    )
    left = max(width - ids - numbers - _AGE_COLUMNS - 4, 2)  # 4 blanks separate 5 columns
    projects = min(projects, _PROJECT_COLUMNS, left // 3)
    for id, age, project, turns, title in rows:
        name = clip(project, projects) if projects else ""
        name += " " * (projects - columns(name))
        when, short_title = f"{age:>{_AGE_COLUMNS}}", clip(title, left - projects)
        yield (
            f"{id:<{ids}} {style.dim(when)} {style.green(name)} {turns:>{numbers}} {short_title}"
        ).rstrip()


def _fields(item: ListedSession, now_ms: int) -> tuple[str, str, str, str, str]:
    session = item.row.session
    count = item.subagents
    parent = f" of {one_line(session.parent)[:8]}" if session.parent and not item.depth else ""
    labels = {
        f"+{pluralize(count, 'sub-agent')}": count > 0,
        f"sub-agent{parent}": session.kind == "subagent",
        "fork": session.kind == "main" and bool(session.forked_from or item.depth),
        "machine": session.kind == "worker",
        "document": session.kind == "document",
        "prompts only": session.is_prompt_only,
        "recovered": session.is_recovered,
        "gone": item.row.is_gone and session.has_transcript and not item.row.provenance,
        f"on {one_line(item.machine)}": item.row.provenance is not None,
    }
    title = clip(one_line(session.title), 200)
    if any(labels.values()):
        shown = ", ".join(label for label, applies in labels.items() if applies)
        title = f"({shown}) {title}".rstrip()
    if item.depth:
        title = f"{'  ' * min(item.depth - 1, _MAX_INDENT)}└─ {title}"
    project = one_line(last_name(session.project)) or "-"
    return item.short_id, short_age(session.ended, now_ms), project, str(session.turns), title
