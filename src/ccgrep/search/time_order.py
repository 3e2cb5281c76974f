"""Orders hits by time instead of score.

Words and patterns say which turns match, so the limit then applies to all of them in time order. A
search by meaning ranks every turn. It orders the hits that are within the limit.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.request import SEMANTIC_MODES, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccgrep.kinds import Order
    from ccgrep.search.request import Answer, Hit
    from ccgrep.search.snippet import MatchFinder

    Found = tuple[Answer, MatchFinder]


def run_in_time_order(run: Callable[[Request], Found], request: Request) -> Found:
    """Answer a request with the newest or the oldest hits first."""
    if request.mode in SEMANTIC_MODES:
        answer, finder = run(request._replace(order="score"))
    else:
        answer, finder = run(request._replace(order="score", limit=0, per_session=0))
    hits = _limit(sort_by_time(answer.hits, request.order), request)
    return answer._replace(hits=hits, total=max(answer.total, len(hits))), finder


def sort_by_time(hits: Iterable[Hit], order: Order) -> list[Hit]:
    sign = 1 if order == "oldest" else -1
    return sorted(
        hits, key=lambda hit: (sign * hit.started, hit.place.session, sign * hit.place.turn)
    )


def _limit(hits: Iterable[Hit], request: Request) -> list[Hit]:
    kept: list[Hit] = []
    counts: dict[str, int] = {}
    for hit in hits:
        if request.limit and len(kept) == request.limit:
            break
        count = counts[hit.place.session] = counts.get(hit.place.session, 0) + 1
        if not request.per_session or count <= request.per_session:
            kept.append(hit)
    return kept
