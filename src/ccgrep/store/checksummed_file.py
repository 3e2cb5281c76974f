"""Hints: derived files that may be lost or wrong, at the cost of time but never of an answer.

Each ends in "crc32 <8 hex digits>\\n". A damaged hint counts as lost, and `fsck` reports it.
Every search imports this module, so it imports nothing heavy.
"""

from __future__ import annotations

import zlib

_CHECKSUM_BYTES = 15


def add_checksum(content: bytes) -> bytes:
    return content + _checksum(content)


def strip_checksum(data: bytes) -> bytes | None:
    """Return the content without its checksum, or None if it is damaged or from an old version."""
    content = data[:-_CHECKSUM_BYTES]
    return content if data[-_CHECKSUM_BYTES:] == _checksum(content) else None


def _checksum(content: bytes) -> bytes:
    return b"crc32 %08x\n" % zlib.crc32(content)


def read_checksummed(path: str) -> bytes:
    """Return a hint's content, or empty bytes if it is damaged or missing."""
    try:
        with open(path, "rb") as file:
            return strip_checksum(file.read()) or b""
    except OSError:
        return b""


def is_damaged(path: str) -> bool:
    """Return whether a hint exists with a wrong checksum."""
    try:
        with open(path, "rb") as file:
            return strip_checksum(file.read()) is None
    except FileNotFoundError:
        return False
