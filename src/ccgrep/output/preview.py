"""Fits a turn into the preview window of `ccgrep pick` and highlights the query. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ccgrep.output.style import Style
from ccgrep.search.snippet import Span
from ccgrep.text import columns

FindMatches = Callable[[str], list[Span]]

_ANSI = re.compile(r"(\x1b\[[0-9;]*m)")
_SPACE = re.compile(r"\s+")
_MIN_SNIPPET_CHARS = 4
_ROWS_BELOW = 3
"""A match that is higher above the end of the window needs no scrolling."""


class Window(NamedTuple):
    """The size of the preview window, which wraps long rows."""

    width: int = 80
    height: int = 24


def split_rows(lines: Iterator[str]) -> list[str]:
    """Return terminal rows: an element of `lines` may span several."""
    return [row for line in lines for row in line.split("\n")]


def find_match(rows: Sequence[str], snippet: str, find: FindMatches) -> int | None:
    """Return the first row with a match in the snippet, or None if the snippet is not there.

    White space is collapsed in the snippet, but not in the rows.
    """
    longest = max((part.strip() for part in snippet.split("…")), key=len)
    if len(longest) < _MIN_SNIPPET_CHARS:
        return None
    text, starts = "", []
    for row in rows:
        starts.append(len(text))
        plain = _SPACE.sub(" ", _plain(row)).strip()
        text += f"{plain} " if plain else ""
    at = text.find(longest)
    if at < 0:
        return None
    first, last = (
        max(number for number, start in enumerate(starts) if start <= place)
        for place in (at, at + len(longest) - 1)
    )
    return next((n for n in range(first, last + 1) if find(_plain(rows[n]))), first)


def scroll_to(
    rows: list[str], match: int | None, window: Window, find: FindMatches = lambda _: []
) -> list[str]:
    """Drop rows between the head and the match if the match is below the window."""
    if match is None:
        return rows
    rows = [*rows[:match], _cut_start(rows[match], window, find), *rows[match + 1 :]]
    heights = [-(-columns(_plain(row)) // window.width) or 1 for row in rows]
    if sum(heights[: match + 1]) <= window.height - _ROWS_BELOW:
        return rows
    head = rows.index("") + 1 if "" in rows else 0
    if sum(heights[:head]) > window.height // 3:
        head = 0
    room = (window.height - sum(heights[:head])) // 3
    first = match
    while first > head and sum(heights[first - 1 : match]) <= room:
        first -= 1
    return [*rows[:head], f"⋮ {first - head} lines above", *rows[first:]]


def _cut_start(row: str, window: Window, find: FindMatches) -> str:
    """Return a row that begins shortly before its match, if the match is far within it."""
    plain = _plain(row)
    start = next((span.start for span in find(plain)), 0)
    room = window.width * window.height // 4
    return f"…{plain[start - room :]}" if start > 2 * room else row


def highlight(row: str, find: FindMatches, style: Style) -> str:
    """Highlight the matches in a row that may have colors."""
    return "".join(
        part if number % 2 else _highlight_plain(part, find, style)
        for number, part in enumerate(_ANSI.split(row))
    )


def _highlight_plain(text: str, find: FindMatches, style: Style) -> str:
    shown, end = "", 0
    for span in find(text):
        shown += text[end : span.start] + style.red(text[span.start : span.end])
        end = span.end
    return shown + text[end:]


def _plain(row: str) -> str:
    return _ANSI.sub("", row)
