"""SHA-256 and BLAKE2 that hash small inputs without loading OpenSSL, which takes 5 ms.

OpenSSL's SHA-256 is six times as fast. It is used for large inputs, and for all inputs after
`load_openssl`.
"""

import sys
from typing import Protocol

try:
    from _blake2 import blake2b

    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _builtin_sha256
    else:
        from _sha256 import sha256 as _builtin_sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # This Python was built without its own hashes.
    from hashlib import blake2b
    from hashlib import sha256 as _builtin_sha256

__all__ = ["Digest", "blake2b", "load_openssl", "sha256"]

_LARGE_BYTES = 1024 * 1024


class Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def hexdigest(self) -> str: ...


def sha256(data: bytes | memoryview) -> Digest:
    """Return a digest of `data`, which can be updated."""
    if len(data) > _LARGE_BYTES:
        load_openssl()
    openssl = sys.modules.get("hashlib")
    digest: Digest = openssl.sha256(data) if openssl else _builtin_sha256(data)
    return digest


def load_openssl() -> None:
    """Make `sha256` use OpenSSL from now on. For callers that hash a lot."""
    import hashlib  # noqa: F401, PLC0415 - `sha256` finds it in sys.modules
