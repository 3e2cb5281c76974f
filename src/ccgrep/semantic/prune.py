"""Drop vectors that no turn needs any more."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ccgrep.config import Config
from ccgrep.errors import ModelError
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.semantic import multilingual
from ccgrep.semantic.configured_model import find_model
from ccgrep.semantic.vector_files import model_dir, model_dirs, unique_keys
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.store import fsio
from ccgrep.store.store import Store


def drop_dead_vectors(store: Store, model_config: Config | None = None) -> int:
    """Drop the vectors of texts that no turn has any more, and return their number.

    With `model_config`, drop all vectors of models that it does not use. The caller holds the locks
    of every model's directory.
    """
    generation = generations.current(store.directory)
    directories = model_dirs(store.directory)
    if generation is None or not directories:
        return 0
    kept = directories
    if model_config is not None:
        try:
            models = [find_model(model_config), multilingual.find()]
            kept = [model_dir(store.directory, model.id) for model in models if model]
        except ModelError:
            kept = directories  # Without the model, its directory is unknown.
    live = live_keys(generations.open_reader(generation.path), SURFACES)
    dropped = 0
    for directory in directories:
        dropped += VectorWriter(store, directory).prune(live if directory in kept else live[:0])
        if directory not in kept:
            fsio.remove_tree(directory)
    return dropped


def live_keys(reader: TextReader, surfaces: Sequence[str]) -> NDArray[np.int64]:
    """Return the keys of all texts that a turn has."""
    addresses = reader.newest_first(None)
    return unique_keys(reader.keys(addresses, surface) for surface in surfaces)
