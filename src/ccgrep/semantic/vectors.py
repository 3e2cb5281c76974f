"""Vectors of texts: the only module that knows usearch, and where numpy stays among the indexes.

    vectors/<model>/<sha256>.vec          "ccgvec1\\n", count and dimensions (u32), for each vector
                                          key (i64) and span (2 × u32, in characters) of its text,
                                          then the vectors as f16; by keys
    vectors/<model>/<sha256>-<sha256>.hnsw   usearch's graph over a large segment of that name
    vectors/<model>/CHECKED               "<name> <size> <mtime_ns> <ctime_ns> <inode>\\n" for each
                                          file whose content was found to have the hash in its name

A segment is written once; small ones are folded into larger ones. A damaged file is as good as
none: its texts are embedded again, a graph is made again from its segment. usearch crashes on
damaged graphs, so nothing is mapped whose hash was not compared. Up to some ten thousand vectors
comparing all of them is faster than importing usearch; a graph serves what is more.
"""

import contextlib
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from hashlib import file_digest, sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ccgrep.errors import MissingModelError
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, is_damaged, read_checksummed
from ccgrep.store.store import Store

try:
    import numpy as np
except ImportError as error:
    raise MissingModelError(
        "searching by meaning needs numpy: pip install 'ccgrep[semantic]'"
    ) from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAGIC = b"ccgvec1\n"
_HEAD = struct.Struct("<8sII")
_ROW = np.dtype([("key", "<i8"), ("start", "<u4"), ("end", "<u4")])
_NOTES = ("CHECKED", "DONE", "VERIFIED")
_NAME_CHARS = 32
MAX_VECTORS = 64 * 1024
GRAPH_VECTORS = 16 * 1024
"""A segment of so many has a graph; so at most that many of each size are compared one by one."""
_ALL_COMPARED = 50_000
"""As long as there are no more, no graph is used."""
_WORTH_COMPARING = 8
"""Where so small a part of a segment is wanted, comparing it all is not worth it."""
_TRIES = 5
_STEP = 8192
_EXPANSION = 256


class Match(NamedTuple):
    """The part of a text that is nearest to a query."""

    similarity: float
    start: int
    end: int


class Batch(NamedTuple):
    """Vectors to be kept, each with the key of its text and its span there."""

    keys: Sequence[int]
    spans: Sequence[tuple[int, int]]
    vectors: "NDArray[np.float32]"


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one."""
    keys = [key for batch in batches for key in batch.keys]
    spans = [span for batch in batches for span in batch.spans]
    return Batch(keys, spans, np.concatenate([batch.vectors for batch in batches]))


def with_blanks(batch: Batch, keys: Sequence[int]) -> Batch:
    """The same, and texts in which a model sees nothing: they are done, and near to nothing."""
    blank = np.zeros((len(keys), batch.vectors.shape[1]), np.float32)
    return joined([batch, Batch(keys, [(0, 0)] * len(keys), blank)])


def no_vectors(dimensions: int) -> "NDArray[np.float32]":
    return np.empty((0, dimensions), np.float32)


def unique_keys(some: "Iterable[Sequence[int] | NDArray[np.int64]]") -> "NDArray[np.int64]":
    """The keys of several lists, sorted."""
    found = [np.array(keys, np.int64) for keys in some]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def model_dir(store_dir: str, model_id: str) -> str:
    return os.path.join(store_dir, "vectors", model_id)


class _Segment:
    """A verified segment, mapped."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            magic, count, dimensions = _HEAD.unpack(file.read(_HEAD.size))
        if magic != _MAGIC:
            raise ValueError("no segment")
        self.count: int = count
        self.rows: Any = np.memmap(path, _ROW, "r", _HEAD.size, (count,))
        at = _HEAD.size + count * _ROW.itemsize
        self.vectors: Any = np.memmap(path, "<f2", "r", at, (count, dimensions))

    @property
    def name(self) -> str:
        return os.path.basename(self.path).removesuffix(".vec")

    def positions(self, keys: "NDArray[np.int64]") -> "NDArray[np.intp]":
        """Where the vectors of these texts are; a segment is sorted by keys."""
        own = np.ascontiguousarray(self.rows["key"])
        ranges = zip(np.searchsorted(own, keys), np.searchsorted(own, keys, "right"), strict=True)
        found = [np.arange(start, end) for start, end in ranges if end > start]
        return np.concatenate(found) if found else np.empty(0, np.intp)

    def compared(
        self, query: "NDArray[np.float32]", among: "NDArray[np.intp] | None" = None
    ) -> "NDArray[np.float32]":
        """The similarity of every vector, or of those at some positions."""
        size = self.count if among is None else len(among)
        found = np.empty(size, np.float32)
        for start in range(0, size, _STEP):
            part = slice(start, start + _STEP)
            vectors = self.vectors[part] if among is None else self.vectors[among[part]]
            found[part] = vectors.astype(np.float32) @ query
        return found


