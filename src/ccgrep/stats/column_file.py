"""A file of columns that numpy reads in place, and of the words that some columns refer to.

    0    8 bytes   "ccgtally"
    8    u32       length of the header
    12   u32       crc32 of the header
    16   header    msgpack: words by kind; dtype, offset, size and crc32 of each column
         columns   little-endian, each at a multiple of 8 after the header

The reader verifies the header when it opens the file, and a column on first use. So columns that
a report does not need cost nothing. Damage raises `TallyError`, and the file is rebuilt.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from ccgrep.errors import TallyError

Array = np.ndarray[Any, np.dtype[Any]]

_MAGIC = b"ccgtally"
_HEADER_START = 16


class _Column(Struct, frozen=True, array_like=True):
    dtype: str
    offset: int
    size: int
    crc: int


class _Header(Struct, frozen=True, array_like=True):
    columns: dict[str, _Column]
    words: dict[str, list[str]]


def encode(columns: Mapping[str, Array], words: Mapping[str, Sequence[str]]) -> bytes:
    """Return the bytes of a column file."""
    descriptions: dict[str, _Column] = {}
    body: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        data = column.tobytes()
        descriptions[name] = _Column(column.dtype.str, offset, len(data), zlib.crc32(data))
        body.append(data + bytes(-len(data) % 8))
        offset += len(body[-1])
    header = msgspec.msgpack.encode(_Header(descriptions, {n: list(w) for n, w in words.items()}))
    head = len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little")
    return b"".join([_MAGIC, head, header, bytes(-len(header) % 8), *body])


def is_intact(name: str, data: Any) -> bool:
    """Return whether every byte of a file is as `encode` wrote it."""
    try:
        return ColumnFile(name, data).encode_again() == bytes(data)
    except TallyError:
        return False


class ColumnFile:
    """A file that `encode` wrote, as bytes or mapped into memory."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._data = memoryview(data)
        size = int.from_bytes(self._data[8:12], "little")
        header = self._data[_HEADER_START : _HEADER_START + size]
        crc = int.from_bytes(self._data[12:16], "little")
        if bytes(self._data[:8]) != _MAGIC or len(header) != size or zlib.crc32(header) != crc:
            raise TallyError(name)
        try:
            decoded = msgspec.msgpack.decode(header, type=_Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise TallyError(name) from error
        self._descriptions = decoded.columns
        self.words = decoded.words
        self._body_start = _HEADER_START + size + -size % 8
        self._verified: dict[str, Array] = {}

    def column(self, name: str) -> Array:
        """Return a column. Verify its checksum the first time."""
        if name not in self._verified:
            self._verified[name] = self._verify(name)
        return self._verified[name]

    def encode_again(self) -> bytes:
        return encode({name: self.column(name) for name in self._descriptions}, self.words)

    def _verify(self, name: str) -> Array:
        description = self._descriptions.get(name)
        if description is None:
            raise TallyError(self.name)
        start = self._body_start + description.offset
        data = self._data[start : start + description.size]
        if len(data) != description.size or zlib.crc32(data) != description.crc:
            raise TallyError(self.name)
        column: Array = np.frombuffer(data, dtype=np.dtype(description.dtype))
        return column
