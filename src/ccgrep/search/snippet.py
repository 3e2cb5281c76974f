"""Snippets: finds the matches in a text and cuts out the text around them. Pure.

Snippets are redacted but may contain control characters: `output` escapes each part.
"""

from __future__ import annotations

from itertools import islice

from ccgrep.fulltext.terms import MAX_WORD_CHARS, cjk_runs, fold
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.query import Unit
from ccgrep.text import find_all, redact_spans, shared_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ccgrep.search.regex import Matcher

    MatchFinder = Callable[[str], list["Span"]]
    """Finds the matches in a text."""

_MAX_SPANS = 100  # of one unit in one text
_MAX_GAP = 1000  # between two words of a phrase
_MAX_NAME_GAP = 100  # between a secret and the name that identifies it
_MAX_SECRET = 8192
_MAX_KEY = 32768
_KEYS = (("-----BEGIN ", "-----END "), ("Private-Lines:", "Private-MAC:"))
"""How a private key of several lines begins and ends, in PEM and of PuTTY."""


class Span(NamedTuple):
    """A match of the unit with number `word`, in characters."""

    start: int
    end: int
    word: int = 0


class MatchedText(NamedTuple):
    """A kind of text of a turn with the matches in it."""

    kind: str
    text: str
    spans: list[Span]


class SnippetPart(NamedTuple):
    """A match, or the text between two matches."""

    text: str
    is_match: bool


def word_finder(units: Sequence[Unit]) -> MatchFinder:
    """Return a function that finds the words of a query, in any inflected form."""
    finders = [_UnitFinder(unit) for unit in units]

    def find(text: str) -> list[Span]:
        found: list[Span] = []
        lower = _if_same_length(text.lower(), text)
        for number, finder in enumerate(finders):
            spans = list(islice(finder.find(text, lower), _MAX_SPANS))
            if not spans and not text.isascii():
                folded = _if_same_length(fold(text), text)
                spans = list(islice(finder.find(folded, folded.lower()), _MAX_SPANS))
            found += [Span(start, end, number) for start, end in spans]
        kept: list[Span] = []
        for span in sorted(found):
            if not kept or span.start >= kept[-1].end:
                kept.append(span)
        return kept

    return find


def _if_same_length(changed: str, text: str) -> str:
    """Return `changed` if its offsets are those of `text`, else `text`."""
    return changed if len(changed) == len(text) else text


class _UnitFinder:
    """Finds one unit of a query.

    It searches for the prefix that all forms of the first word share, then checks the rest:
    `flaki` and `flaky` share `flak`.
    """

    def __init__(self, unit: Unit) -> None:
        pairs = zip(unit.stems, unit.words, strict=False)
        self._prefixes = [word[: max(shared_length(stem, word), 1)] for stem, word in pairs]
        self._runs = cjk_runs(fold(unit.typed))

    def find(self, text: str, lower: str) -> Iterator[tuple[int, int]]:
        first = self._prefixes[0] if self._prefixes else ""
        at = lower.find(first) if first else -1
        while at >= 0:
            end = self._end(text, lower, at) if _starts_word(text, at) else 0
            if end:
                yield at, end
            at = lower.find(first, end or at + 1)
        for run in self._runs:
            yield from find_all(run, text)

    def _end(self, text: str, lower: str, start: int) -> int:
        """Return where the unit that starts at `start` ends, or 0 if there is none."""
        end = start
        for prefix in self._prefixes:
            at = lower.find(prefix, end, end + _MAX_GAP + len(prefix))
            if at < 0 or any(map(str.isalnum, text[end:at])):
                return 0
            end = at + len(prefix)
            for char in text[end : end + MAX_WORD_CHARS]:
                if not char.isalnum():
                    break
                end += 1
        return end


def _starts_word(text: str, at: int) -> bool:
    """Return whether a word starts at `at`, also within camelCase."""
    if at == 0 or not text[at - 1].isalnum():
        return True
    return text[at].isupper() and not text[at - 1].isupper()


def pattern_finder(matcher: Matcher, finds_all: bool) -> MatchFinder:
    """Return a function that finds the matches of an exact pattern, all or the first 100."""

    def find(text: str) -> list[Span]:
        data = text.encode("utf-8", "replace")
        found = []
        at_byte = at_char = 0
        for start, end in islice(matcher.spans(data), None if finds_all else _MAX_SPANS):
            at_char += len(data[at_byte:start].decode("utf-8", "replace"))
            length = len(data[start:end].decode("utf-8", "replace"))
            found.append(Span(at_char, at_char + length))
            at_byte, at_char = end, at_char + length
        return found

    return find


def best_window(spans: Sequence[Span], width: int) -> tuple[int, int]:
    """Return where the first window of `width` with the most different words starts, and their
    number."""
    best, most = 0, 0
    for position, span in enumerate(spans):
        words = {s.word for s in spans[position : position + 50] if s.end <= span.start + width}
        if len(words) > most:
            best, most = span.start, len(words)
    return best, most


def make_snippet(text: str, spans: Sequence[Span], width: int) -> list[SnippetPart]:
    """Return about `width` characters around the best matches, redacted."""
    first, _ = best_window(spans, width * 3 // 4)
    start = _word_start(text, max(first - width // 4, 0)) if spans else 0
    end = start + 2 * width
    parts = [SnippetPart("…", False)] if start else []
    low, high = _redaction_range(text, start, end)
    near = [(span.start - low, span.end - low) for span in spans if start <= span.start < end]
    text, ((at, end), *matches) = redact_spans(text[low:high], [(start - low, end - low), *near])
    for first, last in matches:
        if first < at or last > end:
            continue
        parts += [SnippetPart(text[at:first], False), SnippetPart(text[first:last], True)]
        at = last
    return [*parts, SnippetPart(text[at:end], False)]


def _redaction_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a wider range that has every secret of the given range whole, with its name."""
    low, high = max(start - _MAX_NAME_GAP, 0), end + _MAX_NAME_GAP
    low = max(text.rfind(space, max(low - _MAX_SECRET, 0), low) for space in " \n")
    low = max(low, start - _MAX_SECRET, 0)
    ends = [text.find(space, high, high + _MAX_SECRET) for space in " \n"]
    high = min((at for at in ends if at >= 0), default=high + _MAX_SECRET)
    for key_begin, key_end in _KEYS:
        if (key := text.rfind(key_begin, max(start - _MAX_KEY, 0), start)) >= 0:
            low = min(low, key)
        if (key := text.rfind(key_begin, low, end)) >= 0:
            high = max(high, text.find(key_end, key, key + _MAX_KEY) + _MAX_NAME_GAP)
    return low, high


def _word_start(text: str, at: int) -> int:
    """Return where the next word starts, or `at` if that is not near."""
    if at == 0:
        return 0
    for position in range(at, min(at + 20, len(text))):
        if text[position - 1].isspace() and not text[position].isspace():
            return position
    return at
