"""Verify and identify the files with a model's weights.

Hashing 90 MB takes longer than a query may. So `verify` runs when a model is first used, and
`stamp` tells later whether the files may have changed. `fingerprint` is cheap and part of a
model's id. It tells weights apart, but does not prove that they are intact.
"""

import hashlib
import os
import re
from collections.abc import Iterable

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.text import one_line

REINSTALL = "reinstall the model, or choose another with --model"
KNOWN_SHA256 = {
    "sentence-transformers/all-MiniLM-L6-v2": {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    }
}

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SAMPLES = 64
_SAMPLE_BYTES = 4096


def weight_files(directory: str, folders: Iterable[str]) -> list[str]:
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


def known_sha256(name: str, path: str) -> str | None:
    """Return the expected hash of a file of the model `name`, or None if it is unknown.

    Large files in the Hugging Face cache are links to files that are named by their hash.
    """
    known = KNOWN_SHA256.get(name, {}).get(os.path.basename(path))
    if known:
        return known
    target = os.path.basename(os.path.realpath(path))
    return target if os.path.islink(path) and _DIGEST.fullmatch(target) else None


def verify(path: str, expected: str) -> None:
    """Read a whole file. Raises DamagedModelError if its hash differs."""
    if hash_file(path) != expected:
        raise DamagedModelError(f"{one_line(path)} is damaged (its SHA-256 differs): {REINSTALL}")


def stamp(paths: Iterable[str]) -> str:
    """Return size, time and inode of files. While they stay the same, so does the content."""
    stats = (os.stat(path) for path in paths)
    return "+".join(f"{info.st_size}-{info.st_mtime_ns}-{info.st_ino}" for info in stats)


def fingerprint(paths: Iterable[str]) -> str:
    """Return a hash of the files' sizes and of samples from start to end."""
    digest = hashlib.sha256()
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
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str, error: OSError) -> ModelError:
    return ModelError(f"cannot read {one_line(path)} ({error.strerror})")
