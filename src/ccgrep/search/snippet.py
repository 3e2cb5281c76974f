"""Snippets: finds the matches in a text and cuts out the text around them. Pure.

Snippets are redacted but may contain control characters: `output` escapes each part.
"""

from __future__ import annotations

from itertools import islice

from ccgrep.fulltext.terms import MAX_WORD_CHARS, blank_cjk, camel_starts, cjk_runs, fold
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.as_typed import has_any
from ccgrep.search.query import Unit, shared_prefix
from ccgrep.text import columns, find_all, redact_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ccgrep.search.query import Analyze
    from ccgrep.search.regex import Matcher

    MatchFinder = Callable[[str], list["Span"]]
    """Finds the matches in a text."""

_MAX_SPANS = 100  # of one unit in one text
_MAX_GAP = 1000  # between two words of a phrase
_STEP = 64  # characters to look at together
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


def word_finder(units: Sequence[Unit], stems: Analyze) -> MatchFinder:
    """Return a function that finds the words of a query, in any inflected form.

    `stems` is the analysis of the index: a word is marked if the index would match it.
    """
    words = _WordCache(stems)
    finders = [_UnitFinder(unit, words) for unit in units]

    def find(text: str) -> list[Span]:
        found: list[Span] = []
        searched = _searched_text(text)
        for number, finder in enumerate(finders):
            spans = list(islice(finder.find(searched), _MAX_SPANS))
            if not spans and not text.isascii():
                folded = _searched_text(_if_same_length(fold(text), text))
                spans = list(islice(finder.find(folded), _MAX_SPANS))
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


class _SearchedText(NamedTuple):
    """A text with the same without CJK, and that in lower case, at the same offsets."""

    whole: str
    plain: str
    lower: str


def _searched_text(text: str) -> _SearchedText:
    plain = blank_cjk(text)
    return _SearchedText(text, plain, _if_same_length(plain.lower(), plain))


class _Word(NamedTuple):
    """A word that the index has of a run of letters and digits: all of the run, or a part."""

    start: int
    end: int
    stem: str


class _WordCache:
    """Analyzes each run of letters and digits once."""

    def __init__(self, stems: Analyze) -> None:
        self._stems = stems
        self._words: dict[str, list[_Word]] = {}

    def words(self, run: str) -> list[_Word]:
        """Return the words of a run: the whole, then its camelCase parts."""
        if run not in self._words:
            self._words[run] = list(self._split(run)) if len(run) < MAX_WORD_CHARS else []
        return self._words[run]

    def _split(self, run: str) -> Iterator[_Word]:
        yield _Word(0, len(run), self._stem(run))
        starts = camel_starts(run)
        if len(starts) > 1:
            for start, end in zip(starts, [*starts[1:], len(run)], strict=True):
                yield _Word(start, end, self._stem(run[start:end]))

    def _stem(self, word: str) -> str:
        return " ".join(self._stems(word))


class _UnitFinder:
    """Finds one unit of a query.

    It searches for the prefix that all forms of the first word share, then compares the stems of
    the words there: `flaky` and `flakiness` share `flak`, and have the stem `flaki`.
    """

    def __init__(self, unit: Unit, words: _WordCache) -> None:
        parts = unit.parts if len(unit.parts) > 1 else ()
        self._sequences = [sequence for sequence in (unit.stems, parts) if sequence]
        self._runs = cjk_runs(fold(unit.typed))
        self._words = words.words
        self._quoted = unit.typed if unit.is_quoted else ""

    def find(self, searched: _SearchedText) -> Iterator[tuple[int, int]]:
        for sequence in self._sequences:
            found = self._find_sequence(sequence, searched.plain, searched.lower)
            yield from _keep_quoted(found, self._quoted, searched.plain) if self._quoted else found
        for run in self._runs:
            yield from find_all(run, searched.whole)

    def _find_sequence(
        self, stems: tuple[str, ...], text: str, lower: str
    ) -> Iterator[tuple[int, int]]:
        find = self._find_spot(stems, lower)
        at = find(0)
        while at >= 0:
            start, done = _run_start(text, at), _run_end(text, at)
            at = start
            for word in self._words(text[start:done]):
                is_first = word.stem == stems[0] and start + word.start >= at
                end = self._end(stems, text, start + word.end) if is_first else 0
                if end:
                    yield start + word.start, end
                    at = end
            at = find(max(at, done))

    def _find_spot(self, stems: tuple[str, ...], lower: str) -> Callable[[int], int]:
        """Return a function that finds the next place where the words may start, or -1."""
        prefix = shared_prefix(stems[0])
        if len(stems) == 1 or not all(map(str.isascii, stems)):
            return lambda at: lower.find(prefix, at)
        from ccgrep.search.phrase_check import phrase_pattern  # noqa: PLC0415 - few are phrases

        pattern = compile_pattern(phrase_pattern([*map(shared_prefix, stems)]))

        def find(at: int) -> int:
            match = pattern.search(lower, at)
            return match.start() if match else -1

        return find

    def _end(self, stems: tuple[str, ...], text: str, end: int) -> int:
        """Return where the sequence whose first word ends at `end` ends, or 0 if there is none."""
        for stem in stems[1:]:
            at = _next_run(text, end)
            start = _run_start(text, at)
            words = self._words(text[start : _run_end(text, at)])
            same = (word.end for word in words if (start + word.start, word.stem) == (at, stem))
            end = start + next(same, 0)
            if end <= at:
                return 0
        return end


