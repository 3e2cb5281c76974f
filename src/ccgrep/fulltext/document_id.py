"""Encode what identifies a document, and the discussion stored with it. Pure.

Imports neither Tantivy nor other heavy modules: every search imports it.
"""

from __future__ import annotations

import zlib

from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    Discussion = tuple[bytes, bytes]
    """A prompt and its answer in UTF-8."""

KINDS = ("main", "subagent", "worker", "superseded", "document")
_MIN_COMPRESSED_BYTES = 512
_ZLIB_START = b"x"


def hash_session_id(id: str) -> int:
    """Return a number for a session id, 0 for an empty one. Tantivy reads numbers faster."""
    from ccgrep.hashing import blake2b  # noqa: PLC0415 - not needed by a plain search

    return int.from_bytes(blake2b(id.encode(), digest_size=7).digest()) if id else 0


def format_place(session: str, turn: int) -> str:
    return f"{session}:{turn}"


def pack_discussion(prompt: str, answer: str, is_compressed: bool) -> bytes:
    """Encode a prompt and its answer; short ones are never compressed."""
    encoded = prompt.encode()
    data = b"%d\n%s%s" % (len(encoded), encoded, answer.encode())
    return zlib.compress(data, 3) if is_compressed and len(data) > _MIN_COMPRESSED_BYTES else data


def unpack_discussion(data: bytes) -> Discussion:
    """Decode a prompt and its answer. Raises ValueError if `data` is damaged."""
    try:
        if data.startswith(_ZLIB_START):  # Uncompressed data starts with a digit.
            data = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    start = data.index(b"\n") + 1
    end = start + int(data[:start])
    return data[start:end], data[end:]
