"""Semantic and hybrid ranking.

    hybrid  = alpha × meaning + (1 − alpha) × word score / the best word score
    meaning = 0.7 × the most similar text of the turn + 0.3 × the other of prompt and answer

Similarities count as standard deviations above that of an average text. Deviations are comparable
between queries and models; raw cosines are not. So the meaning by the multilingual model, if it is
used, is added to that by the first model. It is the only one for a query that is not in English,
which the first model does not know. An English query is whitened, see `semantic/whitening.py`.

A turn that has every name and number of the query ranks above turns that are merely similar. A turn
gains from the turns before and after it, and the best turn of a session from the next best.
docs/relevance.md has the measurements. Filters come first: if few turns pass them, each is compared
with the query; otherwise the nearest texts are fetched, more and more of them until enough pass.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.search.filters import filter_clauses
from ccgrep.search.query import STOP_WORDS
from ccgrep.search.rank import (
    MACHINE_KINDS,
    add_context,
    limit_hits,
    make_hit,
    place_key,
    rank,
    recency,
)
from ccgrep.search.request import Answer, Passage, Place
from ccgrep.search.word_candidates import find_exact, has_known_word, score_words
from ccgrep.semantic.languages import is_english

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccgrep.fulltext.reader import Hit as DocumentHit
    from ccgrep.fulltext.reader import TextReader
    from ccgrep.kinds import Tier
    from ccgrep.search.filters import FilterClauses
    from ccgrep.search.rank import PlaceKey, RankedHit
    from ccgrep.search.request import Request
    from ccgrep.semantic.similarity_scale import Match, SimilarityScale

_NEAR_POSITION = 0.43
"""A text that is lower than this on the model's similarity scale is about something else."""
_SURE_POSITION = 0.78
"""The least position of the best hit if no word of the query occurs in any discussion.

For MiniLM it is a cosine of 0.42. For 300 strings of random letters, syllables and digits, on five
conversations, the best hit had at most 0.40 (median 0.23). For 997 real questions the median was
0.60, and 99 % had at least 0.46. docs/relevance.md has other models."""
_SHARED_WEIGHT = 0.7
"""The weight of each model's meaning if there are two."""

_OTHER_SIDE_WEIGHT = 0.3
_HIGH_DEVIATION = 6.0
"""How many standard deviations count as much as the best word score."""
_EXACT_BONUS = 1.0
_TITLE_FACTOR = 0.9
_MAX_COMPARED = 5000
"""How many turns are compared one by one; if more pass the filters, the nearest are fetched."""
_FIRST_FETCH = 256
_MIN_WORD_SCORE = 0.2
_MACHINE_FACTOR = 0.25


class Limits(NamedTuple):
    """The cosines of a model from which on a text is near, and surely about the query."""

    near: float
    sure: float


_MULTILINGUAL_LIMITS = Limits(0.3, 0.45)
"""In samples of 300 texts, 99 % of questions about other subjects were below 0.40, and all below
0.46. Only sentences count: to this model, any two strings of random letters or digits are alike."""


def find_limits(scale: SimilarityScale, is_multilingual: bool) -> Limits:
    """Return the limits of a model."""
    if is_multilingual:
        return _MULTILINGUAL_LIMITS
    return Limits(scale.at(_NEAR_POSITION), scale.at(_SURE_POSITION))


class Query(Protocol):
    """Embedded patterns that can be compared with texts; a text counts by its best pattern."""

    @property
    def limits(self) -> Limits: ...

    @property
    def count(self) -> int:
        """The number of vectors to compare with."""

    def nearest(self, limit: int) -> Mapping[int, Match]:
        """Return the most similar texts by their keys."""

    def of(self, keys: Iterable[int]) -> Mapping[int, Match]:
        """Return the most similar parts of these texts."""


class _Likeness(NamedTuple):
    """How similar a turn is to the query by one model, and its most similar part."""

    meaning: float = 0.0
    passage: Passage | None = None
    is_near: bool = False
    is_sure: bool = False


class _ScoredTurn(NamedTuple):
    """A turn with its scores. `second` is by the multilingual model."""

    document: DocumentHit
    words: float
    first: _Likeness
    second: _Likeness

    @property
    def passage(self) -> Passage | None:
        """Return what is similar in the turn, or None if it was found by its words alone."""
        near = next((one for one in (self.first, self.second) if one.is_near), None)
        return near.passage if near is not None else None

    @property
    def is_near(self) -> bool:
        return self.first.is_near or self.second.is_near


