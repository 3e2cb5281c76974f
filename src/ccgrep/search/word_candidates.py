"""Word queries beside the ranking: which turns, and how many, have words or names of a request."""

from __future__ import annotations

from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import Requirement, content_units
from ccgrep.search.request import Filters, Request
from ccgrep.search.word_bands import BandBuilder, parse_patterns
from ccgrep.search.word_search import WordSearch

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
    query = BandBuilder(reader, request).complete_query(required)
    if not any(unit.is_phrase or unit.is_quoted for units in queries for unit in units):
        return CompleteTurns(query, lambda _: True)
    search = WordSearch(reader, request, load=load)
    return CompleteTurns(query, lambda document: search.is_complete(document, required))


def score_words(
    reader: TextReader, request: Request, limit: int = _MAX_SCORED_TURNS
) -> list[DocumentHit]:
    """Return the turns that have some of the words, the best first."""
    queries = parse_patterns(reader, request)
    if not queries:
        return []
    split = [content_units(units) for units in queries]
    first, *_ = BandBuilder(reader, request).some_words(split, queries)
    return reader.search(_apply_filters(reader, request, first.query), limit)


def find_exact(reader: TextReader, request: Request) -> list[DocumentHit]:
    """Return the turns that have every name, number and phrase of a pattern, if they are few."""
    required = [
        Requirement(names, len(names))
        for units in parse_patterns(reader, request)
        if (names := [unit for unit in units if unit.is_name])
    ]
    if not required:
        return []
    query = BandBuilder(reader, request).names_query(required)
    found = reader.search(_apply_filters(reader, request, query), _MAX_EXACT + 1)
    return found if len(found) <= _MAX_EXACT else []


def has_known_word(reader: TextReader, request: Request) -> bool:
    """Return whether the discussion of any session has a word of the request."""
    builder = BandBuilder(reader, request._replace(filters=Filters(), types=()))
    queries = parse_patterns(reader, request)
    required = [Requirement(content_units(units), 1) for units in queries]
    return bool(required) and reader.has_any(builder.discussion_query(required))


def count_complete(reader: TextReader, request: Request) -> int | None:
    """Return how many turns have all words, or None if only their texts can tell."""
    queries = parse_patterns(reader, request)
    required = [Requirement(units, len(units)) for units in queries]
    if any(unit.is_phrase for units in queries for unit in units):
        return None
    bands = BandBuilder(reader, request).all_words(required)
    query = reader.any_of([band.query for band in bands])
    return reader.count_turns(_apply_filters(reader, request, query))


def count_words(reader: TextReader, request: Request) -> dict[str, int]:
    """Return how many turns have each word of the request; no words if it is only one.

    Phrases are left out, because not every field has the positions of words.
    """
    queries = parse_patterns(reader, request)
    units = dict.fromkeys(unit for units in queries for unit in content_units(units))
    if len(units) < 2:
        return {}
    builder, clauses = BandBuilder(reader, request), filter_clauses(reader, request.filters)
    counted = {
        unit.typed: builder.typed_query([Requirement([unit], 1)])
        for unit in units
        if not unit.is_phrase
    }
    return {word: reader.count(clauses.apply(query)) for word, query in counted.items()}


def _apply_filters(reader: TextReader, request: Request, query: Query) -> Query:
    return filter_clauses(reader, request.filters).apply(query)
