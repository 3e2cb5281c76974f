"""Vectors as files that machines exchange: segments without their graphs.

A file comes from another machine, so `decode` checks all of it before anything is used.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccgrep.fulltext import generations
from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.semantic.prune import live_keys
from ccgrep.semantic.vector_files import decode_segment, encode_segment, sort_unique
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.semantic.vectors import Vectors
from ccgrep.store.store import Store

_TEXTS_PER_FILE = 16 * 1024
"""With 384 dimensions and two vectors for a text, a file has 25 MB."""

Keys = NDArray[np.int64]


class SharedVectors(NamedTuple):
    """The vectors in a file of another machine, and the texts that they belong to."""

    rows: Any
    vectors: Any

    @property
    def keys(self) -> Keys:
        return sort_unique(np.ascontiguousarray(self.rows["key"]))


class Cover(NamedTuple):
    """The files that hold the vectors of some texts, and the texts that none of them holds."""

    files: list[str]
    missing: Keys


def decode(data: bytes) -> SharedVectors:
    """Return the vectors in a file. Raise ValueError unless all of it is as ccgrep writes it."""
    rows, vectors = decode_segment(data)
    is_sorted = bool((rows["key"][1:] >= rows["key"][:-1]).all())
    is_sound = is_sorted and rows["key"][0] > 0 and bool((rows["start"] <= rows["end"]).all())
    if not is_sound or not np.isfinite(vectors).all():
        raise ValueError("its numbers are invalid")
    return SharedVectors(rows, vectors)


def load_keys(data: bytes) -> Keys:
    """Return the keys that `Keys.tobytes` wrote."""
    return np.frombuffer(data, np.int64)


def embedded_keys(directory: str) -> Keys:
    """Return the texts that have vectors in a model's directory."""
    return Vectors(directory).keys()


def find_live_keys(store: Store) -> Keys:
    """Return the texts that a turn of the store has."""
    generation = generations.current(store.directory)
    if generation is None:
        return np.empty(0, np.int64)
    return live_keys(generations.open_reader(generation.path), SURFACES)


def has_others(keys: Keys, live: Keys) -> bool:
    """Return whether some keys are not among the live ones."""
    return not bool(np.isin(keys, live).all())


def cover(keys: Keys, files: Mapping[str, Keys]) -> Cover:
    """Choose files that hold the vectors of these texts, the largest first."""
    used = []
    for name, held in sorted(files.items(), key=lambda file: (-len(file[1]), file[0])):
        is_held = np.isin(keys, held)
        if is_held.any():
            used.append(name)
            keys = keys[~is_held]
    return Cover(used, keys)


def encode_parts(directory: str, keys: Keys) -> Iterator[tuple[Keys, bytes]]:
    """Yield files with the vectors of these texts, each with the texts in it."""
    segments = Vectors(directory).segments
    for start in range(0, len(keys), _TEXTS_PER_FILE):
        part = keys[start : start + _TEXTS_PER_FILE]
        found = [(segment, segment.positions(part)) for segment in segments]
        rows = np.concatenate([segment.rows[at] for segment, at in found])
        vectors = np.concatenate([segment.vectors[at] for segment, at in found])
        order = np.argsort(rows["key"], kind="stable")
        yield part, encode_segment(rows[order], vectors[order])


def take(store: Store, directory: str, shared: SharedVectors, live: Keys, dimensions: int) -> int:
    """Add the vectors of live texts that have none, and return their number.

    The caller holds the lock of the directory. Raise ValueError if they are not of this model.
    """
    if shared.vectors.shape[1] != dimensions:
        raise ValueError(f"it has {shared.vectors.shape[1]} dimensions instead of {dimensions}")
    writer = VectorWriter(store, directory)
    is_wanted = find_wanted(directory, shared.rows["key"], live)
    if is_wanted.any():
        writer.add_rows(shared.rows[is_wanted], shared.vectors[is_wanted])
    return int(is_wanted.sum())


def find_wanted(directory: str, keys: Keys, live: Keys) -> NDArray[np.bool_]:
    """Return for each text whether it is live and has no vectors yet."""
    is_wanted: NDArray[np.bool_] = np.isin(keys, live) & ~np.isin(keys, embedded_keys(directory))
    return is_wanted
