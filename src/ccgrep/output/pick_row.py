"""Formats the rows that `ccgrep pick` hands to fzf.

A row is a record line, a tab, and what fzf shows: age, project and the text with the match in its
middle. fzf returns the whole row. The record line leads to the turn.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ccgrep.output.formatting import STAR, short_age
from ccgrep.output.record_line import join_parts
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.search.snippet import SnippetPart
from ccgrep.text import clip, columns, make_visible, one_line

SEPARATOR = "\t"
_AGE_COLUMNS = 4
_PROJECT_COLUMNS = 14
_MIN_TEXT_COLUMNS = 20


class PickPage(NamedTuple):
    """The columns of fzf's list, and the time there."""

    width: int
    now_ms: int
    style: Style

    @property
    def text_width(self) -> int:
        return max(self.width - _AGE_COLUMNS - _PROJECT_COLUMNS - 2, _MIN_TEXT_COLUMNS)


def format_row(
    record: str,
    project: str,
    started: int,
    parts: Sequence[SnippetPart],
    page: PickPage,
    is_marked: bool = False,
) -> str:
    name = clip(one_line(last_name(project)) or "-", _PROJECT_COLUMNS)
    name += " " * (_PROJECT_COLUMNS - columns(name))
    age = f"{short_age(started or None, page.now_ms):>{_AGE_COLUMNS}}"
    width = page.text_width - 2 * is_marked
    text = f"{STAR} " * is_marked + join_parts(_centre(parts, width), width, page.style)
    return f"{record}{SEPARATOR}{page.style.dim(age)} {page.style.green(name)} {text}"


def record_of(row: str) -> str:
    """Return the record line of a row."""
    return row.partition(SEPARATOR)[0]


def _centre(parts: Sequence[SnippetPart], width: int) -> Sequence[SnippetPart]:
    """Cut the text before the first match to half of the width, or to what the rest leaves."""
    first = next((number for number, part in enumerate(parts) if part.is_match), 0)
    text = "".join(part.text for part in parts[:first])
    gap = " " if text[-1:].isspace() else ""
    before = make_visible(" ".join(text.split()))
    rest = columns("".join(part.text for part in parts[first:]))
    room = max(width // 2, width - rest) - 2  # for the ellipsis and a space
    if columns(before) <= room:
        return parts
    cut = next(at for at in range(len(before) + 1) if columns(before[at:]) <= room)
    return [SnippetPart(f"…{before[cut:].lstrip()}{gap}", False), *parts[first:]]
