"""Where in a text the match is, and a piece of text around it. Pure.

What comes out has no secrets, but is not yet safe to print: `output` escapes it piece by piece.
"""

from __future__ import annotations

from itertools import islice

from ccgrep.fulltext.terms import MAX_WORD_CHARS, cjk_runs, fold
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.search.query import Unit
from ccgrep.text import redact_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccgrep.search.regex import Matcher

MAX_SPANS = 100  # of one word in one text
_MAX_GAP = 1000  # between two words of a phrase
_NAMED_CHARS = 100  # between a secret and what tells that it is one
_MAX_WORD = 8192
_MAX_KEY = 32768
_KEY_BEGIN, _KEY_END = "-----BEGIN ", "-----END "


class Span(NamedTuple):
    start: int
    end: int
    word: int = 0


class Marked(NamedTuple):
    """A kind of text of a turn, and where the matches are in it."""

    kind: str
    text: str
    spans: list[Span]


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
        self._words = [_Words(unit) for unit in units]

    def spans(self, text: str) -> list[Span]:
        found: list[Span] = []
        lower = _same_length(text.lower(), text)
        for number, words in enumerate(self._words):
            spans = list(islice(words.find(text, lower), MAX_SPANS))
            if not spans and not text.isascii():
                folded = _same_length(fold(text), text)
                spans = list(islice(words.find(folded, folded.lower()), MAX_SPANS))
            found += [Span(start, end, number) for start, end in spans]
        return _apart(sorted(found))


def _same_length(changed: str, text: str) -> str:
    """`changed` if its places are those of `text`."""
    return changed if len(changed) == len(text) else text


class _Words:
    """Finds one unit of a query: by what the forms of its first word share, which is quick,
    and then by all that must follow."""

    def __init__(self, unit: Unit) -> None:
        self._words = [_shared(s, t) for s, t in zip(unit.stems, unit.words, strict=False)]
        self._runs = cjk_runs(fold(unit.typed))

    def find(self, text: str, lower: str) -> Iterator[tuple[int, int]]:
        first = self._words[0] if self._words else ""
        at = lower.find(first) if first else -1
        while at >= 0:
            end = self._end(text, lower, at) if _begins_word(text, at) else 0
            if end:
                yield at, end
            at = lower.find(first, end or at + 1)
        for run in self._runs:
            at = text.find(run)
            while at >= 0:
                yield at, at + len(run)
                at = text.find(run, at + len(run))

    def _end(self, text: str, lower: str, start: int) -> int:
        """Where the unit that begins at `start` ends; 0 if it is another one."""
        end = start
        for word in self._words:
            at = lower.find(word, end, end + _MAX_GAP + len(word))
            if at < 0 or any(map(str.isalnum, text[end:at])):
                return 0
            end = at + len(word)
            for char in text[end : end + MAX_WORD_CHARS]:
                if not char.isalnum():
                    break
                end += 1
        return end


def _begins_word(text: str, at: int) -> bool:
    """Behind what is no letter or digit, or at a capital in camelCase."""
    if at == 0 or not text[at - 1].isalnum():
        return True
    return text[at].isupper() and not text[at - 1].isupper()


def _apart(spans: list[Span]) -> list[Span]:
    """Spans that do not overlap, the first ones kept."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


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

    def __init__(self, matcher: Matcher, limit: int | None = MAX_SPANS) -> None:
        self._matcher = matcher
        self._limit = limit

    def spans(self, text: str) -> list[Span]:
        data = text.encode("utf-8", "replace")
        if len(data) == len(text):
            return [Span(*span) for span in islice(self._matcher.spans(data), self._limit)]
        found = []
        at_byte = at_char = 0
        for start, end in islice(self._matcher.spans(data), self._limit):
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
    """About `width` characters around the matches, marked and without secrets."""
    first, _ = best_start(spans, width * 3 // 4)
    start = _word_start(text, max(first - width // 4, 0)) if spans else 0
    end = start + 2 * width
    pieces = [Piece("…", False)] if start else []
    low, high = _beyond(text, start, end)
    near = [(span.start - low, span.end - low) for span in spans if start <= span.start < end]
    text, ((at, end), *matches) = redact_spans(text[low:high], [(start - low, end - low), *near])
    for first, last in matches:
        if first < at or last > end:
            continue
        pieces += [Piece(text[at:first], False), Piece(text[first:last], True)]
        at = last
    return [*pieces, Piece(text[at:end], False)]


def _beyond(text: str, start: int, end: int) -> tuple[int, int]:
    """Where to look for secrets that reach into a part: words with what names them, whole keys."""
    low, high = max(start - _NAMED_CHARS, 0), end + _NAMED_CHARS
    low = max(text.rfind(space, max(low - _MAX_WORD, 0), low) for space in " \n")
    low = max(low, start - _MAX_WORD, 0)
    ends = [text.find(space, high, high + _MAX_WORD) for space in " \n"]
    high = min((at for at in ends if at >= 0), default=high + _MAX_WORD)
    if (key := text.rfind(_KEY_BEGIN, max(start - _MAX_KEY, 0), start)) >= 0:
        low = min(low, key)
    if (key := text.rfind(_KEY_BEGIN, low, end)) >= 0:
        high = max(high, text.find(_KEY_END, key, key + _MAX_KEY) + _NAMED_CHARS)
    return low, high


def _word_start(text: str, at: int) -> int:
    """The nearest beginning of a word at or behind `at`, if there is one soon."""
    if at == 0:
        return 0
    for place in range(at, min(at + 20, len(text))):
        if text[place - 1].isspace() and not text[place].isspace():
            return place
    return at
