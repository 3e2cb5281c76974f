"""The order in which an exact search reads its candidates: by what they can score at most. Pure."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.rank import DIGITS, MAIN, SUBAGENT, SUBAGENT_FACTOR, recency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ccgrep.fulltext.reader import Hit as DocumentHit
    from ccgrep.search.rank import RankedHit


class ScoreBounds:
    """What turns can score at most, given by the `score` of their documents.

    `lower` takes the key of a turn and returns a factor for its bound, 0 if it cannot match. It is
    called for turns that the first bound does not rule out.
    """

    def __init__(
        self,
        documents: Sequence[DocumentHit],
        newest: int,
        lower: Callable[[int], float] | None = None,
    ) -> None:
        self._lower = lower
        self._turns: dict[int, list[DocumentHit]] = {}
        bounds: dict[int, float] = {}
        for one in documents:
            bound = one.score * recency(one.started, newest)
            bound *= SUBAGENT_FACTOR if one.kind == SUBAGENT else 1.0
            bounds[one.object_key] = max(bounds.get(one.object_key, 0.0), bound)
            self._turns.setdefault(one.object_key, []).append(one)
        self._heap = [(-bound, lower is None, key) for key, bound in bounds.items()]
        heapify(self._heap)
        self._unread: list[DocumentHit] = []  # other places of the last turn

    def ordered(self) -> Iterator[DocumentHit]:
        """Yield the documents in the order of their bounds, with all places of a turn together."""
        while self._heap:
            bound, is_final, key = heappop(self._heap)
            if not is_final and self._lower is not None:
                if factor := self._lower(key):
                    heappush(self._heap, (bound * factor, True, key))
                continue
            self._unread = self._turns[key][::-1]
            while self._unread:
                yield self._unread.pop()

    @property
    def is_empty(self) -> bool:
        return not self._heap and not self._unread

    def exclude_rest(self, kept: Sequence[RankedHit]) -> bool:
        """Return whether none of the documents that are left can change the first hits."""
        if self._unread:
            return False
        if self._heap and -self._heap[0][0] + 10**-DIGITS >= kept[-1].score:
            return False
        # A hit of its parent could put a sub-agent below the others.
        rest = (one for _, _, key in self._heap for one in self._turns[key])
        parents = {one.session_key for one in rest if one.kind == MAIN}
        shown = (one for hit in kept for one in (hit.document, *hit.others))
        return not any(one.kind == SUBAGENT and one.parent_key in parents for one in shown)
