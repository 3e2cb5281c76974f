"""SHA-256 and BLAKE2 for who has little to hash: without OpenSSL, which takes 5 ms to load.

OpenSSL's SHA-256 is six times as fast. It is used for much at once, and for all in a process that
has loaded it: who is going to hash much says so by `load_openssl`.
"""

import sys
from typing import Protocol

try:
    from _blake2 import blake2b

    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _small
    else:
        from _sha256 import sha256 as _small  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # Some build Python without its own.
    from hashlib import blake2b
    from hashlib import sha256 as _small

__all__ = ["Digest", "blake2b", "load_openssl", "sha256"]

_MUCH_BYTES = 1024 * 1024


class Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def hexdigest(self) -> str: ...


def sha256(data: bytes | memoryview) -> Digest:
    """The digest of `data` and of what it is updated with."""
    if len(data) > _MUCH_BYTES:
        load_openssl()
    made: Digest = (sys.modules["hashlib"].sha256 if "hashlib" in sys.modules else _small)(data)
    return made


def load_openssl() -> None:
    import hashlib  # noqa: F401, PLC0415 - for `sha256`
