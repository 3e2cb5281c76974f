"""The vectors of a store as text, for a server that compares them, and queries embedded for it.

pgvector reads a vector as text. Nine digits keep every number in single precision.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ccgrep.config import Config
from ccgrep.errors import LockedError, ModelError, WriteError
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.semantic import embedding, multilingual
from ccgrep.semantic.configured_model import find_model, find_scale, make_model_dir, verify_once
from ccgrep.semantic.embedder import make_embedder
from ccgrep.semantic.languages import is_english
from ccgrep.semantic.model import Model
from ccgrep.semantic.similarity_scale import SimilarityScale
from ccgrep.semantic.vector_files import model_dir, model_dirs, sort_unique
from ccgrep.semantic.vectors import Vectors
from ccgrep.store.lifecycle import open_store


class StoredVector(NamedTuple):
    """The vector of a part of a text. The text has the key `key`."""

    model: str
    dimensions: int
    key: int
    first: int
    past: int
    vector: str


class StoredVectors:
    """The vectors of all models of a store."""

    def __init__(self, store_dir: str) -> None:
        found = [(os.path.basename(path), Vectors(path).segments) for path in model_dirs(store_dir)]
        self._models = [(name, segments) for name, segments in found if segments]
        self.state = " ".join(one.name for _, segments in self._models for one in segments)
        """A text that changes with the vectors."""

    def counts_by_turn(self, reader: TextReader) -> dict[int, int]:
        """Return how many texts of each turn have vectors, by the key of the turn."""
        addresses = reader.newest_first(None)
        turns = reader.object_keys(addresses)
        counts = np.zeros(len(turns), np.int64)
        for surface in SURFACES[:-1]:
            keys = np.array(reader.keys(addresses, surface), np.int64)
            for _, segments in self._models:
                for segment in segments:
                    counts += np.isin(keys, segment.rows["key"])
        return dict(zip(turns, counts.tolist(), strict=True))

    def of(self, keys: Collection[int]) -> dict[int, list[StoredVector]]:
        """Return the vectors of these texts."""
        unique = sort_unique(np.fromiter(keys, np.int64))
        found: dict[int, list[StoredVector]] = {}
        for model, segments in self._models:
            for segment in segments:
                positions = segment.positions(unique)
                rows, vectors = segment.rows[positions].tolist(), segment.vectors[positions]
                for (key, first, past), vector in zip(rows, vectors, strict=True):
                    one = StoredVector(model, len(vector), key, first, past, _text(vector.tolist()))
                    found.setdefault(key, []).append(one)
        return found


class EmbeddedQuery(NamedTuple):
    """Patterns, embedded by a model."""

    model: str
    dimensions: int
    vectors: list[str]
    scale: SimilarityScale
    is_multilingual: bool


def embed_queries(
    config: Config, patterns: Sequence[str], warn: Callable[[str], None]
) -> list[EmbeddedQuery]:
    """Embed patterns by the configured model, and if it may help by the multilingual one."""
    found = [_embed(config, find_model(config), patterns)]
    try:
        second = multilingual.find()
        if second is not None and _needs_second(config, second, patterns):
            verify_once(config, second)
            found.append(_embed(config, second, patterns))
    except (ModelError, LockedError, WriteError) as error:
        warn(f"{error}")
    return found


def _needs_second(config: Config, model: Model, patterns: Sequence[str]) -> bool:
    """Return whether this store has vectors of the second model, or a pattern is not English."""
    is_used = Vectors(model_dir(config.store_dir, model.id)).count > 0
    return is_used or not all(map(is_english, patterns))


def _embed(config: Config, model: Model, patterns: Sequence[str]) -> EmbeddedQuery:
    embedder = make_embedder(config, model)
    if embedder.is_multilingual:
        directory = make_model_dir(config.store_dir, model)
        with embedding.lock(directory):
            embedder.prepare(open_store(config.store_dir))
    encoder = embedder.open_encoder().encoder
    vectors = [_text(one) for one in encoder.encode(patterns, is_query=True).tolist()]
    scale = find_scale(config, model, encoder)
    return EmbeddedQuery(model.id, encoder.dimensions, vectors, scale, embedder.is_multilingual)


def _text(numbers: Iterable[float]) -> str:
    return "[" + ",".join([f"{one:.9g}" for one in numbers]) + "]"
