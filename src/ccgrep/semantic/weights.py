"""Are a model's weights whole, and are they still the ones that were found whole?

Hashing 90 MB takes longer than a query may. So `verify` is for whoever opens a model for the
first time; `stamp` tells later whether the files may have changed since. `fingerprint` is cheap
and part of a model's id: it tells weights apart, it does not prove that they are whole.
"""

import hashlib
import os
import re
from collections.abc import Iterable

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.text import one_line

KNOWN_SHA256 = {
    "sentence-transformers/all-MiniLM-L6-v2": {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    }
}
"""What files of a model must be, where that is known."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_BLOCK_BYTES = 1024 * 1024
_SAMPLES = 64
_SAMPLE_BYTES = 4096


def weight_files(directory: str, folders: Iterable[str]) -> list[str]:
    """The files with weights in the folders of a model's modules."""
    found = []
    for folder in sorted(set(folders)):
        path = os.path.join(directory, folder)
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        safe = [name for name in names if name.endswith(".safetensors")]
        pickled = [name for name in names if name.endswith(".bin")]
        found += [os.path.join(path, name) for name in safe or pickled]
    if not found:
        raise DamagedModelError(
            f"{one_line(directory)} holds no weights: install the model again, or give another one"
        )
    return found


def known_sha256(name: str, path: str) -> str | None:
    """What a file of the model `name` must hash to: from the table, or as the Hugging Face cache
    has it, whose large files are links to one named by its content."""
    known = KNOWN_SHA256.get(name, {}).get(os.path.basename(path))
    if known:
        return known
    target = os.path.basename(os.path.realpath(path))
    return target if os.path.islink(path) and _DIGEST.fullmatch(target) else None


def verify(path: str, expected: str) -> None:
    """Reads all of a file; another content than expected is an error."""
    if sha256_of(path) != expected:
        raise DamagedModelError(
            f"{one_line(path)} is not what it should be (its SHA-256 differs): "
            "install the model again, or give another one"
        )


def stamp(paths: Iterable[str]) -> str:
    """Size, time and inode of files: while this stays, they are the files that were verified."""
    stats = (os.stat(path) for path in paths)
    return "+".join(f"{info.st_size}-{info.st_mtime_ns}-{info.st_ino}" for info in stats)


def fingerprint(paths: Iterable[str]) -> str:
    """Tells weights from others by their size and samples from beginning to end."""
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
            raise ModelError(f"{one_line(path)} cannot be read ({error.strerror})") from error
    return digest.hexdigest()


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise ModelError(f"{one_line(path)} cannot be read ({error.strerror})") from error
    return digest.hexdigest()
