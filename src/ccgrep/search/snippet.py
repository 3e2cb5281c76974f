"""Where in a text the match is, and a piece of text around it. Pure.

What comes out is not yet safe to print: `output` escapes it piece by piece.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ccgrep.index.terms import fold
from ccgrep.search.query import Unit
from ccgrep.search.regex import Matcher

_MAX_SPANS = 500
_BEGINNING = r"(?:(?<![^\W_])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
"""A word begins behind what is no letter or digit, or at a capital in camelCase."""


class Span(NamedTuple):
    start: int
    end: int
    word: int = 0


class Piece(NamedTuple):
    """A part of a snippet; a match or what stands between."""

    text: str
    is_match: bool


class Marks(Protocol):
    """Says where in a text the matches are."""

    def spans(self, text: str) -> list[Span]: ...


class WordMarks:
    """The words of a query, in whatever form they stand in the text."""

    def __init__(self, units: Sequence[Unit]) -> None:
        parts = [f"({_source(unit)})" for unit in units]
        self._pattern = re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def spans(self, text: str) -> list[Span]:
        if self._pattern is None:
            return []
        folded = fold(text)
        found = []
        for match in self._pattern.finditer(folded if len(folded) == len(text) else text):
            if match.end() > match.start():
                found.append(Span(match.start(), match.end(), match.lastindex or 0))
            if len(found) == _MAX_SPANS:
                break
        return found


def _source(unit: Unit) -> str:
    """A pattern that finds a unit: its words in order, each by what its forms share."""
    words = [
        _BEGINNING + re.escape(_shared(stem, token)) + r"\w*"
        for stem, token in zip(unit.stems, unit.tokens, strict=False)
    ]
    runs = [re.escape(run) for run in re.findall(r"[^\x00-\u2e7f]+", fold(unit.typed))]
    joined = r"[\W_]*".join(words)
    return "|".join([source for source in (joined, *runs) if source]) or r"(?!)"


def _shared(stem: str, token: str) -> str:
    """What `flaki` and `flaky` have in common."""
    number = 0
    for a, b in zip(stem, token, strict=False):
        if a != b:
            break
        number += 1
    return token[: max(number, 1)]


class PatternMarks:
    """The matches of an exact pattern."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def spans(self, text: str) -> list[Span]:
        data = text.encode("utf-8", "replace")
        found = []
        at_byte = at_char = 0
        for start, end in self._matcher.spans(data):
            at_char += len(data[at_byte:start].decode("utf-8", "replace"))
            length = len(data[start:end].decode("utf-8", "replace"))
            found.append(Span(at_char, at_char + length))
            at_byte, at_char = end, at_char + length
        return found


def best_start(spans: Sequence[Span], width: int) -> tuple[int, int]:
    """Where the window of `width` characters with the most different words begins, and how
    many it has. The first of several such windows."""
    best, most = 0, 0
    for position, span in enumerate(spans):
        words = {s.word for s in spans[position : position + 50] if s.end <= span.start + width}
        if len(words) > most:
            best, most = span.start, len(words)
    return best, most


def around(text: str, spans: Sequence[Span], width: int) -> list[Piece]:
    """About `width` characters around the matches, marked."""
    first, _ = best_start(spans, width * 3 // 4)
    start = _word_start(text, max(first - width // 4, 0)) if spans else 0
    end = start + 2 * width
    pieces = [Piece("…", False)] if start else []
    at = start
    for span in spans:
        if span.start < at or span.end > end:
            continue
        pieces += [Piece(text[at : span.start], False), Piece(text[span.start : span.end], True)]
        at = span.end
    return [*pieces, Piece(text[at:end], False)]


def _word_start(text: str, at: int) -> int:
    """The nearest beginning of a word at or behind `at`, if there is one soon."""
    if at == 0:
        return 0
    found = re.compile(r"\s+").search(text, at - 1, at + 20)
    return found.end() if found else at
