"""Lays out days as the columns of a calendar: a column per week, Monday first. Pure."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from ccgrep.output.style import Style

LEVELS = 4
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_SHADES = "·░▒▓█"
_LABELS = ("Mon", "", "Wed", "", "Fri", "", "")
_LABEL_COLUMNS = 6
_LABEL_WEEKS = 4  # as wide as the name of a month and a space
_MAX_WEEKS = 53


class Cell(NamedTuple):
    """A day with its value, and a level from 0 (nothing) to LEVELS."""

    day: str
    value: int
    level: int


class Week(NamedTuple):
    """Seven cells, None beyond the first and last day, and the name of a month above them."""

    cells: tuple[Cell | None, ...]
    month: str


def layout(values: Mapping[str, int], weeks: int) -> list[Week]:
    """Return the last `weeks` weeks up to the last day of `values`, from the first day on."""
    days = sorted(day for day in values if day)
    if not days:
        return []
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    monday = last - timedelta(days=last.weekday() + 7 * (weeks - 1))
    monday = max(monday, first - timedelta(days=first.weekday()))
    most = max((values[d] for d in days if d >= monday.isoformat()), default=0)
    found = []
    while monday <= last:
        week = [monday + timedelta(days=number) for number in range(7)]
        cells = tuple(_cell(day, values, most) if first <= day <= last else None for day in week)
        starts = next((day for day in week if day.day == 1), None)
        found.append(Week(cells, _MONTHS[starts.month - 1] if starts else ""))
        monday += timedelta(days=7)
    return _name_first_month(found)


def _name_first_month(weeks: list[Week]) -> list[Week]:
    """Return the weeks with the month of the first one, unless the next month leaves no room."""
    if any(week.month for week in weeks[:_LABEL_WEEKS]):
        return weeks
    first = next(cell for cell in weeks[0].cells if cell is not None)
    month = _MONTHS[int(first.day[5:7]) - 1]
    return [weeks[0]._replace(month=month), *weeks[1:]]


def _cell(day: date, values: Mapping[str, int], most: int) -> Cell:
    name = day.isoformat()
    value = values.get(name, 0)
    return Cell(name, value, -(-value * LEVELS // most) if value > 0 and most else 0)


def heat_map(title: str, values: Mapping[str, int], width: int, style: Style) -> Iterator[str]:
    """Yield a calendar for a terminal: a character per day, the darker the more."""
    weeks = layout(values, min(max(width - _LABEL_COLUMNS, 1), _MAX_WEEKS))
    if not weeks:
        return
    yield ""
    yield style.bold(title)
    yield f"{'':{_LABEL_COLUMNS}}{_month_line(weeks)}".rstrip()
    for number, label in enumerate(_LABELS):
        days = (week.cells[number] for week in weeks)
        shades = "".join(_SHADES[cell.level] if cell else " " for cell in days)
        yield f"  {style.dim(f'{label:<3}')} {style.cyan(shades.rstrip())}".rstrip()


def _month_line(weeks: list[Week]) -> str:
    line = ""
    for at, week in enumerate(weeks):
        fits = not at or at + len(week.month) <= len(weeks)
        if week.month and len(line) < max(at, 1) and fits:
            line = line.ljust(at) + week.month
    return line
