"""Add, prune and repair the vectors of one model, under the lock of its directory."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.vector_files import (
    HINTS,
    ROW,
    Segment,
    content_name,
    encode_segment,
    sort_unique,
    unique_keys,
)
from ccgrep.semantic.vectors import MAX_WITHOUT_GRAPHS, Vectors
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, is_damaged
from ccgrep.store.store import Store

MAX_VECTORS = 64 * 1024
GRAPH_VECTORS = 16 * 1024
"""The size from which a segment has a graph, in a directory with enough vectors to use it."""


class Batch(NamedTuple):
    """Vectors to add, each with the key of its text and its span there."""

    keys: Sequence[int]
    spans: Sequence[tuple[int, int]]
    vectors: NDArray[np.float32]


def join_batches(batches: Sequence[Batch]) -> Batch:
    keys = [key for batch in batches for key in batch.keys]
    spans = [span for batch in batches for span in batch.spans]
    return Batch(keys, spans, np.concatenate([batch.vectors for batch in batches]))


def blank_batch(keys: Sequence[int], dimensions: int) -> Batch:
    """Return zero vectors for texts without tokens: they are embedded, but match nothing."""
    return Batch(keys, [(0, 0)] * len(keys), np.zeros((len(keys), dimensions), np.float32))


class VectorWriter:
    """Writes the segments of a model's directory. The caller holds its lock.

    `graph_vectors` is the size from which a segment has a graph, in any directory.
    """

    def __init__(self, store: Store, directory: str, graph_vectors: int | None = None) -> None:
        self._tmp_dir = store.tmp_dir
        self._directory = directory
        self._graph_vectors = graph_vectors
        fsio.make_dir(directory)

    def add(self, batch: Batch) -> None:
        """Write vectors, and fold small segments into the new one."""
        rows = np.empty(len(batch.keys), ROW)
        rows["key"] = batch.keys
        rows["start"], rows["end"] = zip(*batch.spans, strict=True)
        self.add_rows(rows, batch.vectors.astype("<f2"))

    def add_rows(self, rows: Any, vectors: Any) -> None:
        """Write vectors, in the form in which files have them."""
        old = Vectors(self._directory)
        self._drop(old.damaged)
        folded = self._choose_folded(old.segments, len(rows))
        old_rows = np.concatenate([rows[:0], *(segment.rows for segment in folded)])
        # After an interruption the same batch may be added again.
        is_new = ~np.isin(rows, old_rows)
        if not is_new.any():
            return
        all_rows = np.concatenate([old_rows, rows[is_new]])
        matrix = np.concatenate([*(segment.vectors for segment in folded), vectors[is_new]])
        for start in range(0, len(all_rows), MAX_VECTORS):
            part = slice(start, start + MAX_VECTORS)
            self._write(all_rows[part], matrix[part])
        self._remove(folded)
        self.write_checked()

    @staticmethod
    def _choose_folded(segments: Iterable[Segment], size: int) -> list[Segment]:
        folded = []
        for segment in sorted(segments, key=lambda segment: segment.count):
            if segment.count > size or size + segment.count > MAX_VECTORS:
                break
            folded.append(segment)
            size += segment.count
        return folded

    def prune(self, live: NDArray[np.int64]) -> int:
        """Drop the vectors of all texts but these, and return their number."""
        dropped = 0
        old = Vectors(self._directory)
        self._drop_leftovers(old)  # They may hold vectors of forgotten texts.
        for segment in old.segments:
            is_live = np.isin(segment.rows["key"], live)
            dropped += segment.count - int(is_live.sum())
            self._keep(segment, is_live)
        self.write_checked()
        return dropped

    def heal(self) -> None:
        """Remove damaged, repeated and left over files, and rebuild missing graphs."""
        self._drop_leftovers(Vectors(self._directory))
        self._drop_repeated(Vectors(self._directory))
        vectors = Vectors(self._directory)
        graphs = {name.partition("-")[0] for name in vectors.checked.names() if "-" in name}
        for segment in vectors.segments:
            if segment.name not in graphs and self._needs_graph(segment.count):
                self._write_graph(segment.name, segment.vectors)
        self.write_checked()

    def _drop_repeated(self, old: Vectors) -> None:
        """Drop vectors that a larger segment has too: a process was killed while it folded."""
        keys = [sort_unique(segment.rows["key"]) for segment in old.segments]
        if len(unique_keys(keys)) == sum(map(len, keys)):
            return
        seen = np.empty(0, ROW)
        for segment in sorted(old.segments, key=lambda segment: -segment.count):
            is_new = ~np.isin(segment.rows, seen)
            self._keep(segment, is_new)
            seen = np.concatenate([seen, segment.rows[is_new]])

    def _keep(self, segment: Segment, is_kept: Any) -> None:
        """Replace a segment by one with some of its vectors."""
        if not is_kept.all():
            if is_kept.any():
                self._write(segment.rows[is_kept], segment.vectors[is_kept])
            self._remove([segment])

    def _drop_leftovers(self, old: Vectors) -> None:
        """Remove damaged files and graphs without a segment."""
        names = {segment.name for segment in old.segments}
        graphs = [name for name in old.checked.names() if "-" in name]
        orphans = (name for name in graphs if name.partition("-")[0] not in names)
        hints = (name for name in HINTS if is_damaged(os.path.join(self._directory, name)))
        self._drop([*old.damaged, *orphans, *hints])

    def write_checked(self) -> None:
        """Record the verified files, so that they are not read again."""
        checked = Vectors(self._directory).checked
        if checked.has_changed():
            path = os.path.join(self._directory, "CHECKED")
            data = add_checksum("".join(sorted(checked.lines)).encode())
            fsio.publish(self._tmp_dir, path, data, is_hint=True)

    def _write(self, rows: Any, vectors: Any) -> None:
        order = np.argsort(rows["key"], kind="stable")
        rows, vectors = rows[order], vectors[order]
        data = encode_segment(rows, vectors)
        name = content_name(data)
        if self._needs_graph(len(rows)):
            self._write_graph(name, vectors)
        fsio.publish(self._tmp_dir, os.path.join(self._directory, f"{name}.vec"), data)

    def _needs_graph(self, size: int) -> bool:
        if self._graph_vectors is not None:
            return size >= self._graph_vectors
        return size >= GRAPH_VECTORS and Vectors(self._directory).count > MAX_WITHOUT_GRAPHS

    def _write_graph(self, name: str, vectors: Any) -> None:
        from usearch.index import Index  # noqa: PLC0415 - only for large segments

        graph = Index(ndim=vectors.shape[1], metric="cos", dtype="f16")
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors.astype(np.float32))
        data = bytes(graph.save() or b"")
        path = os.path.join(self._directory, f"{name}-{content_name(data)}.hnsw")
        fsio.publish(self._tmp_dir, path, data)

    def _remove(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            graphs = [n for n in os.listdir(self._directory) if n.startswith(f"{segment.name}-")]
            self._drop([f"{segment.name}.vec", *graphs])

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            fsio.remove(os.path.join(self._directory, name))