def _keep_quoted(
    spans: Iterator[tuple[int, int]], quoted: str, text: str
) -> Iterator[tuple[int, int]]:
    """Yield the spans that have a quoted phrase as written, with the punctuation around it."""
    before = len(quoted) - len(quoted.lstrip(_not_alnum(quoted)))
    after = len(quoted) - len(quoted.rstrip(_not_alnum(quoted)))
    for start, end in spans:
        first, last = max(start - before, 0), end + after
        is_whole = not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
        if is_whole and has_any([text[first:last]], [quoted]):
            yield first, last


def _not_alnum(text: str) -> str:
    return "".join(char for char in text if not char.isalnum())


def _run_start(text: str, at: int) -> int:
    """Return where the run of letters and digits around `at` starts."""
    while at and text[max(at - _STEP, 0) : at].isalnum():
        at = max(at - _STEP, 0)
    while at and text[at - 1].isalnum():
        at -= 1
    return at


def _run_end(text: str, at: int) -> int:
    while (step := text[at : at + _STEP]).isalnum():
        at += len(step)
    while at < len(text) and text[at].isalnum():
        at += 1
    return at


def _next_run(text: str, at: int) -> int:
    """Return where the next letter or digit is, or the end of the text or of a long gap."""
    end = min(at + _MAX_GAP, len(text))
    while at < end and not text[at].isalnum():
        at += 1
    return at


def pattern_finder(matcher: Matcher, finds_all: bool) -> MatchFinder:
    """Return a function that finds the matches of an exact pattern, all or the first 100."""

    def find(text: str) -> list[Span]:
        data = text.encode("utf-8", "replace")
        found = []
        at_byte = at_char = 0
        spans = islice(matcher.spans(data), None if finds_all else _MAX_SPANS)
        if len(data) == len(text):
            return [Span(start, end) for start, end in spans]
        for start, end in spans:
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
    different = len({span.word for span in spans})
    for position, span in enumerate(spans):
        if most == different:
            break
        words = {s.word for s in spans[position : position + 50] if s.end <= span.start + width}
        if len(words) > most:
            best, most = span.start, len(words)
    return best, most


def _first_ends(spans: Sequence[Span], start: int, end: int) -> Iterator[int]:
    """Yield where the first match of each word ends within a range."""
    words = set()
    for span in spans:
        if span.start >= start and span.end <= end and span.word not in words:
            words.add(span.word)
            yield span.end


def make_snippet(text: str, spans: Sequence[Span], width: int) -> list[SnippetPart]:
    """Return about `width` characters around the best matches, redacted."""
    size = width * 3 // 4
    first, _ = best_window(spans, size)
    last = max(_first_ends(spans, first, first + size), default=0)
    is_near_start = last <= size and columns(text[:last]) <= size
    start = 0 if is_near_start else _snippet_start(text, first, width)
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


def _snippet_start(text: str, match: int, width: int) -> int:
    """Return where to start: at the line of the match, or at a word shortly before the match.

    If the rest of the text is shorter than `width`, start earlier.
    """
    tail = max(len(text) - width, 0)
    if tail < match and columns(text[tail:]) <= width:
        return _word_start(text, min(tail, max(match - width // 4, 0)))
    line = text.rfind("\n", max(match - width // 2, 0), match) + 1
    if line and columns(text[line:match]) <= width // 2:
        return line
    return _word_start(text, max(match - width // 4, 0))


def _word_start(text: str, at: int) -> int:
    """Return where the next word starts, or `at` if that is not near."""
    if at == 0:
        return 0
    for position in range(at, min(at + 20, len(text))):
        if text[position - 1].isspace() and not text[position].isspace():
            return position
    return at
