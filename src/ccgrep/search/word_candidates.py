"""Word queries beside the ranking: which turns, and how many, have words or names of a request."""

from __future__ import annotations

from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.query import Requirement, content_units
from ccgrep.search.request import Filters, Request
from ccgrep.search.word_search import WordSearch, parse_patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.fulltext.reader import Query
    from ccgrep.search.word_search import LoadField

_MAX_SCORED_TURNS = 1000
_MAX_EXACT = 50  # more turns than this with the same names are not specific


class CompleteTurns(NamedTuple):
    """The turns that have all words: those of a query for which `is_match` is true."""

    query: Query
    is_match: Callable[[DocumentHit], bool]


def find_complete(reader: TextReader, request: Request, load: LoadField) -> CompleteTurns | None:
    """Return the turns that have all words of the request, or None if it has no words."""
    queries = parse_patterns(reader, request)
    if not queries:
        return None
    required = [Requirement(units, len(units)) for units in queries]
    search = WordSearch(reader, request, load=load)
    query = search.complete_query(required)
    if not any(unit.is_phrase or unit.is_quoted for units in queries for unit in units):
        return CompleteTurns(query, lambda _: True)
    return CompleteTurns(query, lambda document: search.is_complete(document, required))


def score_words(
    reader: TextReader, request: Request, limit: int = _MAX_SCORED_TURNS
) -> list[DocumentHit]:
    """Return the turns that have some of the words, the best first."""
    queries = parse_patterns(reader, request)
    if not queries:
        return []
    search = WordSearch(reader, request)
    first, *_ = search.some_bands([content_units(units) for units in queries], queries)
    return reader.search(search.clauses.apply(first.query), limit)


def find_exact(reader: TextReader, request: Request) -> list[DocumentHit]:
    """Return the turns that have every name, number and phrase of a pattern, if they are few."""
    required = [
        Requirement(names, len(names))
        for units in parse_patterns(reader, request)
        if (names := [unit for unit in units if unit.is_name])
    ]
    if not required:
        return []
    search = WordSearch(reader, request)
    query = search.clauses.apply(search.names_query(required))
    found = reader.search(query, _MAX_EXACT + 1)
    return found if len(found) <= _MAX_EXACT else []


def has_known_word(reader: TextReader, request: Request) -> bool:
    """Return whether the discussion of any session has a word of the request."""
    search = WordSearch(reader, request._replace(filters=Filters(), types=()))
    queries = parse_patterns(reader, request)
    required = [Requirement(content_units(units), 1) for units in queries]
    return bool(required) and reader.has_any(search.discussion_query(required))


def count_complete(reader: TextReader, request: Request) -> int | None:
    """Return how many turns have all words, or None if only their texts can tell."""
    queries = parse_patterns(reader, request)
    required = [Requirement(units, len(units)) for units in queries]
    if any(unit.is_phrase for units in queries for unit in units):
        return None
    search = WordSearch(reader, request)
    bands = reader.any_of([band.query for band in search.all_bands(required)])
    return reader.count_turns(search.clauses.apply(bands))


def count_words(reader: TextReader, request: Request) -> dict[str, int]:
    """Return how many turns have each word of the request; no words if it is only one.

    Phrases are left out, because not every field has the positions of words.
    """
    queries = parse_patterns(reader, request)
    units = dict.fromkeys(unit for units in queries for unit in content_units(units))
    if len(units) < 2:
        return {}
    search = WordSearch(reader, request)
    counted = {
        unit.typed: search.typed_query([Requirement([unit], 1)])
        for unit in units
        if not unit.is_phrase
    }
    return {word: reader.count(search.clauses.apply(query)) for word, query in counted.items()}
