"""Ranked word search in the full-text index.

A turn matches if it has all words, and quoted phrases as written. Hits come in bands whose scores
never overlap. In the first band, the discussion has all the words. In the second, tool calls, tool
output and thinking count too. The last band holds compaction summaries, worker sessions and
superseded sessions. If the query has punctuation of code, turns that have it as typed come before
the others of the first band.

If fewer turns than the limit have all words, turns that have some of them fill up the list. They
are ranked by how much of the query they answer. A longer query is a question, for which having all
words says little: one ranking holds the turns with all and with some words.
"""

from __future__ import annotations

from ccgrep.fulltext.document_id import hash_session_id
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import TextReader
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.as_typed import has_any
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import (
    Requirement,
    Unit,
    content_units,
    is_question,
    min_units,
)
from ccgrep.search.rank import (
    RankedHit,
    append_hits,
    limit_hits,
    make_hit,
    merge_places,
    rank,
)
from ccgrep.search.request import Answer, Place, Request
from ccgrep.search.word_bands import (
    ALL_FIELDS,
    AS_TYPED,
    DISCUSSION,
    WITH_NOTES,
    Band,
    BandBuilder,
    parse_patterns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.kinds import Tier
    from ccgrep.search.phrase_check import PhraseCheck

    LoadField = Callable[[Place, int, str], str]
    """Returns the text of a field of the turn at a place, whose key is known."""

    Verified = dict[int, int]
    """How many of the first fields of a turn, by its key, have the words: see `count_fields`."""

_FIRST_FETCH = 100
_FETCH_IN_CONTEXT = 500  # turns with some words, whose neighbours count
_MANY_HITS = 200
_MIN_SHARE = 0.2  # of the best score, for a hit without all words
_MANY_TEXTS = 20
_MAX_LOSS = 0.94
"""The factor by which ranking can lower a score at most, see rank.py."""


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


class WordSearch:
    """Searches the bands of a request, and verifies phrases on the text."""

    def __init__(
        self,
        reader: TextReader,
        request: Request,
        newest: int = 0,
        load: LoadField = lambda *_: "",
    ) -> None:
        self._reader = reader
        self._request = request
        self._clauses = filter_clauses(reader, request.filters)
        self._newest = newest
        self._load = load
        self._builder = BandBuilder(reader, request)
        self._bands: list[Band] = []  # what `count` counts
        self._phrases: PhraseCheck | None = None

    def find_all(self, required: list[Requirement]) -> list[RankedHit]:
        """Return the turns that have all words, in bands, until they are enough.

        Phrases must be verified on the text, so then all turns are found in order to count them.
        """
        is_verified = any(one.needs_text(ALL_FIELDS) for one in required)
        limit = 0 if self._request.needs_total and is_verified else self._request.limit
        first, *others = self._builder.all_words(required)
        self._bands = [first, *others] if self._request.needs_total and limit else []
        typed = self._find(self._builder.as_typed(first), required, limit)
        if typed:
            first = first._replace(highest=AS_TYPED)
        return self._find([first, *others], required, limit, found=typed)

    def find_some(self, split: list[list[Unit]], queries: list[list[Unit]]) -> list[RankedHit]:
        """Return the turns that have some of the words, in order of how much they answer."""
        required = [Requirement(units, min_units(len(units))) for units in split]
        bands = self._builder.some_words(split, queries)
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
        verified: Verified = {}
        for band in bands:
            if limit and len(self.limit(ranked.values())) == limit:
                break
            hits = self._search(band, required, limit, is_relaxed, verified)
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

        query = self._clauses.apply(self._builder.combine_bands(self._bands))
        total, kept = find_every_place(self._reader, query, self.limit(ranked))
        return self.answer(answer.tier, kept)._replace(total=total)

    def is_complete(self, document: DocumentHit, required: list[Requirement]) -> bool:
        """Return whether the text of a turn has the phrases."""
        texts = self._load_fields(document, (*WITH_NOTES, "title"))
        return self._phrase_check().meets_any(required, texts)

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
        self,
        band: Band,
        required: list[Requirement],
        limit: int,
        is_relaxed: bool,
        verified: Verified,
    ) -> list[RankedHit]:
        """Return the hits of a band, at least as many as the limit if there are that many."""
        query = self._clauses.apply(band.query, never=band.never)
        needs_text = bool(band.literals) or any(one.needs_text(band.fields) for one in required)
        first = _FETCH_IN_CONTEXT if is_relaxed else _FIRST_FETCH
        fetch = max(first, 4 * limit) if limit else 0
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
        verified: Verified,
    ) -> list[RankedHit]:
        """Return the hits whose text has the phrases; `verified` has the results so far."""
        if len(ranked) > _MANY_TEXTS:
            from ccgrep.hashing import load_openssl  # noqa: PLC0415 - few queries have phrases

            load_openssl()  # Objects of the store are hashed.
        if not band.fields:  # The index has verified all but the quoted phrases.
            required = [one.only_quoted() for one in required]
        kept: list[RankedHit] = []
        for hit in ranked:
            if self._is_verified(hit.document, required, band, verified):
                kept.append(hit)
                if limit and len(self.limit(kept)) == limit:
                    break
        return kept

    def _is_verified(
        self, document: DocumentHit, required: list[Requirement], band: Band, verified: Verified
    ) -> bool:
        if not band.fields:  # Titles differ between the turn's places.
            texts = self._load_fields(document, DISCUSSION)
            has_literal = not band.literals or has_any(texts.values(), band.literals)
            return has_literal and self._phrase_check().meets_any(required, texts)
        key, count = document.object_key, len(band.fields)
        if key not in verified:
            # Reading a turn takes long, so the next band needs the result for its fields, too.
            fields = WITH_NOTES if band.fields == ALL_FIELDS else band.fields
            texts = self._load_fields(document, fields)
            verified[key] = self._phrase_check().count_fields(required, texts, count)
        return verified[key] <= count

    def _load_fields(self, document: DocumentHit, fields: Sequence[str]) -> dict[str, str]:
        # The discussion is decompressed now, and kept for when it is verified and shown.
        place = Place(*self._reader.discussion_at(document.address)[0])
        return {field: self._load(place, document.object_key, field) for field in fields}

    def _phrase_check(self) -> PhraseCheck:
        if self._phrases is None:
            from ccgrep.search.phrase_check import PhraseCheck  # noqa: PLC0415 - few queries have phrases

            self._phrases = PhraseCheck(self._reader.stems, self._reader.tokens)
        return self._phrases
