"""Vectors of a model of the tests' own: four numbers that follow from the key of a text."""

from pathlib import Path

import numpy as np
import pytest

from ccgrep.fulltext import generations
from ccgrep.fulltext.surfaces import NO_TEXT, SURFACES
from ccgrep.ops import sync
from ccgrep.semantic.prune import live_keys
from ccgrep.semantic.vector_exchange import decode
from ccgrep.semantic.vector_writer import Batch, VectorWriter
from ccgrep.semantic.vectors import Vectors
from tests.helpers.fleet import Fleet
from tests.helpers.homes import Home

MODEL, DIMENSIONS = "tiny-0123456789ab", 4


def use_tiny_model(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Make all homes use the model."""
    monkeypatch.setattr(sync, "_find_models", lambda _: {MODEL: DIMENSIONS})
    for home in fleet.homes:
        home.embed = "auto"
    return fleet


def model_dir(home: Home) -> Path:
    return home.store_dir / "vectors" / MODEL


def keys_of(home: Home) -> set[int]:
    """Return the keys of all texts of a home."""
    generation = generations.current(str(home.store_dir))
    if generation is None:
        return set()
    return set(live_keys(generations.open_reader(generation.path), SURFACES).tolist()) - {NO_TEXT}


def embedded(home: Home) -> set[int]:
    return set(Vectors(str(model_dir(home))).keys().tolist())


def embed(home: Home) -> None:
    """Give each text without vectors two."""
    keys = sorted(keys_of(home) - embedded(home)) * 2
    if keys:
        numbers = [[key % 7, key % 11, key % 13, 1.0] for key in keys]
        matrix = np.array(numbers, np.float32) * np.float32(0.05)
        batch = Batch(keys, [(0, 1)] * len(keys), matrix)
        VectorWriter(home.store, str(model_dir(home))).add(batch)


def read_vectors(home: Home) -> list[tuple[object, ...]]:
    segments = Vectors(str(model_dir(home))).segments
    return sorted(
        (*row, *vector)
        for segment in segments
        for row, vector in zip(segment.rows.tolist(), segment.vectors.tolist(), strict=True)
    )


def remote_keys(fleet: Fleet) -> set[int]:
    """Return the keys of all texts that have vectors in the remote."""
    remote = fleet.remote()
    files = [decode(remote.read_vectors(name)) for name in remote.list().vectors]
    return {key for shared in files for key in shared.keys.tolist()}