class Vectors:
    """The vectors of one model, to be asked which texts are near."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        for _ in range(_TRIES):
            try:
                self._open()
            except FileNotFoundError:
                continue  # Folded into another one since they were listed.
            return
        self._open(is_last=True)

    def _open(self, is_last: bool = False) -> None:
        self.checked = _Checked(self._directory)
        self.damaged: list[str] = []
        self._segments: list[_Segment] = []
        self._graphs: dict[str, str] = {}
        for name in self.checked.names():
            try:
                self._take(name)
            except FileNotFoundError:
                if not is_last:
                    raise

    def _take(self, name: str) -> None:
        path = os.path.join(self._directory, name)
        if not self.checked.is_right(name):
            self.damaged.append(name)
        elif name.endswith(".vec"):
            self._segments.append(_Segment(path))
        else:
            self._graphs[name.partition("-")[0]] = path

    @property
    def count(self) -> int:
        return sum(segment.count for segment in self._segments)

    def keys(self) -> "NDArray[np.int64]":
        """The keys of all texts, sorted."""
        return unique_keys(segment.rows["key"] for segment in self._segments)

    def segments(self) -> list[_Segment]:
        return self._segments

    def nearest(self, query: "NDArray[np.float32]", limit: int) -> dict[int, Match]:
        """The nearest texts, each with the vector of it that is nearest: `limit`, if there are."""
        best: dict[int, Match] = {}
        uses_graphs = self.count > _ALL_COMPARED
        for segment in self._segments:
            graph = self._graphs.get(segment.name) if uses_graphs else None
            _keep(best, segment, *_nearest(segment, graph, query, limit))
        kept = sorted(best.items(), key=lambda item: (-item[1].similarity, item[0]))[:limit]
        return dict(kept)

    def of(self, keys: Iterable[int], query: "NDArray[np.float32]") -> dict[int, Match]:
        """The nearest vector of each of these texts, as far as they are embedded."""
        wanted = np.unique(np.fromiter(keys, np.int64))
        best: dict[int, Match] = {}
        for segment in self._segments:
            positions = segment.positions(wanted)
            if len(positions):
                _keep(best, segment, positions, segment.compared(query, positions))
        return best


def _keep(
    best: dict[int, Match],
    segment: _Segment,
    positions: "NDArray[np.intp]",
    similarities: "NDArray[np.float32]",
) -> None:
    rows = segment.rows[positions]
    for row, similarity in zip(rows.tolist(), similarities.tolist(), strict=True):
        key, start, end = row
        known = best.get(key)
        if known is None or similarity > known.similarity:
            best[key] = Match(similarity, start, end)


def _nearest(
    segment: _Segment, graph: str | None, query: "NDArray[np.float32]", limit: int
) -> "tuple[Any, Any]":
    """The nearest vectors of a segment: of so many texts, since a long text has many."""
    compared: NDArray[np.float32] | None = None
    size = limit
    while True:
        found = None
        if graph is not None and size * _WORTH_COMPARING < segment.count:
            found = _search(graph, query, size)
        if found is None:
            compared = segment.compared(query) if compared is None else compared
            size = min(size, segment.count)
            found = np.argpartition(-compared, size - 1)[:size]
        if size >= segment.count or len(np.unique(segment.rows["key"][found])) >= limit:
            return found, segment.compared(query, found) if compared is None else compared[found]
        size *= 4


def _search(path: str, query: "NDArray[np.float32]", limit: int) -> "NDArray[np.intp] | None":
    """Where the graph finds the nearest; nothing if it was folded into another one meanwhile.

    Its distances are left: some processors sum them up in half precision.
    """
    from usearch.index import Index  # noqa: PLC0415 - takes longer than comparing some thousands

    expansion = max(_EXPANSION, limit)
    graph = Index(ndim=len(query), metric="cos", dtype="f16", expansion_search=expansion)
    try:
        graph.view(path)
    except RuntimeError:
        return None
    return np.asarray(graph.search(query, min(limit, len(graph))).keys, np.intp)


class _Checked:
    """Which files are known to be what their names say."""

    def __init__(self, directory: str, is_thorough: bool = False) -> None:
        self._directory = directory
        self._known: set[str] = set()
        self.lines: set[str] = set()
        if not is_thorough:
            lines = read_checksummed(os.path.join(directory, "CHECKED")).decode()
            self._known = set(lines.splitlines(keepends=True))

    def names(self) -> list[str]:
        try:
            names = os.listdir(self._directory)
        except OSError:
            return []
        return sorted(name for name in names if name.endswith((".vec", ".hnsw")))

    def is_right(self, name: str) -> bool:
        """Whether a file is what its name says; raises FileNotFoundError if it is gone."""
        path = os.path.join(self._directory, name)
        try:
            info = os.stat(path)
            times = f"{info.st_mtime_ns} {info.st_ctime_ns}"
            line = f"{name} {info.st_size} {times} {info.st_ino}\n"
            if line not in self._known:
                with open(path, "rb") as file:
                    digest = file_digest(file, sha256).hexdigest()
                if digest[:_NAME_CHARS] != _hash_in(name):
                    return False
        except FileNotFoundError:
            raise
        except OSError:
            return False
        self.lines.add(line)
        return True

    def is_news(self) -> bool:
        return self.lines != self._known


def _hash_in(name: str) -> str:
    """The hash that a file's content must have."""
    return name.rpartition(".")[0].rpartition("-")[2]


