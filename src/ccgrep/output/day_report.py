"""Formats the reports of days: text, Markdown and JSON."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ccgrep.blame.day_report import ChangedFile, DayReport
from ccgrep.output.formatting import format_usd, local_time, pluralize
from ccgrep.output.record_line import plain_snippet
from ccgrep.output.stats_json import to_usd
from ccgrep.output.style import Style
from ccgrep.output.turn_log import log_fields
from ccgrep.paths import last_name
from ccgrep.search.turn_log import LoggedTurn
from ccgrep.text import clip, one_line

_MAX_FILES = 20
_MAX_WIDTH = 200
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>#|~])")


def day_of(time_ms: int) -> str:
    """Return the local day of a time, as the log names it."""
    return local_time(time_ms)[:10] if time_ms else ""


def report_lines(reports: Iterable[DayReport], width: int | None, style: Style) -> Iterator[str]:
    """Yield each day, and below it what was done in each project."""
    room = min(width or _MAX_WIDTH, _MAX_WIDTH)
    for number, (day, of_day) in enumerate(groupby(reports, lambda report: report.day)):
        if number:
            yield ""
        yield style.bold(day or "unknown time")
        for report in of_day:
            yield f"  {style.green(_project(report))}  {style.dim(_facts(report))}"
            for turn in report.asked:
                head = f"    asked    {_time(turn)} "
                ref = _ref(turn)
                text = _clip(_text(turn), room - len(head) - len(ref) - 1)
                yield f"{style.dim(head)}{style.magenta(ref)} {text}"
            for path, actions in _files(report):
                yield f"{style.dim('    changed')}  {_clip(path, room - 30)}{actions}"
            for commit in report.commits:
                text = _clip(commit.subject, room - 24)
                yield f"{style.dim('    commit')}   {style.cyan(commit.sha or '-')} {text}"


def markdown_lines(reports: Iterable[DayReport]) -> Iterator[str]:
    """Yield a stand-up report in Markdown."""
    for number, (day, of_day) in enumerate(groupby(reports, lambda report: report.day)):
        if number:
            yield ""
        yield f"# {day or 'unknown time'}"
        for report in of_day:
            yield from ("", f"## {_inline(_project(report))}", "", f"{_facts(report)}")
            asked = ((_clip(_text(turn), 120), _ref(turn)) for turn in report.asked)
            yield from _list("Asked", [f"{_inline(text)} (`{ref}`)" for text, ref in asked])
            yield from _list("Changed", [f"{_code(p)}{actions}" for p, actions in _files(report)])
            commits = [
                f"{f'`{commit.sha}` ' if commit.sha else ''}{_inline(_clip(commit.subject, 120))}"
                for commit in report.commits
            ]
            yield from _list("Committed", commits)


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"**{title}**", "", *(f"- {item}" for item in items))


def day_fields(reports: Iterable[DayReport]) -> dict[str, Any]:
    return {
        "days": [
            {
                "day": report.day or None,
                "project": last_name(report.project),
                "project_path": report.project,
                "asked": log_fields(report.asked)["turns"],
                "agent_turns": report.agent_turns,
                "files": [{"path": f.path, "actions": f.actions} for f in report.files],
                "commits": [c._asdict() for c in report.commits],
                "usd": to_usd(report.cost) if report.cost is not None else None,
                "unpriced": report.unpriced,
            }
            for report in reports
        ]
    }


def _facts(report: DayReport) -> str:
    facts = [pluralize(len(report.asked), "turn")]
    if report.agent_turns:
        facts.append(pluralize(report.agent_turns, "turn of sub-agents", "turns of sub-agents"))
    facts.append(f"{pluralize(len(report.files), 'file')} changed")
    facts.append(pluralize(len(report.commits), "commit"))
    if report.cost is not None:
        facts.append(_price(report.cost, report.unpriced))
    return ", ".join(facts)


def _price(cost: int, unpriced: Sequence[str]) -> str:
    names = ", ".join(one_line(model) or "an unknown model" for model in unpriced)
    if not names:
        return f"${format_usd(cost)}"
    has = "has" if len(unpriced) == 1 else "have"
    known = f"${format_usd(cost)} without {names}, which" if cost else f"no cost, as {names}"
    return f"{known} {has} no price"


def _files(report: DayReport) -> Iterator[tuple[str, str]]:
    """Yield the files, below the project by their relative path, with what was done."""
    for file in report.files[:_MAX_FILES]:
        yield _relative(file, report.project), f" ({', '.join(file.actions)})"
    if len(report.files) > _MAX_FILES:
        yield f"and {pluralize(len(report.files) - _MAX_FILES, 'more file')}", ""


def _relative(file: ChangedFile, project: str) -> str:
    top = project.rstrip(os.sep) + os.sep
    return one_line(file.path.removeprefix(top) if project else file.path)


def _project(report: DayReport) -> str:
    return one_line(last_name(report.project)) or "-"


def _ref(turn: LoggedTurn) -> str:
    return f"{turn.short_id}:{turn.place.turn}"


def _time(turn: LoggedTurn) -> str:
    return local_time(turn.started)[-5:] if turn.started else "     "


def _text(turn: LoggedTurn) -> str:
    return turn.prompt if turn.prompt.strip() else turn.answer


def _clip(text: str, width: int) -> str:
    return clip(plain_snippet(text, max(width, 10)), max(width, 10))


def _inline(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", text)


def _code(text: str) -> str:
    return f"`{text}`" if "`" not in text else _inline(text)
