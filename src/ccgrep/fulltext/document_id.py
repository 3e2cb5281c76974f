"""How a turn at its place is named, numbered and kept in the text index. Pure.

Knows nothing of tantivy, and imports next to nothing: a search needs it, and so does who makes
documents for another process to write.
"""

from __future__ import annotations

import zlib

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    Said = tuple[bytes, bytes]
    """A prompt and its answer, in UTF-8."""

KINDS = ("main", "subagent", "worker", "superseded")
_SMALL_BYTES = 512
_COMPRESSED = b"x"


def key_of(name: str) -> int:
    """A number that stands for a name where numbers are faster."""
    from ccgrep.hashing import blake2b  # noqa: PLC0415 - not needed by a plain search

    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest()) if name else 0


def place_of(session: str, turn: int) -> str:
    return f"{session}:{turn}"


def packed(prompt: str, answer: str, is_small: bool) -> bytes:
    """What is stored of what was said: as it is, unless it is to be small and gains by that."""
    said = prompt.encode()
    data = b"%d\n%s%s" % (len(said), said, answer.encode())
    return zlib.compress(data, 3) if is_small and len(data) > _SMALL_BYTES else data


def unpacked(data: bytes) -> Said:
    """Raises ValueError if that was never packed."""
    try:
        if data.startswith(_COMPRESSED):  # What is as it is begins with a digit.
            data = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    start = data.index(b"\n") + 1
    end = start + int(data[:start])
    return data[start:end], data[end:]
