"""The files that hold the vectors of a model's texts.

    vectors/<model>/<sha256>.vec          "ccgvec1\\n", count and dimensions (u32), for each vector
                                          key (i64) and span (2 × u32, in characters) of its text,
                                          then the vectors as f16; sorted by key
    vectors/<model>/<sha256>-<sha256>.hnsw   usearch's graph over a large segment of that name
    vectors/<model>/<sha256>.tensors      converted weights of the multilingual model
    vectors/<model>/CHECKED               "<name> <size> <mtime_ns> <ctime_ns> <inode>\\n" for each
                                          file whose content has the hash in its name

A segment is written once, and small ones are folded into larger ones. A damaged file is ignored:
its texts are embedded again, and a graph is rebuilt from its segment. usearch crashes on damaged
graphs, so no file is mapped before its hash is verified.
"""

import contextlib
import os
import struct
from collections.abc import Iterable, Sequence
from hashlib import file_digest, sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgrep.store.checksummed_file import is_damaged, read_checksummed

ROW = np.dtype([("key", "<i8"), ("start", "<u4"), ("end", "<u4")])
HINTS = ("CHECKED", "DONE", "RATE", "SCALE", "VERIFIED")
TENSORS = ".tensors"
ROUGH_ERROR = 1e-3
"""Twice what rounding a query of length 1 to half precision changes a similarity by, at most."""
_MAGIC = b"ccgvec1\n"
_HEAD = struct.Struct("<8sII")
_NAME_CHARS = 32
_STEP = 8192


class Segment:
    """A verified segment, mapped into memory."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path).removesuffix(".vec")
        with open(path, "rb") as file:
            magic, count, dimensions = _HEAD.unpack(file.read(_HEAD.size))
        if magic != _MAGIC:
            raise ValueError("not a segment")
        self.count: int = count
        self.rows: Any = np.memmap(path, ROW, "r", _HEAD.size, (count,))
        at = _HEAD.size + count * ROW.itemsize
        self.vectors: Any = np.memmap(path, "<f2", "r", at, (count, dimensions))

    def positions(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of the vectors of these texts."""
        own = np.ascontiguousarray(self.rows["key"])
        ranges = zip(np.searchsorted(own, keys), np.searchsorted(own, keys, "right"), strict=True)
        found = [np.arange(start, end) for start, end in ranges if end > start]
        return np.concatenate(found) if found else np.empty(0, np.intp)

    def similarities(
        self, queries: NDArray[np.float32], positions: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return the similarities of the vectors at some positions to the columns of `queries`."""
        found = np.empty((len(positions), queries.shape[1]), np.float32)
        for start in range(0, len(positions), _STEP):
            part = slice(start, start + _STEP)
            found[part] = self.vectors[positions[part]].astype(np.float32) @ queries
        return found

    def rough_similarities(self, query: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the similarity of every vector, within half of `ROUGH_ERROR`.

        numpy takes twenty times as long, because it converts every vector to float32.
        """
        import numkong  # noqa: PLC0415 - only for searches

        table = numkong.cdist(query[None].astype("<f2"), self.vectors, "dot")
        return np.asarray(table, np.float64).reshape(-1)


def encode_segment(rows: Any, vectors: Any) -> bytes:
    count, dimensions = vectors.shape
    return b"".join((_HEAD.pack(_MAGIC, count, dimensions), rows.tobytes(), vectors.tobytes()))


def decode_segment(data: bytes) -> tuple[Any, Any]:
    """Return the rows and vectors that `encode_segment` wrote. Raise ValueError if there are none.

    The numbers in them may be any.
    """
    magic, count, dimensions = _HEAD.unpack_from(data.ljust(_HEAD.size, b"\0"))
    at = _HEAD.size + count * ROW.itemsize
    if magic != _MAGIC or not count or len(data) != at + 2 * count * dimensions:
        raise ValueError("it is not a file of vectors")
    vectors = np.frombuffer(data, "<f2", count * dimensions, at).reshape(count, dimensions)
    return np.frombuffer(data, ROW, count, _HEAD.size), vectors


def content_name(data: bytes) -> str:
    """Return the part of a file name that its content determines."""
    return sha256(data).hexdigest()[:_NAME_CHARS]


def unique_keys(lists: Iterable[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the different keys of several lists, sorted."""
    arrays = [np.array(keys, np.int64) for keys in lists]
    return sort_unique(np.concatenate(arrays)) if arrays else np.empty(0, np.int64)


def sort_unique(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values, sorted. `np.unique` imports numpy.ma, a tenth of a query."""
    ordered = np.sort(values)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])


class CheckedFiles:
    """The files of a model's directory, and which of them were verified."""

    def __init__(self, directory: str, is_thorough: bool = False) -> None:
        """Trust CHECKED, or with `is_thorough` read every file."""
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
        return sorted(name for name in names if name.endswith((".vec", ".hnsw", TENSORS)))

    def is_intact(self, name: str) -> bool:
        """Return whether a file has the hash in its name. Raises FileNotFoundError."""
        path = os.path.join(self._directory, name)
        try:
            info = os.stat(path)
            times = f"{info.st_mtime_ns} {info.st_ctime_ns}"
            line = f"{name} {info.st_size} {times} {info.st_ino}\n"
            if line not in self._known:
                with open(path, "rb") as file:
                    digest = file_digest(file, sha256).hexdigest()
                if digest[:_NAME_CHARS] != name.rpartition(".")[0].rpartition("-")[2]:
                    return False
        except FileNotFoundError:
            raise
        except OSError:
            return False
        self.lines.add(line)
        return True

    def has_changed(self) -> bool:
        """Return whether CHECKED has to be written again."""
        return self.lines != self._known


def model_dir(store_dir: str, model_id: str) -> str:
    return os.path.join(store_dir, "vectors", model_id)


def model_dirs(store_dir: str) -> list[str]:
    """Return the directories of all models with vectors."""
    try:
        names = sorted(os.listdir(os.path.join(store_dir, "vectors")))
    except OSError:
        return []
    return [model_dir(store_dir, name) for name in names]


def damaged_files(store_dir: str) -> list[str]:
    """Read every byte, and return the paths of damaged files."""
    damaged = []
    for directory in model_dirs(store_dir):
        checked = CheckedFiles(directory, is_thorough=True)
        for name in checked.names():
            with contextlib.suppress(FileNotFoundError):
                if not checked.is_intact(name):
                    damaged.append(os.path.join(directory, name))
        hints = (os.path.join(directory, name) for name in HINTS)
        damaged += [path for path in hints if is_damaged(path)]
    return damaged
