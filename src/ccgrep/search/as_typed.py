"""Text as it was typed. The index ignores punctuation and inflection, so the text decides.

Case, accents and the kind of white space do not count. Letters and digits must not continue the
text: `PR #12` is not in `PR #123`.
"""

from __future__ import annotations

from ccgrep.fulltext.terms import fold, reveal_ascii
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.query import is_question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ccgrep.fulltext.reader import Query, TextReader
    from ccgrep.search.request import Request

_SENTENCE_ENDS = ".,;:?!"
_SHORT_CHARS = 2000
_CONTEXT_BYTES = 32
_GAP = r"[\x00-\x20\x80-\xff]+"
"""What may be between two words, in UTF-8: much that is beyond ASCII is white space."""


def find_literals(request: Request) -> tuple[str, ...]:
    """Return the patterns that a turn's discussion may have as typed and that are worth it."""
    if not set(request.types) <= {"user", "assistant"}:
        return ()  # Only the discussion has trigrams.
    return tuple(filter(None, map(_find_literal, request.patterns)))


def literals_query(reader: TextReader, literals: Iterable[str]) -> Query:
    """Return a query for the turns whose discussion may have one of the literals."""
    from ccgrep.search.regex import trigrams  # noqa: PLC0415 - few queries have symbols

    grams = (trigrams(literal, ignore_case=True) for literal in literals)
    return reader.any_of(
        [reader.all_of([reader.term("trigram", gram) for gram in one]) for one in grams]
    )


def _find_literal(pattern: str) -> str:
    """Return a pattern that has punctuation of code, such as `PR #12` or `foo()`, else ""."""
    words = pattern.split()
    literal = " ".join(words)
    if not _has_trigram(literal) or '"' in literal or not any(map(_has_symbol, words)):
        return ""
    return "" if is_question(pattern) else literal


def _has_trigram(text: str) -> bool:
    return any(text[at : at + 3].isascii() for at in range(len(text) - 2))


def _has_symbol(word: str) -> bool:
    return any(not char.isalnum() and char not in "'’" for char in word.rstrip(_SENTENCE_ENDS))


def has_any(texts: Iterable[str], phrases: Iterable[str]) -> bool:
    """Return whether one of the texts has one of the phrases as typed."""
    wanted = [_normalize(phrase) for phrase in phrases]
    return any(
        _contains(part, phrase)
        for text in texts
        for phrase in wanted
        for part in _normalized_parts(text, phrase)
    )


def _normalized_parts(text: str, phrase: str) -> Iterator[str]:
    """Yield the parts of a text that may have a phrase, normalized.

    Normalizing an output of a megabyte takes long, so its words are first looked for in bytes.
    """
    if len(text) < _SHORT_CHARS or not phrase.isascii():
        yield _normalize(text)
        return
    data = reveal_ascii(text).encode("utf-8", "replace").lower()
    words = phrase.encode().split()
    if all(word in data for word in words):
        pattern = compile_pattern(_phrase_pattern(phrase).encode())
        for match in pattern.finditer(data):
            start, end = match.span()
            part = data[max(start - _CONTEXT_BYTES, 0) : end + _CONTEXT_BYTES]
            yield _normalize(part.decode("utf-8", "ignore"))


def _phrase_pattern(phrase: str) -> str:
    from re import escape  # noqa: PLC0415 - see lazy_re

    return _GAP.join(map(escape, phrase.split()))


def _normalize(text: str) -> str:
    return " ".join(fold(text).lower().split())


def _contains(text: str, phrase: str) -> bool:
    at = text.find(phrase) if phrase else -1
    while at >= 0:
        end = at + len(phrase)
        continues_before = phrase[0].isalnum() and text[at - 1 : at].isalnum()
        continues_after = phrase[-1].isalnum() and text[end : end + 1].isalnum()
        if not continues_before and not continues_after:
            return True
        at = text.find(phrase, at + 1)
    return False
