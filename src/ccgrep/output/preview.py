"""Fits a turn into the preview window of `ccgrep pick` and highlights the query. Pure."""

import re
from collections.abc import Iterator, Sequence

from ccgrep.output.style import Style

_ANSI = re.compile(r"(\x1b\[[0-9;]*m)")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w{2,}")
_ROWS_ABOVE = 3
_MIN_SNIPPET_CHARS = 4


def split_rows(lines: Iterator[str]) -> list[str]:
    """Return terminal rows: an element of `lines` may span several."""
    return [row for line in lines for row in line.split("\n")]


def find_snippet(rows: Sequence[str], snippet: str) -> int | None:
    """Return the row where the snippet starts, or None if it is too short or absent.

    White space is collapsed in the snippet, but not in the rows.
    """
    longest = max((part.strip() for part in snippet.split("…")), key=len)
    if len(longest) < _MIN_SNIPPET_CHARS:
        return None
    text, starts = "", []
    for row in rows:
        starts.append(len(text))
        plain = _SPACE.sub(" ", _ANSI.sub("", row)).strip()
        text += f"{plain} " if plain else ""
    at = text.find(longest)
    if at < 0:
        return None
    return max(number for number, start in enumerate(starts) if start <= at)


def scroll_to(rows: list[str], match: int | None, height: int) -> list[str]:
    """Drop rows between the head and the match if the match is below the window."""
    head = rows.index("") + 1 if "" in rows else 0
    if match is None or match < height - _ROWS_ABOVE:
        return rows
    first = max(match - _ROWS_ABOVE, head)
    return [*rows[:head], f"⋮ {first - head} lines above", *rows[first:]]


def highlight_words(row: str, query: str, style: Style) -> str:
    """Highlight the words that start with a word of the query."""
    words = sorted({re.escape(word) for word in _WORD.findall(query)}, key=len, reverse=True)
    if not words:
        return row
    pattern = re.compile(rf"\b(?:{'|'.join(words)})\w*", re.IGNORECASE)
    parts = _ANSI.split(row)
    return "".join(
        part if number % 2 else pattern.sub(lambda found: style.red(found[0]), part)
        for number, part in enumerate(parts)
    )
