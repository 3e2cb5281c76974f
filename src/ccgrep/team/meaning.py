"""Semantic and hybrid search on a team's server: the server compares, this module ranks.

The query is embedded here. The server returns the similarities of candidates, and how similar the
query is to texts in general. The ranking is that of a store.
"""

from __future__ import annotations

from typing import Any

from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.semantic_rank import find_limits, search_semantic
from ccgrep.search.semantic_search import choose_surfaces
from ccgrep.semantic.languages import is_english
from ccgrep.semantic.similarity_scale import Match, make_background
from ccgrep.semantic.stored_vectors import EmbeddedQuery, embed_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ccgrep.config import Config
    from ccgrep.search.request import Answer, Request
    from ccgrep.team.candidate import Candidate
    from ccgrep.team.reader import TeamReader


class Meaning:
    """What a request asks of a server's vectors."""

    def __init__(self, config: Config, request: Request, warn: Callable[[str], None]) -> None:
        self._request = request
        self._warn = warn
        self._surfaces = choose_surfaces(config, request)
        self._queries = embed_queries(config, request.patterns, warn)
        alpha = config.alpha if request.alpha is None else request.alpha
        self._alpha = 1.0 if request.mode == "semantic" else alpha

    def question(self) -> dict[str, Any]:
        """Return the part of the question to a server that names vectors."""
        return {
            "models": [
                {"model": one.model, "dimensions": one.dimensions, "queries": one.vectors}
                for one in self._queries
            ],
            "surfaces": [SURFACES.index(surface) for surface in self._surfaces],
        }

    def rank(
        self, reader: TeamReader, request: Request, background: Sequence[Sequence[Any]], newest: int
    ) -> Answer:
        """Rank the candidates. `request` is without the filters that they have passed."""
        queries = [
            _TeamQuery(number, query, reader.candidates, known)
            for number, (query, known) in enumerate(zip(self._queries, background, strict=True))
        ]
        if not any(query.count for query in queries):
            model = self._queries[0].model
            self._warn(f"the server has no vectors of the model {model}: push to it again")
        first, *others = queries
        second = next((query for query in others if query.count), None)
        # The first model knows only English. To it, all Chinese texts are similar.
        is_known = second is None or all(map(is_english, self._request.patterns))
        return search_semantic(
            reader,
            request,
            newest,
            first if is_known else None,
            second,
            self._surfaces,
            self._alpha,
        )


class _TeamQuery:
    """A query to one model. The keys of texts are those that `TeamReader.keys` makes up."""

    def __init__(
        self,
        number: int,
        query: EmbeddedQuery,
        candidates: Sequence[Candidate],
        known: Sequence[Any],
    ) -> None:
        self._number = number
        self._candidates = candidates
        texts, mean, variance = known
        self.count: int = texts
        self.limits = find_limits(query.scale, query.is_multilingual)
        self._background = make_background(texts, mean or 0.0, variance or 0.0, query.scale)

    def nearest(self, limit: int) -> Mapping[int, Match]:
        keys = range(1, len(self._candidates) * len(SURFACES) + 1)
        found = sorted(self.of(keys).items(), key=lambda item: (-item[1].similarity, item[0]))
        return dict(found[:limit])

    def of(self, keys: Iterable[int]) -> Mapping[int, Match]:
        found: dict[int, Match] = {}
        for key in keys:
            position, surface = divmod(key - 1, len(SURFACES))
            if key and (match := self._candidates[position].similarity(self._number, surface)):
                deviation = self._background.deviation(match.similarity)
                found[key] = match._replace(deviation=deviation)
        return found