def search_semantic(
    reader: TextReader,
    request: Request,
    newest: int,
    first: Query | None,
    second: Query | None,
    surfaces: Sequence[str],
    alpha: float,
) -> Answer:
    """Return the most similar turns; with `alpha` below 1, also those that have the words.

    `second` is the query to the multilingual model. Either of the two may be missing.
    """
    tier: Tier = "hybrid" if alpha < 1 else "semantic"
    queries = [query for query in (first, second) if query is not None]
    weight = alpha * (_SHARED_WEIGHT if len(queries) > 1 else 1.0)
    words = score_words(reader, request) if alpha < 1 else []
    exact = {place_key(one) for one in find_exact(reader, request)} if alpha < 1 else set()
    similar = _find_similar(reader, request, queries, surfaces)
    turns = _score_turns(reader, first, second, surfaces, similar, words)
    scores = {
        key: weight * (turn.first.meaning + turn.second.meaning)
        + (1 - alpha) * turn.words
        + _EXACT_BONUS * (key in exact)
        for key, turn in turns.items()
    }
    hit_keys = _hit_keys(reader, request, turns, has_words=bool(words))
    final = add_context(scores)
    # Again, because what a similar turn gains from its context could make up for the first bonus.
    final.update({key: final[key] + _EXACT_BONUS for key in exact & final.keys()})
    top = max(hit_keys, key=lambda key: final[key], default=None)
    if top is None:
        return Answer([], 0, tier)
    scale = min(scores[top], 1.0) / final[top] if final[top] > 0 else 1.0
    documents = [
        turns[key].document._replace(score=max(final[key] * scale, 0.0)) for key in hit_keys
    ]
    ranked = _rank_machines_last(documents, newest)
    hits = []
    for one in limit_hits(ranked, request.limit, request.per_session):
        turn = turns[place_key(one.document)]
        parts = (
            ("meaning", turn.first.meaning),
            *([("multilingual", turn.second.meaning)] if second is not None else []),
            ("words", turn.words),
            ("exact", float(place_key(one.document) in exact)),
            ("recency", recency(one.document.started, newest)),
        )
        hit = make_hit(one, lambda document: Place(*reader.place(document.address)))
        hits.append(hit._replace(passage=turn.passage, parts=parts))
    return Answer(hits, len(ranked), tier)


def _hit_keys(
    reader: TextReader, request: Request, turns: Mapping[PlaceKey, _ScoredTurn], has_words: bool
) -> set[PlaceKey]:
    """Return the turns that are similar enough or have enough of the words."""
    if not has_words and not _is_answered(reader, request, turns.values()):
        return set()
    return {key for key, turn in turns.items() if turn.is_near or turn.words >= _MIN_WORD_SCORE}


def _is_answered(reader: TextReader, request: Request, turns: Iterable[_ScoredTurn]) -> bool:
    """Return whether any turn is near, for queries without known words by a higher limit."""
    is_known = has_known_word(reader, request)
    # To the first model, an unknown number or hash is similar to any other.
    by_first = is_known or not any(map(str.isdigit, "".join(request.patterns)))
    by_second = all(map(_is_sentence, request.patterns))
    return any(
        (by_first and turn.first.is_sure)
        or (is_known and turn.first.is_near)
        or (by_second and turn.second.is_sure)
        for turn in turns
    )


def _is_sentence(text: str) -> bool:
    """Return whether a query has a stop word, or is in another language than English."""
    return not is_english(text) or any(word in STOP_WORDS for word in text.lower().split())


def _score_turns(
    reader: TextReader,
    first: Query | None,
    second: Query | None,
    surfaces: Sequence[str],
    similar: Sequence[DocumentHit],
    words: Sequence[DocumentHit],
) -> dict[PlaceKey, _ScoredTurn]:
    """Score the turns that are similar and those in `words`, which have word scores."""
    documents = {place_key(one): one for one in (*similar, *words)}
    best = max((one.score for one in words), default=0.0) or 1.0
    word_scores = {place_key(one): one.score / best for one in words}
    addresses = [one.address for one in documents.values()]
    by_surface = [reader.keys(addresses, surface) for surface in surfaces]
    own_keys = list(zip(*by_surface, strict=True))
    likeness = [_compare(query, surfaces, own_keys) for query in (first, second)]
    return {
        place: _ScoredTurn(document, word_scores.get(place, 0.0), *likeness_of_turn)
        for (place, document), likeness_of_turn in zip(
            documents.items(), zip(*likeness, strict=True), strict=True
        )
    }


