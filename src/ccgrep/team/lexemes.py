"""Lexemes: words of all texts of a turn in one set, each behind a letter for its text. Pure.

s  discussion    t  tool calls, stemmed    o  tool output    n  notes
w  title         i  tool calls             h  thinking
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.query import content_units, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccgrep.fulltext.reader import TextReader
    from ccgrep.search.query import Unit

LETTERS = {
    "said": "s",
    "title": "w",
    "tool": "t",
    "input": "i",
    "output": "o",
    "thinking": "h",
    "note": "n",
}
_STEMMED = ("said", "title", "tool", "note")
_TOKENS = ("output", "thinking")


class Words(NamedTuple):
    """What a server must know of the patterns of a request. The queries are tsqueries of lexemes.

    `lexemes` begin with those of `stems` in the discussion. A turn matches a pattern at all if it
    has one of `groups`; `needs_texts` says that only its text decides.
    """

    stems: list[str]
    lexemes: list[str]
    groups: list[str]
    all: str
    needs_texts: bool


def lexeme(field: str, word: str) -> str:
    return LETTERS[field] + word


def quote(lexeme: str) -> str:
    """Return a lexeme as a part of a tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def split_words(reader: TextReader, patterns: Iterable[str]) -> Words:
    """Return the words of the patterns, as word search asks for them."""
    queries = [parse(text, reader.stems, reader.tokens) for text in patterns]
    queries = [units for units in queries if units]
    units = [unit for one in queries for unit in one]
    stems = list(
        dict.fromkeys(word for u in units for word in (*u.stems, *u.grams, *u.parts)),
    )
    tokens = list(dict.fromkeys(word for u in units for word in (*u.tokens, *u.words)))
    lexemes = [lexeme(field, stem) for field in _STEMMED for stem in stems]
    lexemes += [lexeme(field, token) for field in _TOKENS for token in tokens]
    parts = [unit for one in queries for unit in (*one, *content_units(one))]
    groups = list(dict.fromkeys(filter(None, map(_group, parts))))
    strict = [" & ".join(filter(None, map(_group, one))) for one in queries]
    is_phrase = any(unit.is_phrase or unit.is_quoted for unit in units)
    return Words(stems, lexemes, groups, " | ".join(f"({one})" for one in strict if one), is_phrase)


def _group(unit: Unit) -> str:
    """Return a query for the turns that may have a unit in any of their texts."""
    alternatives = []
    for field in _STEMMED:
        alternatives.append(_all(field, (*unit.stems, *unit.grams)))
        alternatives.append(_all(field, unit.parts))
    for field in _TOKENS:
        alternatives.append(_all(field, unit.tokens))
    known = list(dict.fromkeys(filter(None, alternatives)))
    return f"({' | '.join(known)})" if known else ""


def _all(field: str, words: Sequence[str]) -> str:
    parts = " & ".join(quote(lexeme(field, word)) for word in words)
    return f"({parts})" if parts else ""
