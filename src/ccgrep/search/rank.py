"""The order of hits. Pure: the same hits give the same order, whatever order they come in.

    score = relevance × (1 − r + r·2^(−age / half-life))      r = 0.05

Age counts from the newest turn of the store, not from the clock. Recency can move a hit by a
twentieth of its score at most, so it decides between equals and near equals only.
"""

from __future__ import annotations

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Hit as Found
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_RECENCY = 0.05
_HALF_LIFE_MS = 30 * 86_400_000
_SUBAGENT = 0.9
_SESSION = 0.2
_DIGITS = 5
"""Scores are compared with so many digits: the last ones depend on the order of summation."""

MAIN, SUBAGENT, WORKER, SUPERSEDED = range(len(KINDS))


class Ranked(NamedTuple):
    """A hit and the same turn's other places, the most recent first."""

    score: float
    found: Found
    others: tuple[Found, ...] = ()


def recency(started: int, newest: int) -> float:
    """Between 0.95 for the old and 1 for the newest."""
    age = max(newest - started, 0)
    return float(1 - _RECENCY + _RECENCY * 2 ** (-min(age / _HALF_LIFE_MS, 64)))


def rank(found: Sequence[Found], newest: int, by_session: bool = False) -> list[Ranked]:
    """Hits in order, the same turn at several places folded into one.

    `by_session` lets a turn gain from the best other hit of its session: for a question, of
    which no turn has all words, a session that speaks of it more than once is more likely.
    """
    scores = {id(one): one.score * recency(one.started, newest) for one in found}
    if by_session:
        _add_session_bonus(found, scores)
    _put_below_parents(found, scores)
    return fold([(round(scores[id(one)], _DIGITS), one) for one in found])


def _add_session_bonus(found: Sequence[Found], scores: dict[int, float]) -> None:
    best: dict[int, list[float]] = {}
    for one in found:
        two = best.setdefault(one.session_key, [])
        two.append(scores[id(one)])
        two.sort(reverse=True)
        del two[2:]
    for one in found:
        own = scores[id(one)]
        first, second = (*best[one.session_key], 0.0)[:2]
        scores[id(one)] = own + _SESSION * (second if own == first else first)


def _put_below_parents(found: Sequence[Found], scores: dict[int, float]) -> None:
    """A sub-agent ranks below the session that it served."""
    best: dict[int, float] = {}
    for one in found:
        if one.kind == MAIN:
            best[one.session_key] = max(best.get(one.session_key, 0.0), scores[id(one)])
    for one in found:
        if one.kind == SUBAGENT:
            ceiling = best.get(one.parent_key)
            score = scores[id(one)] * _SUBAGENT
            scores[id(one)] = score if ceiling is None else min(score, ceiling * (1 - 1e-4))


def fold(scored: Iterable[tuple[float, Found]]) -> list[Ranked]:
    """One hit a turn, at its most recent place, with the best score of all its places."""
    places: dict[int, list[tuple[float, Found]]] = {}
    for score, found in scored:
        places.setdefault(found.object_key, []).append((score, found))
    folded = []
    for group in places.values():
        if len(group) == 1:
            folded.append(Ranked(*group[0]))
            continue
        founds = sorted((found for _, found in group), key=_recent_first)
        folded.append(Ranked(max(score for score, _ in group), founds[0], tuple(founds[1:])))
    return sorted(folded, key=lambda one: (-one.score, *_recent_first(one.found)))


def joined(known: Ranked, more: Ranked) -> Ranked:
    """A hit with the places that another band has found of the same turn."""
    if more.found[2:] == known.found[2:] and not more.others:
        return known
    places = {(one.session_key, one.turn): one for one in (more.found, *more.others)}
    places |= {(one.session_key, one.turn): one for one in known.others}
    places.pop((known.found.session_key, known.found.turn), None)
    return known._replace(others=tuple(sorted(places.values(), key=_recent_first)))


def _recent_first(found: Found) -> tuple[bool, int, int, int]:
    """What stood in a rewritten file comes last."""
    return (found.kind == SUPERSEDED, -found.started, found.session_key, found.turn)


def scaled(ranked: Sequence[Ranked], lowest: float, highest: float) -> list[Ranked]:
    """Scores between `lowest` and `highest`, the best getting the highest."""
    top = max((one.score for one in ranked), default=0.0) or 1.0
    span = highest - lowest
    return [Ranked(lowest + span * one.score / top, one.found, one.others) for one in ranked]


def at_most(ranked: Iterable[Ranked], limit: int, per_session: int) -> list[Ranked]:
    """The first `limit` hits, with at most `per_session` of one session; 0 is no limit."""
    kept: list[Ranked] = []
    counts: dict[int, int] = {}
    for one in ranked:
        if limit and len(kept) == limit:
            break
        session = one.found.session_key
        counts[session] = counts.get(session, 0) + 1
        if not per_session or counts[session] <= per_session:
            kept.append(one)
    return kept
