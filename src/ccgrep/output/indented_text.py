"""Indents text from transcripts, so that no line of it can look like a line that ccgrep prints.

Whatever starts in the first columns is ccgrep's. On a terminal, long lines are wrapped here: the
terminal would continue them in the first column.
"""

from ccgrep.text import columns

INDENT = "    "
_MIN_COLUMNS = 20
_TAB_COLUMNS = 8
_CLOSING = frozenset("、。，．：；！？）」』】》〉〕］｝・ー…—,.:;!?)]}'\"`*%")
_OPENING = frozenset("（「『【《〈〔［｛([{'\"`*#$")
"""What no row begins or ends with."""


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
    """Split a line into rows."""
    line = line.expandtabs(_TAB_COLUMNS)
    rows: list[str] = []
    start, left = 0, first_room
    while (end := _fit(line, start, left)) < len(line):
        end = _row_end(line, start, end)
        rows.append(line[start:end])
        start = end + (line[end] == " ")
        left = room
    return [*rows, line[start:]]


def _row_end(line: str, start: int, end: int) -> int:
    """Return where to end a row: at a blank or beside a wide character, in its second half.

    Chinese and Japanese have no blanks. Their punctuation stays with the character it belongs to.
    """
    for at in range(end, start + (end - start) // 2, -1):
        if line[at] == " ":
            return at
        is_wide = columns(line[at - 1]) == 2 or columns(line[at]) == 2
        if is_wide and line[at] not in _CLOSING and line[at - 1] not in _OPENING:
            return at
    return end


def _fit(line: str, start: int, room: int) -> int:
    """Return the end of the longest part from `start` that `room` columns can show."""
    end = min(start + room, len(line))
    while columns(line[start:end]) > room:
        end -= 1
    return max(end, min(start + 1, len(line)))
