"""Draws charts as SVG and HTML elements without scripts. The stylesheet has the colours.

Numbers become whole coordinates. Every text is escaped here.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from ccgrep.output.calendar import LEVELS, Week

_STEP, _CELL = 13, 10
_LEFT, _TOP = 30, 18
_WIDTH, _HEIGHT, _AXIS, _BOTTOM = 720, 180, 54, 22
_LABEL, _MIN_LABEL = 66, 84
_MIN_CALENDAR = 60


class Column(NamedTuple):
    """A value with its name, and the text that tells it."""

    name: str
    value: int
    text: str


def calendar(weeks: Sequence[Week]) -> Iterator[str]:
    """Yield a calendar with a square for each day."""
    if not weeks:
        return
    width, height = max(_LEFT + _STEP * len(weeks), _MIN_CALENDAR), _TOP + _STEP * 7
    yield f'<div class="wide">{_svg("Turns a day", width, height, "calendar")}'
    for row, label in ((0, "Mon"), (2, "Wed"), (4, "Fri")):
        yield f'<text x="0" y="{_TOP + row * _STEP + 9}">{label}</text>'
    last = -_MIN_LABEL
    for at, week in enumerate(weeks):
        x = _LEFT + at * _STEP
        if week.month and x - last >= 30:
            last = x
            yield f'<text x="{x}" y="11">{week.month}</text>'
        for row, cell in enumerate(week.cells):
            if cell is not None:
                yield (
                    f'<rect class="l{cell.level}" x="{x}" y="{_TOP + row * _STEP}" '
                    f'width="{_CELL}" height="{_CELL}" rx="2">'
                    f"<title>{escape(cell.day)}: {cell.value:,}</title></rect>"
                )
    yield "</svg></div>"
    squares = "".join(f'<i class="l{level}"></i>' for level in range(LEVELS + 1))
    yield f'<p class="legend">less {squares} more</p>'


def columns(values: Sequence[Column], label: Callable[[int], str]) -> Iterator[str]:
    """Yield a chart with a column for each value, in order. The axis is beside the newest one."""
    most = max((column.value for column in values), default=0)
    if not most:
        return
    top = _nice(most)
    plot, base = _WIDTH - _AXIS, _HEIGHT - _BOTTOM
    yield f'<div class="wide">{_svg("Values by week", _WIDTH, _HEIGHT, "columns")}'
    for part in range(3):
        y = 8 + (base - 8) * part // 2
        yield f'<line x1="0" x2="{plot}" y1="{y}" y2="{y}"/>'
        value = label(top * (2 - part) // 2)
        yield f'<text x="{plot + 6}" y="{y + 4}">{escape(value)}</text>'
    last = -_MIN_LABEL
    for at, column in enumerate(values):
        x, end = (plot * n // len(values) for n in (at, at + 1))
        width = max(min(end - x - 2, 40), 1)
        height = max((base - 8) * column.value // top, 1 if column.value else 0)
        yield (
            f'<rect x="{x + 1}" y="{base - height}" width="{width}" height="{height}" rx="1">'
            f"<title>{escape(column.text)}</title></rect>"
        )
        if x - last >= _MIN_LABEL and x + _LABEL <= plot:
            last = x
            yield f'<text x="{x + 1}" y="{_HEIGHT - 6}">{escape(column.name)}</text>'
    yield "</svg></div>"


def bars(values: Sequence[Column]) -> Iterator[str]:
    """Yield a line for each value: its name, its text and a bar."""
    most = max((column.value for column in values), default=0)
    if not values:
        return
    yield '<ul class="bars">'
    for column in values:
        width = 100 * column.value // most if most else 0
        yield (
            f"<li><span>{escape(column.name)}</span> <b>{escape(column.text)}</b>"
            f'<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
            f'<rect class="rest" width="100" height="4"/>'
            f'<rect width="{max(width, 1) if column.value else 0}" height="4"/></svg></li>'
        )
    yield "</ul>"


def _svg(title: str, width: int, height: int, name: str) -> str:
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">'
    )


def _nice(value: int) -> int:
    """Return an even number that is not below a value, and easy to read."""
    unit = 2
    while True:
        for factor in (1, 2, 3, 4, 5, 6, 8):
            if unit * factor >= value:
                return unit * factor
        unit *= 10