class VectorWriter:
    """Adds segments to a model's directory; for the holder of its lock."""

    def __init__(self, store: Store, directory: str, graph_vectors: int = GRAPH_VECTORS) -> None:
        self._tmp_dir = store.tmp_dir
        self._directory = directory
        self._graph_vectors = graph_vectors
        fsio.make_dir(os.path.dirname(directory))
        fsio.make_dir(directory)

    def add(self, batch: Batch) -> None:
        """Keeps vectors, folding small segments into the new one."""
        rows = np.empty(len(batch.keys), _ROW)
        rows["key"] = batch.keys
        rows["start"], rows["end"] = zip(*batch.spans, strict=True)
        vectors = batch.vectors.astype("<f2")
        found = Vectors(self._directory)
        self.drop(found.damaged)
        gone = []
        size = len(rows)
        for segment in sorted(found.segments(), key=lambda one: one.count):
            if segment.count > size or size + segment.count > MAX_VECTORS:
                break
            gone.append(segment)
            size += segment.count
        folded = np.concatenate([rows[:0], *(one.rows for one in gone)])
        is_new = ~np.isin(rows, folded)  # Who is stopped just after writing it adds it again.
        if not is_new.any():
            return
        made = np.concatenate([folded, rows[is_new]])
        matrix = np.concatenate([*(one.vectors for one in gone), vectors[is_new]])
        for start in range(0, len(made), MAX_VECTORS):
            part = slice(start, start + MAX_VECTORS)
            self._write(made[part], matrix[part])
        self._remove(gone)
        self.note()

    def prune(self, live: "NDArray[np.int64]") -> int:
        """Drops the vectors of texts that nothing has any more; gives their number."""
        dropped = 0
        found = Vectors(self._directory)
        self._drop_left_over(found)  # They may hold what was forgotten.
        for segment in found.segments():
            kept = np.isin(segment.rows["key"], live)
            if not kept.all():
                dropped += int((~kept).sum())
                if kept.any():
                    self._write(segment.rows[kept], segment.vectors[kept])
                self._remove([segment])
        self.note()
        return dropped

    def drop(self, names: Iterable[str]) -> None:
        """Removes files that are damaged."""
        for name in names:
            fsio.remove(os.path.join(self._directory, name))

    def heal(self) -> None:
        """Removes what is damaged or left over, and makes graphs again that are not there."""
        self._drop_left_over(Vectors(self._directory))
        self._drop_repeated(Vectors(self._directory))
        found = Vectors(self._directory)
        graphs = {name.partition("-")[0] for name in found.checked.names() if "-" in name}
        for segment in found.segments():
            if segment.count >= self._graph_vectors and segment.name not in graphs:
                self._write_graph(segment.name, segment.vectors)
        self.note()

    def _drop_repeated(self, found: Vectors) -> None:
        """Removes what stands in another segment too: folding was cut short, or a batch was
        written again that was not folded."""
        keys = [np.unique(segment.rows["key"]) for segment in found.segments()]
        if len(unique_keys(keys)) == sum(map(len, keys)):
            return
        seen = np.empty(0, _ROW)
        for segment in sorted(found.segments(), key=lambda one: -one.count):
            is_new = ~np.isin(segment.rows, seen)
            if not is_new.all():
                if is_new.any():
                    self._write(segment.rows[is_new], segment.vectors[is_new])
                self._remove([segment])
            seen = np.concatenate([seen, segment.rows[is_new]])

    def _drop_left_over(self, found: Vectors) -> None:
        """Removes damaged files, and graphs whose segment is not there."""
        names = {segment.name for segment in found.segments()}
        graphs = [name for name in found.checked.names() if "-" in name]
        gone = (name for name in graphs if name.partition("-")[0] not in names)
        notes = (name for name in _NOTES if is_damaged(os.path.join(self._directory, name)))
        self.drop([*found.damaged, *gone, *notes])

    def note(self) -> None:
        """Remembers what was found right, so that it is not read again."""
        checked = Vectors(self._directory).checked
        if checked.is_news():
            path = os.path.join(self._directory, "CHECKED")
            data = add_checksum("".join(sorted(checked.lines)).encode())
            fsio.publish(self._tmp_dir, path, data, is_hint=True)

    def _write(self, rows: Any, vectors: Any) -> None:
        order = np.argsort(rows["key"], kind="stable")
        rows, vectors = rows[order], vectors[order]
        count, dimensions = vectors.shape
        data = b"".join((_HEAD.pack(_MAGIC, count, dimensions), rows.tobytes(), vectors.tobytes()))
        name = sha256(data).hexdigest()[:_NAME_CHARS]
        if count >= self._graph_vectors:
            self._write_graph(name, vectors)
        fsio.publish(self._tmp_dir, os.path.join(self._directory, f"{name}.vec"), data)

    def _write_graph(self, name: str, vectors: Any) -> None:
        from usearch.index import Index  # noqa: PLC0415

        graph = Index(ndim=vectors.shape[1], metric="cos", dtype="f16")
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors.astype(np.float32))
        data = bytes(graph.save() or b"")
        path = f"{name}-{sha256(data).hexdigest()[:_NAME_CHARS]}.hnsw"
        fsio.publish(self._tmp_dir, os.path.join(self._directory, path), data)

    def _remove(self, segments: Iterable[_Segment]) -> None:
        for segment in segments:
            for name in _files_of(self._directory, segment.name):
                fsio.remove(os.path.join(self._directory, name))


def _files_of(directory: str, segment: str) -> Iterator[str]:
    yield f"{segment}.vec"
    for name in os.listdir(directory):
        if name.startswith(f"{segment}-"):
            yield name


def model_dirs(store_dir: str) -> list[str]:
    """The directories of all models that there are vectors of."""
    try:
        names = sorted(os.listdir(os.path.join(store_dir, "vectors")))
    except OSError:
        return []
    return [model_dir(store_dir, name) for name in names]


def damaged_files(store_dir: str) -> list[str]:
    """The files that are not what was written, every byte read."""
    found = []
    for directory in model_dirs(store_dir):
        checked = _Checked(directory, is_thorough=True)
        for name in checked.names():
            with contextlib.suppress(FileNotFoundError):
                if not checked.is_right(name):
                    found.append(os.path.join(directory, name))
        notes = (os.path.join(directory, name) for name in _NOTES)
        found += [path for path in notes if is_damaged(path)]
    return found
