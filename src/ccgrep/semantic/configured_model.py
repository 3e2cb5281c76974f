"""Find the configured model, and verify the weights of models once per store.

vectors/<model>/VERIFIED    size and mtime of the weights that were verified; a checksum
"""

import os

from ccgrep.config import Config
from ccgrep.errors import MissingModelError, WriteError
from ccgrep.semantic import model as models
from ccgrep.semantic.model import Model
from ccgrep.semantic.vector_files import model_dir
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.lifecycle import open_store


def find_model(config: Config) -> Model:
    """Return the configured model; its weights are verified the first time."""
    name = config.model if config.model != models.DEFAULT else None
    try:
        import tokenizers  # noqa: F401, PLC0415 - before a damaged model is reported
    except ImportError as error:
        raise MissingModelError(f"semantic search needs a model: {models.INSTALL}") from error
    model = models.find(name, config.model_variables)
    verify_once(config, model)
    return model


def verify_once(config: Config, model: Model) -> None:
    """Verify the weights of a model unless this store's VERIFIED says that it was done."""
    if not models.is_verifiable(model):
        return
    path = os.path.join(model_dir(config.store_dir, model.id), "VERIFIED")
    stamp = models.weights_stamp(model).encode()
    if read_checksummed(path) != stamp:
        models.verify(model)
        try:
            tmp_dir = open_store(config.store_dir).tmp_dir
            make_model_dir(config.store_dir, model)
            fsio.publish(tmp_dir, path, add_checksum(stamp), is_hint=True)
        except (WriteError, OSError):
            return  # It is verified again next time.


def make_model_dir(store_dir: str, model: Model) -> str:
    """Create the directory for a model's vectors, and return its path."""
    directory = model_dir(store_dir, model.id)
    fsio.make_dir(directory)
    return directory
