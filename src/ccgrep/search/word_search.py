"""Ranked word search in the full-text index.

A turn matches if it has all words, and quoted phrases as written. Hits come in bands whose scores
never overlap. The first band holds turns whose discussion has all the words, the second those that
have them in tool calls, tool output or thinking as well. The last band holds compaction summaries,
worker sessions and superseded sessions. If the query has punctuation of code, turns that have it as
typed come before the others of the first band.

If fewer turns than the limit have all words, turns that have some of them fill up the list, ranked
by how much of the query they answer. A longer query is a question, for which having all words says
little: one ranking holds the turns with all and with some words.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.fulltext.document_id import hash_session_id
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.as_typed import find_literals, has_any, literals_query
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import (
    Requirement,
    Unit,
    content_units,
    is_question,
    min_units,
    parse,
)
from ccgrep.search.rank import (
    MACHINE_KINDS,
    RankedHit,
    append_hits,
    limit_hits,
    make_hit,
    merge_places,
    rank,
)
from ccgrep.search.request import DISCUSSION_SCORE, Answer, Place, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.kinds import TextKind, Tier
    from ccgrep.search.phrase_check import PhraseCheck

    LoadField = Callable[[Place, int, str], str]
    """Returns the text of a field of the turn at a place, whose key is known."""

_TITLE_BOOST = 0.6
_NEAR_SCORE = 0.7  # constant, because Tantivy scores proximity differently in each segment
_NEAR_SLOP = 8
_STOP_WORD_BOOST = 0.3
_FIRST_FETCH = 100
_FETCH_IN_CONTEXT = 500  # turns with some words, whose neighbours count
_MANY_HITS = 200
_MIN_SHARE = 0.2  # of the best score, for a hit without all words
_OTHER_FIELD_BOOST = 0.5  # for words in tool calls, tool output and thinking
_MANY_TEXTS = 20
_AS_TYPED = 0.75  # the lowest score of a turn that has a query with punctuation as typed
_MAX_LOSS = 0.94
"""The factor by which ranking can lower a score at most, see rank.py."""

_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}
_ALL_FIELDS = ("said", "tool", "output", "thinking")
_WITH_NOTES = (*_ALL_FIELDS, "note")
_DISCUSSION = ("said", "title")
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


def search_words(
    reader: TextReader, request: Request, newest: int, load: LoadField
) -> Answer | None:
    """Return the matching turns, or None if the request has no words."""
    queries = parse_patterns(reader, request)
    if not queries:
        return None
    search = WordSearch(reader, request, newest, load)
    split = [content_units(units) for units in queries]
    is_asking = any(map(is_question, request.patterns))
    strict: list[RankedHit] = []
    if not is_asking or request.needs_all_words or not request.limit:
        strict = search.find_all([Requirement(units, len(units)) for units in queries])
        is_enough = strict and len(search.limit(strict)) >= request.limit
        is_enough = is_enough or all(len(units) == 1 for units in queries)  # some is all
        if is_enough or request.needs_all_words:
            return search.count(search.answer("all", strict), strict)
    ranked = append_hits(strict, search.find_some(split, queries))
    answer = search.answer("all" if strict else "most", ranked)
    answer = answer._replace(total=max(len(strict), len(answer.hits)))
    complete = len(search.limit(strict))
    if is_asking or len(answer.hits) <= complete:
        return answer
    words = (unit.typed for units in queries for unit in units if not unit.is_stop_word)
    return answer._replace(relaxed=tuple(dict.fromkeys(words)), complete=complete)


def parse_patterns(reader: TextReader, request: Request) -> list[list[Unit]]:
    queries = (parse(text, reader.stems, reader.tokens) for text in request.patterns)
    return [units for units in queries if units]


class WordSearch:
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
        self._bands: list[Band] = []  # what `count` counts
        self._phrases: PhraseCheck | None = None
        self._machine = tuple(reader.term("kind", kind) for kind in MACHINE_KINDS)

    def find_all(self, required: list[Requirement]) -> list[RankedHit]:
        """Return the turns that have all words, in bands, until they are enough.

        Phrases must be verified on the text, so then all turns are found in order to count them.
        """
        is_verified = any(one.needs_text(_ALL_FIELDS) for one in required)
        limit = 0 if self._request.needs_total and is_verified else self._request.limit
        first, *others = self.all_bands(required)
        self._bands = [first, *others] if self._request.needs_total and limit else []
        typed = self._find(self._as_typed_bands(first), required, limit)
        if typed:
            first = first._replace(highest=_AS_TYPED)
        return self._find([first, *others], required, limit, found=typed)

    def find_some(self, split: list[list[Unit]], queries: list[list[Unit]]) -> list[RankedHit]:
        """Return the turns that have some of the words, in order of how much they answer."""
        required = [Requirement(units, min_units(len(units))) for units in split]
        bands = self.some_bands(split, queries)
        return self._find(bands, required, self._request.limit, is_relaxed=True)

    def _find(
        self,
        bands: Iterable[Band],
        required: list[Requirement],
        limit: int,
        is_relaxed: bool = False,
        found: Iterable[RankedHit] = (),
    ) -> list[RankedHit]:
        """Return the hits of the bands after those that were found already."""
        ranked = {hit.document.object_key: hit for hit in found}
        for band in bands:
            if limit and len(self.limit(ranked.values())) == limit:
                break
            hits = self._search(band, required, limit, is_relaxed)
            top = max((hit.score for hit in hits), default=0.0) or 1.0
            span = band.highest - band.lowest
            for score, document, others in hits:
                hit = RankedHit(band.lowest + span * score / top, document, others)
                known = ranked.get(document.object_key)
                ranked[document.object_key] = merge_places(known, hit) if known else hit
        return list(ranked.values())

    def answer(self, tier: Tier, ranked: Sequence[RankedHit]) -> Answer:
        kept = self.limit(ranked)
        place_of = self._place_by_key() if len(kept) > _MANY_HITS else self._place
        hits = [
            make_hit(one, place_of)._replace(parts=(("words", one.document.score),)) for one in kept
        ]
        return Answer(hits, len(ranked), tier)

    def count(self, answer: Answer, ranked: Sequence[RankedHit]) -> Answer:
        """Return the answer with the number of all matching turns, and all places of its hits."""
        if not self._bands:
            return answer
        from ccgrep.search.every_place import find_every_place  # noqa: PLC0415 - only for JSON

        query = self.clauses.apply(self._query_of(self._bands))
        total, kept = find_every_place(self._reader, query, self.limit(ranked))
        return self.answer(answer.tier, kept)._replace(total=total)

    def complete_query(self, required: list[Requirement]) -> Query:
        """Return a query for the turns that have all words, if phrases are verified."""
        return self._query_of(self.all_bands(required))

    def _query_of(self, bands: Sequence[Band]) -> Query:
        """Return a query for the hits of all bands.

        The last one has the hits of all others, but for those by their title in the first one.
        """
        ends = (bands[0], bands[-1])
        return self._reader.any_of([self._reader.combine(b.query, [], b.never) for b in ends])

    def is_complete(self, document: DocumentHit, required: list[Requirement]) -> bool:
        """Return whether the text of a turn has the phrases."""
        place = Place(*self._reader.discussion_at(document.address)[0])
        texts = Band(self._reader.everything(), (), (*_WITH_NOTES, "title"), 0.0, 1.0)
        return self._is_verified(place, document.object_key, required, texts)

    def limit(self, ranked: Iterable[RankedHit]) -> list[RankedHit]:
        """Return the hits within the request's limits."""
        return limit_hits(ranked, self._request.limit, self._request.per_session)

    def _place(self, document: DocumentHit) -> Place:
        return Place(*self._reader.place(document.address))

    def _place_by_key(self) -> Callable[[DocumentHit], Place]:
        """Return what `_place` does for many hits: it maps session keys, and opens no document."""
        sessions = {hash_session_id(id): id for id in self._reader.value_counts("session")}
        return lambda document: Place(sessions[document.session_key], document.turn)

    def _search(
        self, band: Band, required: list[Requirement], limit: int, is_relaxed: bool
    ) -> list[RankedHit]:
        """Return the hits of a band, at least as many as the limit if there are that many."""
        query = self.clauses.apply(band.query, never=band.never)
        needs_text = bool(band.literals) or any(one.needs_text(band.fields) for one in required)
        first = _FETCH_IN_CONTEXT if is_relaxed else _FIRST_FETCH
        fetch = max(first, 4 * limit) if limit else 0
        verified: dict[Place, bool] = {}
        while True:
            documents = self._reader.search(query, fetch)
            if is_relaxed:
                least = _MIN_SHARE * max((one.score for one in documents), default=0.0)
                relevant = [one for one in documents if one.score >= least]
                ranked = rank(relevant, self._newest, in_context=True)
            else:
                ranked = rank(documents, self._newest)
            if needs_text:
                ranked = self._verify(ranked, required, band, limit, verified)
            if not fetch or len(documents) < fetch:
                return ranked
            kept = self.limit(ranked)
            # Documents that were not fetched must not be able to pass those that were, except by
            # what their neighbours add.
            if len(kept) == limit and (
                is_relaxed or documents[-1].score < _MAX_LOSS * kept[-1].score
            ):
                return ranked
            fetch *= 8

    def _verify(
        self,
        ranked: Sequence[RankedHit],
        required: list[Requirement],
        band: Band,
        limit: int,
        verified: dict[Place, bool],
    ) -> list[RankedHit]:
        """Return the hits whose text has the phrases; `verified` has the results so far."""
        if len(ranked) > _MANY_TEXTS:
            from ccgrep.hashing import load_openssl  # noqa: PLC0415 - few queries have phrases

            load_openssl()  # Objects of the store are hashed.
        if not band.fields:  # The index has verified all but the quoted phrases.
            required = [one.quoted() for one in required]
        kept: list[RankedHit] = []
        for hit in ranked:
            # The discussion is decompressed now, and kept for when it is verified and shown.
            place = Place(*self._reader.discussion_at(hit.document.address)[0])
            if place not in verified:
                key = hit.document.object_key
                verified[place] = self._is_verified(place, key, required, band)
            if verified[place]:
                kept.append(hit)
                if limit and len(self.limit(kept)) == limit:
                    break
        return kept

    def _is_verified(self, place: Place, key: int, required: list[Requirement], band: Band) -> bool:
        texts = {field: self._load(place, key, field) for field in band.fields or _DISCUSSION}
        if band.literals and not has_any(texts.values(), band.literals):
            return False
        if self._phrases is None:
            from ccgrep.search.phrase_check import PhraseCheck  # noqa: PLC0415 - few queries have phrases

            self._phrases = PhraseCheck(self._reader.stems, self._reader.tokens)
        return self._phrases.meets_any(required, texts)

    def all_bands(self, required: list[Requirement]) -> list[Band]:
        if self._request.types:
            return self._typed_bands(required)
        bonus = [query for one in required for query in self._near(one.units)]
        discussion = self.discussion_query(required)
        rest = self._query(required, lambda unit: self._in_any(_ALL_FIELDS, unit))
        last = self._query(required, lambda unit: self._in_any(_WITH_NOTES, unit))
        said = self._reader.combine(discussion, [], [], bonus)
        return [
            Band(said, self._machine, (), DISCUSSION_SCORE, 1.0),
            Band(rest, self._machine, _ALL_FIELDS, 0.25, DISCUSSION_SCORE),
            Band(last, (), _WITH_NOTES, 0.0, 0.25),
        ]

    def _as_typed_bands(self, discussion: Band) -> list[Band]:
        """Return a band for the hits in the discussion that have the query as typed, if any."""
        literals = find_literals(self._request)
        if not literals:
            return []
        candidates = literals_query(self._reader, literals)
        query = self._reader.combine(discussion.query, [candidates])
        return [discussion._replace(query=query, lowest=_AS_TYPED, literals=literals)]

    def discussion_query(self, required: list[Requirement]) -> Query:
        return self._query(required, self._in_discussion)

    def some_bands(self, split: list[list[Unit]], queries: list[list[Unit]]) -> list[Band]:
        """Return the bands of turns with some words; phrases and stop words add to the score."""
        required = [Requirement(units, min_units(len(units))) for units in split]
        if self._request.types:
            return self._typed_bands(required)
        whole = [unit for units in queries for unit in units]
        stop_words = [unit for unit in whole if unit.is_stop_word]
        bonus = [query for units in split for query in self._near(units)]
        bonus += [self._in("said", unit) for unit in whole if len(unit.stems) > 1]
        bonus += [
            self._reader.boosted(self._in("said", unit), _STOP_WORD_BOOST) for unit in stop_words
        ]
        first = self._reader.combine(self._query(required, self._anywhere), [], [], bonus)
        last = self._query(required, lambda unit: self._in_any(_WITH_NOTES, unit))
        return [
            Band(first, self._machine, _ALL_FIELDS, 0.25, 1.0),
            Band(last, (), _WITH_NOTES, 0.0, 0.25),
        ]

    def names_query(self, required: list[Requirement]) -> Query:
        """Return a query for turns that have all units, anywhere but in machine text."""
        return self._reader.combine(self.typed_query(required), [], self._machine)

    def typed_query(self, required: list[Requirement]) -> Query:
        """Return a query for turns that have all units in the requested kinds of text."""
        types = self._request.types
        fields = tuple(f for kind in types for f in _FIELDS[kind]) or _ALL_FIELDS
        return self._query(required, lambda unit: self._in_any(fields, unit))

    def _typed_bands(self, required: list[Requirement]) -> list[Band]:
        fields = tuple(field for kind in self._request.types for field in _FIELDS[kind])
        query = self._query(required, lambda unit: self._in_any(fields, unit))
        return [Band(query, self._machine, fields, 0.25, 1.0), Band(query, (), fields, 0.0, 0.25)]

    def _query(self, required: list[Requirement], build: Callable[[Unit], Query]) -> Query:
        queries = [
            self._reader.any_of([build(unit) for unit in one.units], one.at_least)
            for one in required
        ]
        return queries[0] if len(queries) == 1 else self._reader.best_of(queries)

    def _in_discussion(self, unit: Unit) -> Query:
        title = self._reader.boosted(self._in("title", unit), _TITLE_BOOST)
        return self._reader.best_of([self._in("said", unit), title])

    def _anywhere(self, unit: Unit) -> Query:
        """Return a query for a unit in any field, with a lower score outside the discussion.

        There the score depends only on how rare the words are, there and in the discussion. The
        length of an output says nothing about its subject.
        """
        stems = (*unit.stems, *unit.grams)
        in_discussion = self._rarity("said", stems)
        queries = [self._in_discussion(unit)]
        for field in _ALL_FIELDS[1:]:
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
