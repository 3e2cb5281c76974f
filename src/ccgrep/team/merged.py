"""Searches several places at once: teams' servers, and the store of this machine.

Each ranks its own turns, with scores up to 1. The answer has the hits of all by score. A turn
that is at the same place of several is shown once, from the first of them.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.index_opener import OpenIndex
from ccgrep.search.request import Answer, Filters, Hit, Place, Request
from ccgrep.search.searcher import Searcher, SearchOptions
from ccgrep.team.expressions import FIELDS, Statistics
from ccgrep.team.reader import TeamReader
from ccgrep.team.server import TeamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.config import Config
    from ccgrep.fulltext.reader import StoredTurn
    from ccgrep.kinds import Tier
    from ccgrep.model import Turn
    from ccgrep.search.snippet import MatchFinder

_NOTHING = Statistics(0, dict.fromkeys(FIELDS, 0), {})
_TIERS: tuple[Tier, ...] = ("all", "exact", "hybrid", "semantic", "most")


class MergedSearcher(Searcher):
    """A searcher of several searchers. Each turn comes from the one that found it."""

    def __init__(
        self, config: Config, searchers: Sequence[Searcher], warn: Callable[[str], None]
    ) -> None:
        self._searchers = searchers
        self._warn = warn
        self._origin: dict[str, Searcher] = {}
        super().__init__(config, OpenIndex(TeamReader((), _NOTHING, lambda _: ())), SearchOptions())

    def without_side_effects(self) -> Searcher:
        searchers = [one.without_side_effects() for one in self._searchers]
        return MergedSearcher(self._config, searchers, lambda _: None)

    def run(self, request: Request) -> tuple[Answer, MatchFinder]:
        answers = self._run_each(request)
        tiers = [answer.tier for _, answer, _ in answers if answer.hits]
        best = min(tiers, key=_TIERS.index, default=answers[0][1].tier)
        # Hits with all the words are not mixed with hits that lack some.
        kept = [(one, answer) for one, answer, _ in answers if answer.tier == best]
        found: dict[Place, Hit] = {}
        complete = 0
        for searcher, answer in kept:
            complete += answer.complete
            for hit in answer.hits:
                if self._origin.setdefault(hit.place.session, searcher) is searcher:
                    found.setdefault(hit.place, hit)
        hits = sorted(found.values(), key=lambda hit: (-hit.score, -hit.started, hit.place))
        merged = kept[0][1]._replace(
            hits=hits[: request.limit or None],
            total=sum(answer.total for _, answer in kept),
            complete=complete,
            is_cut_short=any(answer.is_cut_short for _, answer, _ in answers),
        )
        return merged, answers[0][2]

    def _run_each(self, request: Request) -> list[tuple[Searcher, Answer, MatchFinder]]:
        """Search everywhere. A server that fails is named, unless there is no other answer."""
        answers, errors = [], []
        for one in self._searchers:
            try:
                answers.append((one, *one.run(request)))
            except TeamError as error:
                errors.append(error)
        if not answers:
            raise errors[0]
        for problem in errors:
            self._warn(f"the answer is incomplete: {problem}")
        return answers

    def _searcher(self, session: str) -> Searcher:
        return self._origin.get(session, self._searchers[0])

    def stored_turn(self, place: Place) -> StoredTurn | None:
        return self._searcher(place.session).stored_turn(place)

    def turn(self, place: Place, key: int | None = None) -> Turn | None:
        return self._searcher(place.session).turn(place, key)

    def turn_id(self, place: Place) -> str:
        return self._searcher(place.session).turn_id(place)

    def title(self, session: str) -> str:
        return self._searcher(session).title(session)

    def owner(self, place: Place) -> str:
        return self._searcher(place.session).owner(place)

    def short_ids(self, ids: Iterable[str]) -> dict[str, str]:
        wanted = list(ids)
        each = [one.short_ids(wanted) for one in self._searchers]
        return {id: max((short[id] for short in each), key=len) for id in wanted}

    def sessions(self, filters: Filters) -> list[str]:
        return sorted({id for one in self._searchers for id in one.sessions(filters)})

    def count_turns(self, filters: Filters) -> int | None:  # noqa: ARG002 - not worth a call
        return None

    def count_words(self, request: Request) -> dict[str, int]:  # noqa: ARG002 - not worth a call
        return {}

    def count_hits(self, request: Request, answer: Answer) -> int | None:
        shown = len(answer.hits)
        return shown if not request.limit or shown < request.limit else None
