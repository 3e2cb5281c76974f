"""Text as it was typed. The index ignores punctuation and inflection, so the text decides.

Case, accents and the kind of white space do not count. Letters and digits must not continue the
text: `PR #12` is not in `PR #123`.
"""

from __future__ import annotations

from ccgrep.fulltext.terms import fold
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.query import is_question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccgrep.fulltext.reader import Query, TextReader
    from ccgrep.search.request import Request

_SENTENCE_ENDS = ".,;:?!"


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
    return any(_contains(text, phrase) for text in map(_normalize, texts) for phrase in wanted)


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
