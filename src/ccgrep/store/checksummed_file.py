"""Hints: notes that may be lost or wrong, which costs work and never an answer.

Each ends in "crc32 <8 hex digits>\\n": what is damaged counts as lost, and `fsck` names it.
Imports nothing that a search does not need.
"""

from __future__ import annotations

import zlib

_SEAL_BYTES = 15


def add_checksum(note: bytes) -> bytes:
    """A note with its checksum behind it."""
    return note + _seal(note)


def strip_checksum(data: bytes) -> bytes | None:
    """The note without its checksum; nothing if it is damaged, or of an earlier version."""
    note = data[:-_SEAL_BYTES]
    return note if data[-_SEAL_BYTES:] == _seal(note) else None


def _seal(note: bytes) -> bytes:
    return b"crc32 %08x\n" % zlib.crc32(note)


def read_checksummed(path: str) -> bytes:
    """What a note says; nothing if it is damaged or not there."""
    try:
        with open(path, "rb") as file:
            return strip_checksum(file.read()) or b""
    except OSError:
        return b""


def is_damaged(path: str) -> bool:
    """Whether a note is there, and is not what was written."""
    try:
        with open(path, "rb") as file:
            return strip_checksum(file.read()) is None
    except FileNotFoundError:
        return False
