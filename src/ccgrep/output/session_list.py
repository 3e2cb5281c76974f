"""Formats sessions for `ccgrep list`, one line each."""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.ops.list import ListedSession
from ccgrep.output.formatting import STAR, pluralize, short_age
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.text import clip, columns, one_line

_AGE_COLUMNS = 4
_PROJECT_COLUMNS = 20
_MACHINE_COLUMNS = 12
_MAX_INDENT = 10


class _Line(NamedTuple):
    """The fields of a session. `machine` is empty unless the list has sessions of another one."""

    id: str
    age: str
    project: str
    turns: str
    title: str
    machine: str

    def join(self) -> str:
        return "\t".join(self if self.machine else self[:-1])


def list_lines(
    sessions: list[ListedSession], now_ms: int, width: int | None, style: Style
) -> Iterator[str]:
    """Yield rows aligned to `width` columns, or separated by tabs if `width` is None."""
    has_machines = any(item.row.provenance for item in sessions)
    lines = [_make_line(item, now_ms, has_machines) for item in sessions]
    if width is None:
        yield from map(_Line.join, lines)
        return
    ids, projects, numbers, machines = (
        max((columns(line[at]) for line in lines), default=0) for at in (0, 2, 3, 5)
    )
    left = max(width - ids - numbers - _AGE_COLUMNS - 4, 2)  # 4 blanks separate 5 columns
    projects = min(projects, _PROJECT_COLUMNS, left // 3)
    machines = min(machines, _MACHINE_COLUMNS, left // 4)
    left -= projects + machines + (machines > 0)
    for line in lines:
        when = style.dim(f"{line.age:>{_AGE_COLUMNS}}")
        machine = f" {_fit(line.machine, machines)}" if machines else ""
        project = style.green(_fit(line.project, projects))
        row = f"{line.id:<{ids}} {when}{machine} {project} {line.turns:>{numbers}}"
        yield f"{row} {clip(line.title, left)}".rstrip()


def _fit(text: str, width: int) -> str:
    """Return text cut or filled with blanks to a width."""
    short = clip(text, width) if width else ""
    return short + " " * (width - columns(short))


def _make_line(item: ListedSession, now_ms: int, has_machines: bool) -> _Line:
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
    }
    title = clip(one_line(session.title), 200)
    if any(labels.values()):
        shown = ", ".join(label for label, applies in labels.items() if applies)
        title = f"({shown}) {title}".rstrip()
    if item.tags is not None:
        title = f"{STAR} {title}".rstrip()
    if item.depth:
        title = f"{'  ' * min(item.depth - 1, _MAX_INDENT)}└─ {title}"
    return _Line(
        item.short_id,
        short_age(session.ended, now_ms),
        one_line(last_name(session.project)) or "-",
        str(session.turns),
        title,
        (one_line(item.machine) or "-") if has_machines else "",
    )
