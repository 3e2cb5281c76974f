"""Wraps the parts of a snippet into terminal rows. Pure.

A row is at most a number of columns wide. It ends at a space, or anywhere in Chinese, Japanese and
Korean text and in words that are longer than a row. Line breaks of the text stay.
"""

from collections.abc import Iterable, Iterator

from ccgrep.search.snippet import SnippetPart
from ccgrep.text import columns, make_visible

Row = list[SnippetPart]
_Cell = tuple[str, bool]
"""A character, and whether it is part of a match."""
_TAB = "    "


def wrap(parts: Iterable[SnippetPart], width: int) -> list[Row]:
    """Return the rows of redacted parts, safe to print, without blank ones."""
    return [_join(row) for line in _lines(parts) for row in _wrap_line(line, width)]


def row_text(row: Row) -> str:
    return "".join(part.text for part in row)


def best_rows(rows: list[Row], count: int) -> slice:
    """Return the first `count` rows in sequence that show the most different matches."""
    matches = [{part.text.lower() for part in row if part.is_match} for row in rows]
    starts = range(max(len(rows) - count, 0) + 1)
    best = max(starts, key=lambda start: len(set().union(*matches[start : start + count])))
    if best:  # Begin with a match if the rows before have none.
        best = next((at for at in starts[best:] if matches[at]), best)
    return slice(best, best + count)


def _lines(parts: Iterable[SnippetPart]) -> Iterator[list[_Cell]]:
    line: list[_Cell] = []
    for part in parts:
        text = part.text.replace("\r\n", "\n").removesuffix("\r")
        for char in make_visible(text).replace("\t", _TAB):
            if char == "\n":
                yield line
                line = []
            else:
                line.append((char, part.is_match))
    yield line


def _wrap_line(line: list[_Cell], width: int) -> Iterator[list[_Cell]]:
    row: list[_Cell] = []
    used = space = 0  # columns, and where the row can end instead of within a word
    for cell in line:
        size = columns(cell[0])
        if used + size > width:
            end = space or len(row)
            if cell[0] == " " or size == 2:
                end = len(row)
            yield from _trim(row[:end])
            row = _strip_start(row[end:])
            used, space = sum(columns(char) for char, _ in row), 0
        if row or cell[0] != " ":
            row.append(cell)
            used += size
        if cell[0] == " " or size == 2:
            space = len(row)
    yield from _trim(row)


def _strip_start(row: list[_Cell]) -> list[_Cell]:
    first = next((at for at, (char, _) in enumerate(row) if char != " "), len(row))
    return row[first:]


def _trim(row: list[_Cell]) -> Iterator[list[_Cell]]:
    """Yield the row without spaces at its end, if anything is left."""
    while row and row[-1][0] == " ":
        row = row[:-1]
    if row:
        yield row


def _join(row: list[_Cell]) -> Row:
    parts: Row = []
    for char, is_match in row:
        if parts and parts[-1].is_match == is_match:
            parts[-1] = SnippetPart(parts[-1].text + char, is_match)
        else:
            parts.append(SnippetPart(char, is_match))
    return parts
