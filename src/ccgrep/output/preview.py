"""A turn in a small window, so that the match is in view and its words stand out. Pure."""

import re
from collections.abc import Iterator, Sequence

from ccgrep.output.style import Style

_ANSI = re.compile(r"(\x1b\[[0-9;]*m)")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w{2,}")
_ABOVE = 3
_LEAST_CHARS = 4


def rows_of(lines: Iterator[str]) -> list[str]:
    """Lines as a terminal has them: text may have several."""
    return [row for line in lines for row in line.split("\n")]


def row_of(rows: Sequence[str], snippet: str) -> int | None:
    """The row in which a snippet begins, which is the text with its white space collapsed."""
    wanted = max((part.strip() for part in snippet.split("…")), key=len)
    if len(wanted) < _LEAST_CHARS:
        return None
    text, starts = "", []
    for row in rows:
        starts.append(len(text))
        plain = _SPACE.sub(" ", _ANSI.sub("", row)).strip()
        text += f"{plain} " if plain else ""
    at = text.find(wanted)
    if at < 0:
        return None
    return max(number for number, start in enumerate(starts) if start <= at)


def in_view(rows: list[str], match: int | None, height: int) -> list[str]:
    """The rows from a little above the match, if they would not all be seen; the head always."""
    head = rows.index("") + 1 if "" in rows else 0
    if match is None or match < height - _ABOVE:
        return rows
    first = max(match - _ABOVE, head)
    return [*rows[:head], f"⋮ {first - head} lines above", *rows[first:]]


def marked(row: str, query: str, style: Style) -> str:
    """A row in which words that begin like those of the query stand out."""
    words = sorted({re.escape(word) for word in _WORD.findall(query)}, key=len, reverse=True)
    if not words:
        return row
    pattern = re.compile(rf"\b(?:{'|'.join(words)})\w*", re.IGNORECASE)
    parts = _ANSI.split(row)
    return "".join(
        part if number % 2 else pattern.sub(lambda found: style.red(found[0]), part)
        for number, part in enumerate(parts)
    )
