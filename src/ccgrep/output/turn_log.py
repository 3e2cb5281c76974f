"""Formats the log: days and projects for a terminal, record lines, templates and JSON."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ccgrep.errors import UsageError
from ccgrep.output import record_line
from ccgrep.output.formatting import iso_time, local_time
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.search.turn_log import LoggedTurn
from ccgrep.text import clip, one_line

FIELDS = (
    "ref", "session", "turn", "date", "time", "iso", "project", "path", "source", "prompt",
    "answer",
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ESCAPES = {r"\t": "\t", r"\n": "\n"}
_MAX_TEXT = 300


def record_lines(turns: Iterable[LoggedTurn], is_full_id: bool, style: Style) -> Iterator[str]:
    """Yield a record line for each turn, whose snippet has time, project and prompt."""
    for turn in turns:
        project = last_name(turn.project) or "-"  # plain_snippet makes the whole line safe
        text = f"{local_time(turn.started or None)} {project}: {_text(turn)}"
        snippet = record_line.plain_snippet(text, record_line.WIDTH)
        id = _session(turn, is_full_id)
        yield record_line.format_record(id, turn.place.turn, 1.0, snippet, style)


def grouped_lines(
    turns: Iterable[LoggedTurn], is_full_id: bool, width: int, style: Style
) -> Iterator[str]:
    """Yield the turns below their day and their project. Projects keep the order of the turns."""
    for number, (day, of_day) in enumerate(groupby(turns, _day)):
        if number:
            yield ""
        yield style.bold(day)
        projects: dict[str, list[LoggedTurn]] = {}
        for turn in of_day:
            projects.setdefault(turn.project, []).append(turn)
        for members in projects.values():
            yield f"  {style.green(clip(_project(members[0]), max(width - 2, 2)))}"
            yield from (_short_line(turn, is_full_id, width, style) for turn in members)


def _short_line(turn: LoggedTurn, is_full_id: bool, width: int, style: Style) -> str:
    ref = f"{_session(turn, is_full_id)}:{turn.place.turn}"
    time = local_time(turn.started or None)[-5:] if turn.started else "     "
    room = max(width - len(f"    {time} {ref} "), 10)
    text = record_line.plain_snippet(_text(turn), room)
    return f"    {style.dim(time)} {style.magenta(ref)} {text}".rstrip()


def check_template(template: str) -> None:
    """Raise UsageError if a template has no field, or one that does not exist."""
    names = _PLACEHOLDER.findall(template)
    unknown = next((name for name in names if name not in FIELDS), None)
    if unknown is None and names:
        return
    problem = (
        f"--format '{one_line(template)}' has no field: use at least one of "
        if unknown is None
        else f"unknown field '{{{one_line(unknown)}}}' in --format: use one of "
    )
    raise UsageError(problem + ", ".join(f"{{{field}}}" for field in FIELDS))


def template_lines(turns: Iterable[LoggedTurn], template: str, is_full_id: bool) -> Iterator[str]:
    """Yield the template for each turn, with its fields filled in."""
    for mark, char in _ESCAPES.items():
        template = template.replace(mark, char)
    for turn in turns:
        values = _values(turn, is_full_id)
        yield _PLACEHOLDER.sub(lambda match, values=values: values[match[1]], template)  # type: ignore[misc]


def _values(turn: LoggedTurn, is_full_id: bool) -> dict[str, str]:
    session, when = _session(turn, is_full_id), local_time(turn.started or None)
    date, _, time = when.rpartition(" ") if turn.started else ("-", "", "-")
    return {
        "ref": f"{session}:{turn.place.turn}",
        "session": session,
        "turn": str(turn.place.turn),
        "date": date,
        "time": time,
        "iso": iso_time(turn.started or None) or "-",
        "project": _project(turn),
        "path": one_line(turn.project) or "-",
        "source": turn.source,
        "prompt": clip(one_line(turn.prompt), _MAX_TEXT),
        "answer": clip(one_line(turn.answer), _MAX_TEXT),
    }


def log_fields(turns: Iterable[LoggedTurn]) -> dict[str, Any]:
    return {
        "turns": [
            {
                "session_id": turn.place.session,
                "short_id": turn.short_id,
                "turn": turn.place.turn,
                "timestamp": iso_time(turn.started or None),
                "project": last_name(turn.project),
                "project_path": turn.project,
                "source": turn.source,
                "prompt": turn.prompt,
                "answer": turn.answer,
            }
            for turn in turns
        ]
    }


def _session(turn: LoggedTurn, is_full_id: bool) -> str:
    return turn.place.session if is_full_id else turn.short_id


def _project(turn: LoggedTurn) -> str:
    return one_line(last_name(turn.project)) or "-"


def _day(turn: LoggedTurn) -> str:
    return local_time(turn.started)[:10] if turn.started else "unknown time"


def _text(turn: LoggedTurn) -> str:
    return turn.prompt if turn.prompt.strip() else turn.answer
