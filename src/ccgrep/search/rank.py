"""The order of hits. Pure: the result does not depend on the order of the input.

    score = relevance × (1 − r + r·2^(−age / half-life))      r = 0.05

Age counts from the newest turn of the store, not from the clock. Recency changes a score by at most
5 %, so it only orders hits that are about equally relevant.
"""

from __future__ import annotations

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.request import Hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ccgrep.search.request import Place

    PlaceKey = tuple[int, int]
    """A place as session key and turn number."""

_RECENCY = 0.05
_HALF_LIFE_MS = 30 * 86_400_000
SUBAGENT_FACTOR = 0.9
_NEIGHBOUR_WEIGHT = 0.15
_NEXT_BEST_WEIGHTS = (0.1, 0.05)
DIGITS = 5
"""Scores are rounded, because their last digits depend on the order of summation."""

MAIN, SUBAGENT, _WORKER, _SUPERSEDED, _DOCUMENT = range(len(KINDS))
MACHINE_KINDS = (_WORKER, _SUPERSEDED, _DOCUMENT)
"""Sessions that rank below all others."""


class RankedHit(NamedTuple):
    """A turn's best place and its other places, the most recent first."""

    score: float
    document: DocumentHit
    others: tuple[DocumentHit, ...] = ()


def make_hit(ranked: RankedHit, place_of: Callable[[DocumentHit], Place]) -> Hit:
    document = ranked.document
    also_in = tuple(map(place_of, ranked.others))
    kind = KINDS[document.kind]
    return Hit(place_of(document), ranked.score, document.started, kind, also_in)


def recency(started: int, newest: int) -> float:
    """Return a factor between 0.95 for old turns and 1 for the newest."""
    age = max(newest - started, 0)
    return float(1 - _RECENCY + _RECENCY * 2 ** (-min(age / _HALF_LIFE_MS, 64)))


def rank(
    documents: Sequence[DocumentHit], newest: int, in_context: bool = False
) -> list[RankedHit]:
    """Return the turns in order, each once with all its places.

    `in_context` adds what the turns around a hit say: see `add_context`.
    """
    scores = {id(one): one.score * recency(one.started, newest) for one in documents}
    if in_context:
        final = add_context({place_key(one): scores[id(one)] for one in documents})
        scores = {id(one): final[place_key(one)] for one in documents}
    _put_below_parents(documents, scores)
    return _group_by_turn([(round(scores[id(one)], DIGITS), one) for one in documents])


def place_key(document: DocumentHit) -> PlaceKey:
    return document.session_key, document.turn


def add_context(scores: Mapping[PlaceKey, float]) -> dict[PlaceKey, float]:
    """Add to each score that of the turn's neighbours, and to a session's best the next best.

    The answer to a question often stands beside the turn that has its words.
    """
    final = {
        (session, turn): score
        + _NEIGHBOUR_WEIGHT
        * (scores.get((session, turn - 1), 0.0) + scores.get((session, turn + 1), 0.0))
        for (session, turn), score in scores.items()
    }
    sessions: dict[int, list[PlaceKey]] = {}
    for key in scores:
        sessions.setdefault(key[0], []).append(key)
    for keys in sessions.values():
        keys.sort(key=lambda key: (-final[key], key))
        pairs = zip(_NEXT_BEST_WEIGHTS, keys[1:], strict=False)
        final[keys[0]] += sum(weight * final[key] for weight, key in pairs)
    return final


def _put_below_parents(documents: Sequence[DocumentHit], scores: dict[int, float]) -> None:
    """Rank sub-agents below the best hit of the session that started them."""
    best: dict[int, float] = {}
    for one in documents:
        if one.kind == MAIN:
            best[one.session_key] = max(best.get(one.session_key, 0.0), scores[id(one)])
    for one in documents:
        if one.kind == SUBAGENT:
            ceiling = best.get(one.parent_key)
            score = scores[id(one)] * SUBAGENT_FACTOR
            scores[id(one)] = score if ceiling is None else min(score, ceiling * (1 - 1e-4))


def _group_by_turn(scored: Iterable[tuple[float, DocumentHit]]) -> list[RankedHit]:
    """Return each turn once, at its most recent place, with its best score."""
    groups: dict[int, list[tuple[float, DocumentHit]]] = {}
    for score, document in scored:
        groups.setdefault(document.object_key, []).append((score, document))
    ranked = []
    for group in groups.values():
        first, *others = sorted((document for _, document in group), key=_recent_first)
        ranked.append(RankedHit(max(score for score, _ in group), first, tuple(others)))
    return sorted(ranked, key=lambda hit: (-hit.score, *_recent_first(hit.document)))


def merge_places(hit: RankedHit, other: RankedHit) -> RankedHit:
    """Return `hit` with the places that `other`, the same turn, has in addition."""
    all_places = (other.document, *other.others, *hit.others)
    places = {(one.session_key, one.turn): one for one in all_places}
    places.pop((hit.document.session_key, hit.document.turn), None)
    return hit._replace(others=tuple(sorted(places.values(), key=_recent_first)))


def append_hits(hits: Sequence[RankedHit], others: Sequence[RankedHit]) -> list[RankedHit]:
    """Return the hits, then the other turns with lower scores."""
    known = {hit.document.object_key for hit in hits}
    lowest = min((hit.score for hit in hits), default=1.0)
    rest = [hit for hit in others if hit.document.object_key not in known]
    return [*hits, *(hit._replace(score=hit.score * lowest) for hit in rest)]


def _recent_first(document: DocumentHit) -> tuple[bool, int, int, int]:
    is_superseded = document.kind == _SUPERSEDED  # These come last.
    return (is_superseded, -document.started, document.session_key, document.turn)


def limit_hits(ranked: Iterable[RankedHit], limit: int, per_session: int) -> list[RankedHit]:
    """Return the first `limit` hits, with at most `per_session` of one session; 0 is no limit."""
    kept: list[RankedHit] = []
    counts: dict[int, int] = {}
    for hit in ranked:
        if limit and len(kept) == limit:
            break
        session = hit.document.session_key
        counts[session] = counts.get(session, 0) + 1
        if not per_session or counts[session] <= per_session:
            kept.append(hit)
    return kept
