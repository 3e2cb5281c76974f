"""Ranked word search in the full-text index.

Hits come in bands whose scores never overlap. The first band holds turns whose discussion has all
the words, the second those that have them in tool calls, tool output or thinking as well. The last
band holds compaction summaries, worker sessions and superseded sessions. If no turn has all words,
a second tier of the search asks for most of them.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.fulltext.document_id import hash_session_id
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import Requirement, Unit, content_units, meets_any, min_units, parse
from ccgrep.search.rank import MACHINE_KINDS, RankedHit, limit_hits, make_hit, merge_places, rank
from ccgrep.search.request import Answer, Filters, Place, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.kinds import TextKind, Tier

    LoadField = Callable[[Place, str], str]
    """Returns the text of a field of the turn at a place."""

_TITLE_BOOST = 0.6
_NEAR_SCORE = 0.7  # constant, because Tantivy scores proximity differently in each segment
_NEAR_SLOP = 8
_STOP_WORD_BOOST = 0.2
_FIRST_FETCH = 100
_MAX_SCORED_TURNS = 1000
_MANY_HITS = 200
_MIN_SHARE = 0.4  # of the best score, for a hit without all words
_MAX_LOSS = 0.94
"""The factor by which ranking can lower a score at most, see rank.py."""

_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}
_ALL_FIELDS = ("said", "tool", "output", "thinking")
_POSITIONS = frozenset(["said", "title"])
_TOKENS = frozenset(["output", "thinking"])


class Band(NamedTuple):
    """A query, the documents it excludes, and the range of its scores.

    `fields` have no word positions: phrases in them must be verified on the text.
    """

    query: Query
    never: tuple[Query, ...]
    fields: tuple[str, ...]
    lowest: float
    highest: float


def search_words(
    reader: TextReader, request: Request, newest: int, load: LoadField
) -> Answer | None:
    """Return the matching turns, or None if the request has no words."""
    queries = _parse_patterns(reader, request)
    if not queries:
        return None
    search = _WordSearch(reader, request, newest, load)
    answer = search.answer("all", [Requirement(units, len(units)) for units in queries])
    if answer.hits:
        return answer
    relaxed = [content_units(units) for units in queries]
    required = [Requirement(units, min_units(len(units))) for units in relaxed]
    answer = search.answer("most", required, _stop_words(queries))
    words = dict.fromkeys(unit.typed for units in relaxed for unit in units)
    return answer._replace(relaxed=tuple(words))


def score_words(
    reader: TextReader,
    request: Request,
    limit: int = _MAX_SCORED_TURNS,
    needs_most: bool = False,
) -> list[DocumentHit]:
    """Return the turns whose discussion has any of the words, the best first.

    With `needs_most`, they must have as many of the words as a relaxed word search requires.
    """
    queries = _parse_patterns(reader, request)
    if not queries:
        return []
    required = [
        Requirement(units, min_units(len(units)) if needs_most else 1)
        for units in map(content_units, queries)
    ]
    search = _WordSearch(reader, request)
    discussion, *_ = search.bands(required, _stop_words(queries))
    return reader.search(search.clauses.apply(discussion.query), limit)


def has_known_word(reader: TextReader, request: Request) -> bool:
    """Return whether the discussion of any session has a word of the request."""
    unfiltered = request._replace(filters=Filters(), types=())
    return bool(score_words(reader, unfiltered, 1))


def _parse_patterns(reader: TextReader, request: Request) -> list[list[Unit]]:
    queries = (parse(text, reader.stems, reader.tokens) for text in request.patterns)
    return [units for units in queries if units]


def _stop_words(queries: list[list[Unit]]) -> list[Unit]:
    return [unit for units in queries for unit in units if unit.is_stop_word]


class _WordSearch:
    """Builds the bands of a request and searches them."""

    def __init__(
        self,
        reader: TextReader,
        request: Request,
        newest: int = 0,
        load: LoadField = lambda *_: "",
    ) -> None:
        self._reader = reader
        self._request = request
        self.clauses = filter_clauses(reader, request.filters)
        self._newest = newest
        self._load = load
        self._limit = 0 if request.needs_total else request.limit

    def answer(
        self, tier: Tier, required: list[Requirement], stop_words: Sequence[Unit] = ()
    ) -> Answer:
        ranked: dict[int, RankedHit] = {}
        for band in self.bands(required, stop_words):
            found = self._search(band, required, tier)
            top = max((hit.score for hit in found), default=0.0) or 1.0
            span = band.highest - band.lowest
            for score, document, others in found:
                hit = RankedHit(band.lowest + span * score / top, document, others)
                known = ranked.get(document.object_key)
                ranked[document.object_key] = merge_places(known, hit) if known else hit
            if self._is_enough(ranked.values()):
                break
        kept = limit_hits(ranked.values(), self._request.limit, self._request.per_session)
        place_of = self._place_by_key() if len(kept) > _MANY_HITS else self._place
        hits = [
            make_hit(one, place_of)._replace(parts=(("words", one.document.score),)) for one in kept
        ]
        return Answer(hits, len(ranked), tier)

    def _is_enough(self, ranked: Iterable[RankedHit]) -> bool:
        limit, per_session = self._limit, self._request.per_session
        return bool(limit) and len(limit_hits(ranked, limit, per_session)) == limit

    def _place(self, document: DocumentHit) -> Place:
        return Place(*self._reader.place(document.address))

    def _place_by_key(self) -> Callable[[DocumentHit], Place]:
        """Return what `_place` does for many hits: it maps session keys, and opens no document."""
        sessions = {hash_session_id(id): id for id in self._reader.value_counts("session")}
        return lambda document: Place(sessions[document.session_key], document.turn)

    def _search(self, band: Band, required: list[Requirement], tier: Tier) -> list[RankedHit]:
        """Return the hits of a band, at least as many as the limit if there are that many."""
        query = self.clauses.apply(band.query, never=band.never)
        has_phrase = any(unit.is_phrase for one in required for unit in one.units)
        fetch = max(_FIRST_FETCH, 4 * self._limit) if self._limit else 0
        while True:
            documents = self._reader.search(query, fetch)
            if tier == "most":
                least = _MIN_SHARE * max((one.score for one in documents), default=0.0)
                relevant = [one for one in documents if one.score >= least]
                ranked = rank(relevant, self._newest, by_session=True)
            else:
                ranked = rank(documents, self._newest)
            if band.fields and has_phrase:
                ranked = self._verify(ranked, required, band.fields)
            if not fetch or len(documents) < fetch:
                return ranked
            kept = limit_hits(ranked, self._limit, self._request.per_session)
            # Documents that were not fetched must not be able to pass those that were.
            if len(kept) == self._limit and documents[-1].score < _MAX_LOSS * kept[-1].score:
                return ranked
            fetch *= 8

    def _verify(
        self, ranked: Iterable[RankedHit], required: list[Requirement], fields: tuple[str, ...]
    ) -> list[RankedHit]:
        """Return the hits whose text has the phrases, until they are enough."""
        kept: list[RankedHit] = []
        for hit in ranked:
            place = self._place(hit.document)
            texts = {field: self._load(place, field) for field in fields}
            if meets_any(required, texts, self._reader.stems, self._reader.tokens):
                kept.append(hit)
                if self._is_enough(kept):
                    break
        return kept

    def bands(self, required: list[Requirement], stop_words: Sequence[Unit]) -> list[Band]:
        machine = tuple(self._reader.term("kind", kind) for kind in MACHINE_KINDS)
        if self._request.types:
            fields = tuple(field for kind in self._request.types for field in _FIELDS[kind])
            query = self._query(required, lambda unit: self._in_any(fields, unit))
            return [Band(query, machine, fields, 0.25, 1.0), Band(query, (), fields, 0.0, 0.25)]
        bonus = [query for one in required for query in self._near(one.units)]
        bonus += [
            Query.boost_query(self._in("said", unit), _STOP_WORD_BOOST) for unit in stop_words
        ]
        discussion = self._query(required, self._in_discussion)
        with_notes = (*_ALL_FIELDS, "note")
        rest = self._query(required, lambda unit: self._in_any(_ALL_FIELDS, unit))
        last = self._query(required, lambda unit: self._in_any(with_notes, unit))
        return [
            Band(self._reader.combine(discussion, [], [], bonus), machine, (), 0.5, 1.0),
            Band(rest, machine, _ALL_FIELDS, 0.25, 0.5),
            Band(last, (), with_notes, 0.0, 0.25),
        ]

    def _query(self, required: list[Requirement], build: Callable[[Unit], Query]) -> Query:
        queries = [
            self._reader.any_of([build(unit) for unit in one.units], one.at_least)
            for one in required
        ]
        return queries[0] if len(queries) == 1 else self._reader.best_of(queries)

    def _in_discussion(self, unit: Unit) -> Query:
        title = Query.boost_query(self._in("title", unit), _TITLE_BOOST)
        return self._reader.best_of([self._in("said", unit), title])

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
        if field == "user":
            return self._reader.in_prompt(word)
        return (
            self._reader.in_answer(word) if field == "assistant" else self._reader.term(field, word)
        )

    def _near(self, units: Sequence[Unit]) -> list[Query]:
        """Return queries that add a little score if adjacent words of the query are close."""
        words = [unit.stems[0] for unit in units if len(unit.stems) == 1]
        return [
            Query.const_score_query(self._reader.phrase("said", pair, _NEAR_SLOP), _NEAR_SCORE)
            for pair in pairwise(words)
            if pair[0] != pair[1]
        ]
