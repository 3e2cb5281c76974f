"""Indents text from transcripts, so that no line of it can look like a line that ccgrep prints.

Whatever starts in the first columns is ccgrep's. On a terminal, long lines are wrapped here: the
terminal would continue them in the first column.
"""

from ccgrep.text import columns

INDENT = "    "
_MIN_COLUMNS = 20
_TAB_COLUMNS = 8


def indent(text: str, width: int | None) -> list[str]:
    """Return the lines of `text`, all indented; wrapped to `width` columns if that is given."""
    return ["" if not row else INDENT + row for row in _rows(text, width, len(INDENT))]


def hang(label: str, text: str, width: int | None) -> list[str]:
    """Return the lines of `text`, of which the first follows `label` and the others are indented.

    The label itself is left out of the result, because it may be coloured.
    """
    first, *others = _rows(text, width, columns(label) + 1)
    return [first, *(INDENT + row if row else "" for row in others)]


def _rows(text: str, width: int | None, first_used: int) -> list[str]:
    lines = text.split("\n")
    if width is None:
        return lines
    room = max(width - len(INDENT), _MIN_COLUMNS)
    rows = _wrap(lines[0], max(width - first_used, _MIN_COLUMNS), room)
    for line in lines[1:]:
        rows += _wrap(line, room, room)
    return rows


def _wrap(line: str, first_room: int, room: int) -> list[str]:
    """Split a line into rows, at a blank if that wastes less than half of a row."""
    line = line.expandtabs(_TAB_COLUMNS)
    rows: list[str] = []
    start, left = 0, first_room
    while (end := _fit(line, start, left)) < len(line):
        blank = line.rfind(" ", start, end + 1)
        if blank > start + (end - start) // 2:
            rows.append(line[start:blank])
            start = blank + 1
        else:
            rows.append(line[start:end])
            start = end
        left = room
    return [*rows, line[start:]]


def _fit(line: str, start: int, room: int) -> int:
    """Return the end of the longest part from `start` that `room` columns can show."""
    end = min(start + room, len(line))
    while columns(line[start:end]) > room:
        end -= 1
    return max(end, min(start + 1, len(line)))
