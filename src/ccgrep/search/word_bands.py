"""Build the queries of a ranked word search.

A band is a query with a range of scores, and the scores of two bands never overlap. This module
only builds queries: `word_search` runs them in order, and `word_candidates` uses them alone.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.as_typed import find_literals, literals_query
from ccgrep.search.query import Requirement, Unit, min_units, parse
from ccgrep.search.rank import MACHINE_KINDS
from ccgrep.search.request import DISCUSSION_SCORE, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.kinds import TextKind

_TITLE_BOOST = 0.6
_NEAR_SCORE = 0.7  # constant, because Tantivy scores proximity differently in each segment
_NEAR_SLOP = 8
_STOP_WORD_BOOST = 0.3
_OTHER_FIELD_BOOST = 0.5  # for words in tool calls, tool output and thinking
AS_TYPED = 0.75
"""The lowest score of a turn that has a query with punctuation as typed."""

_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}
ALL_FIELDS = ("said", "tool", "output", "thinking")
WITH_NOTES = (*ALL_FIELDS, "note")
DISCUSSION = ("said", "title")
_POSITIONS = frozenset(["said", "title"])
_TOKENS = frozenset(["output", "thinking"])


class Band(NamedTuple):
    """A query, the documents it excludes, and the range of its scores.

    `fields` have no word positions: phrases in them must be verified on the text. Quoted phrases
    always are, and so are `literals`, one of which the text must have as typed.
    """

    query: Query
    never: tuple[Query, ...]
    fields: tuple[str, ...]
    lowest: float
    highest: float
    literals: tuple[str, ...] = ()


def parse_patterns(reader: TextReader, request: Request) -> list[list[Unit]]:
    """Return the units of each pattern that has any."""
    queries = (parse(text, reader.stems, reader.tokens) for text in request.patterns)
    return [units for units in queries if units]


class BandBuilder:
    """Builds the bands of a request."""

    def __init__(self, reader: TextReader, request: Request) -> None:
        self._reader = reader
        self._request = request
        self._machine = tuple(reader.term("kind", kind) for kind in MACHINE_KINDS)

    def all_words(self, required: list[Requirement]) -> list[Band]:
        """Return the bands of the turns that have all words, the best first."""
        if self._request.types:
            return self._typed_bands(required)
        bonus = [query for one in required for query in self._near(one.units)]
        discussion = self.discussion_query(required)
        rest = self._query(required, lambda unit: self._in_any(ALL_FIELDS, unit))
        last = self._query(required, lambda unit: self._in_any(WITH_NOTES, unit))
        said = self._reader.combine(discussion, [], [], bonus)
        return [
            Band(said, self._machine, (), DISCUSSION_SCORE, 1.0),
            Band(rest, self._machine, ALL_FIELDS, 0.25, DISCUSSION_SCORE),
            Band(last, (), WITH_NOTES, 0.0, 0.25),
        ]

    def as_typed(self, discussion: Band) -> list[Band]:
        """Return a band for the hits in the discussion that have the query as typed, if any."""
        literals = find_literals(self._request)
        if not literals:
            return []
        candidates = literals_query(self._reader, literals)
        query = self._reader.combine(discussion.query, [candidates])
        return [discussion._replace(query=query, lowest=AS_TYPED, literals=literals)]

    def discussion_query(self, required: list[Requirement]) -> Query:
        return self._query(required, self._in_discussion)

    def some_words(self, split: list[list[Unit]], queries: list[list[Unit]]) -> list[Band]:
        """Return the bands of turns with some words; phrases and stop words add to the score."""
        required = [Requirement(units, min_units(len(units))) for units in split]
        if self._request.types:
            return self._typed_bands(required)
        whole = [unit for units in queries for unit in units]
        stop_words = [unit for unit in whole if unit.is_stop_word]
        bonus = [query for units in split for query in self._near(units)]
        bonus += [self._in("said", unit) for unit in whole if len(unit.stems) > 1]
        bonus += [
            self._reader.boost(self._in("said", unit), _STOP_WORD_BOOST) for unit in stop_words
        ]
        first = self._reader.combine(self._query(required, self._anywhere), [], [], bonus)
        last = self._query(required, lambda unit: self._in_any(WITH_NOTES, unit))
        return [
            Band(first, self._machine, ALL_FIELDS, 0.25, 1.0),
            Band(last, (), WITH_NOTES, 0.0, 0.25),
        ]

    def names_query(self, required: list[Requirement]) -> Query:
        """Return a query for turns that have all units, anywhere but in machine text."""
        return self._reader.combine(self.typed_query(required), [], self._machine)

    def typed_query(self, required: list[Requirement]) -> Query:
        """Return a query for turns that have all units in the requested kinds of text."""
        types = self._request.types
        fields = tuple(f for kind in types for f in _FIELDS[kind]) or ALL_FIELDS
        return self._query(required, lambda unit: self._in_any(fields, unit))

    def _typed_bands(self, required: list[Requirement]) -> list[Band]:
        fields = tuple(field for kind in self._request.types for field in _FIELDS[kind])
        query = self._query(required, lambda unit: self._in_any(fields, unit))
        return [Band(query, self._machine, fields, 0.25, 1.0), Band(query, (), fields, 0.0, 0.25)]

    def complete_query(self, required: list[Requirement]) -> Query:
        """Return a query for the turns that have all words, if phrases are verified."""
        return self.combine_bands(self.all_words(required))

    def combine_bands(self, bands: Sequence[Band]) -> Query:
        """Return a query for the hits of all bands.

        The last one has the hits of all others, but for those by their title in the first one.
        """
        ends = (bands[0], bands[-1])
        return self._reader.any_of([self._reader.combine(b.query, [], b.never) for b in ends])

    def _query(self, required: list[Requirement], build: Callable[[Unit], Query]) -> Query:
        queries = [
            self._reader.any_of([build(unit) for unit in one.units], one.at_least)
            for one in required
        ]
        return queries[0] if len(queries) == 1 else self._reader.best_of(queries)

    def _in_discussion(self, unit: Unit) -> Query:
        title = self._reader.boost(self._in("title", unit), _TITLE_BOOST)
        return self._reader.best_of([self._in("said", unit), title])

    def _anywhere(self, unit: Unit) -> Query:
        """Return a query for a unit in any field, with a lower score outside the discussion.

        There the score depends only on how rare the words are, there and in the discussion. The
        length of an output says nothing about its subject.
        """
        stems = (*unit.stems, *unit.grams)
        in_discussion = self._rarity("said", stems)
        queries = [self._in_discussion(unit)]
        for field in ALL_FIELDS[1:]:
            rarity = self._rarity(field, unit.tokens if field in _TOKENS else stems)
            score = _OTHER_FIELD_BOOST * min(rarity, in_discussion)
            queries.append(self._reader.constant(self._in(field, unit), score))
        return self._reader.best_of(queries)

    def _rarity(self, field: str, words: Iterable[str]) -> float:
        return sum(self._reader.rarity(field, word) for word in words)

    def _in_any(self, fields: Sequence[str], unit: Unit) -> Query:
        return self._reader.best_of([self._in(field, unit) for field in fields])

    def _in(self, field: str, unit: Unit) -> Query:
        """Return a query for a unit in a field, as a phrase if the field has positions."""
        reader = self._reader
        if field in _TOKENS:
            tokens = [reader.term(field, word) for word in unit.tokens]
            return tokens[0] if len(tokens) == 1 else reader.all_of(tokens)
        parts = [self._word(field, gram) for gram in unit.grams]
        if unit.stems and field in _POSITIONS:
            parts.append(reader.phrase(field, unit.stems))
        else:
            parts += [self._word(field, word) for word in unit.stems]
        whole = parts[0] if len(parts) == 1 else reader.all_of(parts)
        if len(unit.parts) > 1 and field in _POSITIONS:
            return reader.best_of([whole, reader.phrase(field, unit.parts)])
        return whole

    def _word(self, field: str, word: str) -> Query:
        sides = {"user": self._reader.in_prompt, "assistant": self._reader.in_answer}
        return sides[field](word) if field in sides else self._reader.term(field, word)

    def _near(self, units: Sequence[Unit]) -> list[Query]:
        """Return queries that add a little score if adjacent words of the query are close."""
        words = [unit.stems[0] for unit in units if len(unit.stems) == 1]
        return [
            self._reader.constant(self._reader.phrase("said", pair, _NEAR_SLOP), _NEAR_SCORE)
            for pair in pairwise(words)
            if pair[0] != pair[1]
        ]