def _compare(
    query: Query | None, surfaces: Sequence[str], own_keys: Sequence[tuple[int, ...]]
) -> list[_Likeness]:
    """Compare turns, given by the keys of their texts on each surface, with a query if any."""
    if query is None:
        return [_Likeness()] * len(own_keys)
    matches = query.of({key for keys in own_keys for key in keys})
    found = []
    for keys in own_keys:
        pairs = zip(surfaces, keys, strict=True)
        sides = {surface: matches[key] for surface, key in pairs if key in matches}
        found.append(_compare_turn(sides, query.limits) if sides else _Likeness())
    return found


def _find_similar(
    reader: TextReader, request: Request, queries: Sequence[Query], surfaces: Sequence[str]
) -> Sequence[DocumentHit]:
    clauses = filter_clauses(reader, request.filters)
    passing = clauses.apply(reader.everything())
    if reader.count(passing) <= _MAX_COMPARED:
        return reader.search(passing)
    return [
        document
        for query in queries
        for document in _find_nearest(reader, request, query, surfaces, clauses)
    ]


def _find_nearest(
    reader: TextReader,
    request: Request,
    query: Query,
    surfaces: Sequence[str],
    clauses: FilterClauses,
) -> Sequence[DocumentHit]:
    limit = _FIRST_FETCH
    while True:
        nearest = query.nearest(limit)
        keys = [key for key, one in nearest.items() if one.similarity >= query.limits.near]
        documents = reader.search(clauses.apply(reader.with_keys(surfaces, keys)))
        is_all = len(keys) < limit or limit >= query.count
        if is_all or _is_enough(documents, request):
            return documents
        limit *= 8


def _is_enough(documents: Sequence[DocumentHit], request: Request) -> bool:
    """Return whether there are several times as many turns as the request's limit."""
    sessions: dict[int, set[int]] = {}
    for one in documents:
        session = one.session_key if request.per_session else 0
        sessions.setdefault(session, set()).add(one.object_key)
    most = request.per_session or len(documents)
    return 0 < 4 * request.limit <= sum(min(len(turns), most) for turns in sessions.values())


def _compare_turn(sides: Mapping[str, Match], limits: Limits) -> _Likeness:
    factors = {surface: _TITLE_FACTOR if surface == "title" else 1.0 for surface in sides}
    similarity = max(one.similarity * factors[surface] for surface, one in sides.items())
    weighted = {
        surface: max(one.deviation, 0.0) * factors[surface] for surface, one in sides.items()
    }
    best = max(weighted, key=lambda surface: (weighted[surface], sides[surface].similarity))
    pair = [weighted[surface] for surface in ("prompt", "answer") if surface in weighted]
    other = min(pair) if len(pair) == 2 else 0.0
    deviation = (1 - _OTHER_SIDE_WEIGHT) * weighted[best] + _OTHER_SIDE_WEIGHT * other
    return _Likeness(
        meaning=deviation / _HIGH_DEVIATION,
        passage=Passage(best, sides[best].start, sides[best].end),
        is_near=similarity >= limits.near,
        is_sure=similarity >= limits.sure,
    )


def _rank_machines_last(documents: Iterable[DocumentHit], newest: int) -> list[RankedHit]:
    """Rank the turns; those of worker and superseded sessions come below all others."""
    groups: tuple[list[DocumentHit], list[DocumentHit]] = ([], [])
    for one in documents:
        groups[one.kind in MACHINE_KINDS].append(one)
    first, machine = (rank(group, newest) for group in groups)
    factor = min((hit.score for hit in first), default=1.0) * _MACHINE_FACTOR
    known = {hit.document.object_key for hit in first}
    last = [hit._replace(score=hit.score * factor) for hit in machine]
    return [*first, *(hit for hit in last if hit.document.object_key not in known)]
