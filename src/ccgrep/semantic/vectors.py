"""Find the texts whose vectors are nearest to a query.

numkong compares all vectors: 65,536 in 9 ms, and in 17 ms if their file has to be read from disk.
Searching usearch's graph over them takes 10 ms, from disk 112 ms because it reads at random, and
importing usearch takes 28 ms. So graphs are used only beyond a million vectors, the most that were
measured: comparing that many reads 768 MB.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.similarity_scale import Background, Match, SimilarityScale, make_background
from ccgrep.semantic.vector_files import (
    ROUGH_ERROR,
    CheckedFiles,
    Segment,
    sort_unique,
    unique_keys,
)
from ccgrep.semantic.whitening import whiten

MAX_WITHOUT_GRAPHS = 1_000_000
_GRAPH_FACTOR = 8
"""A graph is used only for less than this part of a segment: else comparing all is as fast."""
_TRIES = 5
_SAMPLE = 2000
_EXPANSION = 256


class Probe(NamedTuple):
    """A query as texts are compared with it."""

    query: NDArray[np.float32]
    ranking: NDArray[np.float32]
    """The query, or the whitened query: its dot products are counted as deviations."""
    background: Background


class Vectors:
    """The vectors of one model."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        for _ in range(_TRIES):
            try:
                self._open()
            except FileNotFoundError:
                continue  # Another process folded a segment after the listing.
            return
        self._open(ignores_missing=True)

    def _open(self, ignores_missing: bool = False) -> None:
        self.checked = CheckedFiles(self._directory)
        self.damaged: list[str] = []
        self.segments: list[Segment] = []
        self._graphs: dict[str, str] = {}
        for name in self.checked.names():
            try:
                self._open_file(name)
            except FileNotFoundError:
                if not ignores_missing:
                    raise

    def _open_file(self, name: str) -> None:
        path = os.path.join(self._directory, name)
        if not self.checked.is_intact(name):
            self.damaged.append(name)
        elif name.endswith(".vec"):
            self.segments.append(Segment(path))
        elif name.endswith(".hnsw"):
            self._graphs[name.partition("-")[0]] = path

    @property
    def count(self) -> int:
        return sum(segment.count for segment in self.segments)

    def keys(self) -> NDArray[np.int64]:
        """Return the keys of all texts, sorted."""
        return unique_keys(segment.rows["key"] for segment in self.segments)

    def nearest(self, query: NDArray[np.float32], limit: int) -> dict[int, Match]:
        """Return the nearest texts with their best matches, at most `limit`."""
        best: dict[int, Match] = {}
        uses_graphs = self.count > MAX_WITHOUT_GRAPHS
        for segment in self.segments:
            graph = self._graphs.get(segment.name) if uses_graphs else None
            positions = _nearest(segment, graph, query, limit)
            similarities = segment.similarities(query[:, None], positions)[:, 0]
            _keep_best(best, segment, positions, similarities, np.zeros_like(similarities))
        ranked = sorted(best.items(), key=lambda item: (-item[1].similarity, item[0]))
        return dict(ranked[:limit])

    def probe(
        self, query: NDArray[np.float32], scale: SimilarityScale, is_whitened: bool = False
    ) -> Probe:
        """Measure how similar the texts are to a query, by a sample that is always the same."""
        step = max(self.count // _SAMPLE, 1)
        parts = [one.vectors[::step].astype(np.float32) for one in self.segments]
        sample = np.concatenate(parts) if parts else np.empty((0, len(query)), np.float32)
        whitened = whiten(query, sample) if is_whitened else None
        if whitened is not None:
            actual = sample @ whitened
            return Probe(query, whitened, Background(float(actual.mean()), float(actual.std())))
        actual = sample @ query
        mean, variance = (actual.mean(), actual.var()) if actual.size else (0.0, 0.0)
        background = make_background(actual.size, float(mean), float(variance), scale)
        return Probe(query, query, background)

    def of(self, keys: Iterable[int], probe: Probe) -> dict[int, Match]:
        """Return the best match of each of these texts that is embedded."""
        unique = sort_unique(np.fromiter(keys, np.int64))
        both = np.stack([probe.query, probe.ranking], axis=1)
        mean, spread = probe.background
        best: dict[int, Match] = {}
        for segment in self.segments:
            positions = segment.positions(unique)
            if len(positions):
                similarities, ranking = segment.similarities(both, positions).T
                _keep_best(best, segment, positions, similarities, (ranking - mean) / spread)
        return best


def _keep_best(
    best: dict[int, Match],
    segment: Segment,
    positions: NDArray[np.intp],
    similarities: NDArray[np.float32],
    deviations: NDArray[np.float32],
) -> None:
    rows = segment.rows[positions].tolist()
    for row, similarity, deviation in zip(
        rows, similarities.tolist(), deviations.tolist(), strict=True
    ):
        key, start, end = row
        known = best.get(key)
        if known is None or similarity > known.similarity:
            best[key] = Match(similarity, start, end, deviation)


def _nearest(
    segment: Segment, graph: str | None, query: NDArray[np.float32], limit: int
) -> NDArray[np.intp]:
    """Return the positions of the nearest vectors, of at least `limit` texts if there are so many.

    A long text has many vectors, so the number of vectors grows until there are enough texts.
    """
    size = min(limit, segment.count)
    while True:
        found = None
        if graph is not None and size * _GRAPH_FACTOR < segment.count:
            found = _search_graph(graph, query, size)
        if found is None:
            found = _compare_all(segment, query, size)
        if size == segment.count or len(sort_unique(segment.rows["key"][found])) >= limit:
            return found
        size = min(4 * size, segment.count)


def _compare_all(segment: Segment, query: NDArray[np.float32], size: int) -> NDArray[np.intp]:
    """Return the positions of the nearest vectors, and of those that may be as near."""
    rough = segment.rough_similarities(query)
    least = np.partition(rough, -size)[-size] - ROUGH_ERROR
    return np.flatnonzero(rough >= least)


def _search_graph(path: str, query: NDArray[np.float32], limit: int) -> NDArray[np.intp] | None:
    """Return the nearest positions, or None if another process removed the graph.

    The graph's distances are not used: some processors sum them in half precision.
    """
    from usearch.index import Index  # noqa: PLC0415 - only for many vectors

    expansion = max(_EXPANSION, limit)
    graph = Index(ndim=len(query), metric="cos", dtype="f16", expansion_search=expansion)
    try:
        graph.view(path)
    except RuntimeError:
        return None
    return np.asarray(graph.search(query, min(limit, len(graph))).keys, np.intp)
