"""Find the configured model. Weights are verified and scales measured once per store.

vectors/<model>/VERIFIED    size and mtime of the weights that were verified; a checksum
vectors/<model>/SCALE       the model's similarity scale: low and high; a checksum
vectors/<model>/RATE        texts per second of the last large embedding; a checksum
"""

import os
from contextlib import suppress

from ccgrep.config import Config
from ccgrep.errors import MissingModelError, WriteError
from ccgrep.semantic import model as models
from ccgrep.semantic.model import Model
from ccgrep.semantic.similarity_scale import SimilarityScale, TextEncoder, measure_scale
from ccgrep.semantic.vector_files import model_dir
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.lifecycle import open_store

_MIN_RATED_TEXTS = 100


def find_model(config: Config) -> Model:
    """Return the configured model; its weights are verified the first time."""
    model = find_unverified_model(config)
    verify_once(config, model)
    return model


def find_unverified_model(config: Config) -> Model:
    """Return the configured model as it is on disk."""
    name = config.model if config.model != models.DEFAULT else None
    try:
        import tokenizers  # noqa: F401, PLC0415 - before a damaged model is reported
    except ImportError as error:
        raise MissingModelError(f"semantic search needs a model: {models.INSTALL}") from error
    return models.find(name, config.model_variables)


def verify_once(config: Config, model: Model) -> None:
    """Verify the weights of a model unless this store's VERIFIED says that it was done."""
    if not models.is_verifiable(model):
        return
    stamp = models.weights_stamp(model).encode()
    if _read_hint(config, model, "VERIFIED") != stamp:
        models.verify(model)
        _write_hint(config, model, "VERIFIED", stamp)


def find_scale(config: Config, model: Model, encoder: TextEncoder) -> SimilarityScale:
    """Return the similarity scale of a model; it is measured the first time."""
    numbers = _read_hint(config, model, "SCALE").decode().split()
    if len(numbers) == 2:
        return SimilarityScale(*map(float, numbers))
    scale = measure_scale(encoder)
    _write_hint(config, model, "SCALE", f"{scale.low} {scale.high}".encode())
    return scale


def read_rate(config: Config, model: Model) -> float | None:
    """Return how many texts a second the last large embedding took, or None if unknown."""
    text = _read_hint(config, model, "RATE").decode()
    return float(text) if text else None


def write_rate(config: Config, model: Model, texts: int, seconds: float) -> None:
    """Remember the rate of an embedding that was large enough to tell."""
    if texts >= _MIN_RATED_TEXTS and seconds > 0:
        _write_hint(config, model, "RATE", f"{texts / seconds:.4g}".encode())


def _read_hint(config: Config, model: Model, name: str) -> bytes:
    return read_checksummed(os.path.join(model_dir(config.store_dir, model.id), name))


def _write_hint(config: Config, model: Model, name: str, data: bytes) -> None:
    """Write a file of the model's directory. If that fails, the work is repeated next time."""
    with suppress(WriteError, OSError):
        tmp_dir = open_store(config.store_dir).tmp_dir
        path = os.path.join(make_model_dir(config.store_dir, model), name)
        fsio.publish(tmp_dir, path, add_checksum(data), is_hint=True)


def make_model_dir(store_dir: str, model: Model) -> str:
    """Create the directory for a model's vectors, and return its path."""
    directory = model_dir(store_dir, model.id)
    fsio.make_dir(directory)
    return directory
