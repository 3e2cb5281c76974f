"""Columns in a file: numbers that numpy reads where they lie, and the words they stand for.

    0    8 bytes   "ccgtally"
    8    u32       length of the header
    12   u32       crc32 of the header
    16   header    msgpack: words by name; for each column its dtype, offset, bytes and crc32
         columns   little-endian, each at a multiple of 8 behind the header

Everything is checked before it is used, a column when it is asked for: so what a report does not
need costs nothing. Damage is a `TallyError`, and then the file is made anew.
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
_START = 16


class _Column(Struct, frozen=True, array_like=True):
    dtype: str
    offset: int
    size: int
    crc: int


class _Header(Struct, frozen=True, array_like=True):
    columns: dict[str, _Column]
    words: dict[str, list[str]]


def encode(columns: Mapping[str, Array], words: Mapping[str, Sequence[str]]) -> bytes:
    """The bytes of a file."""
    described: dict[str, _Column] = {}
    body: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        data = column.tobytes()
        described[name] = _Column(column.dtype.str, offset, len(data), zlib.crc32(data))
        padded = data + bytes(-len(data) % 8)
        body.append(padded)
        offset += len(padded)
    header = msgspec.msgpack.encode(_Header(described, {n: list(w) for n, w in words.items()}))
    head = len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little")
    return b"".join([_MAGIC, head, header, bytes(-len(header) % 8), *body])


def is_whole(name: str, data: Any) -> bool:
    """Whether a file is what `encode` made, to the last byte."""
    try:
        found = Columns(name, data)
        return found.encoded() == bytes(data)
    except TallyError:
        return False


class Columns:
    """A file that was written by `encode`, as bytes or mapped into memory."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._data = memoryview(data)
        size = int.from_bytes(self._data[8:12], "little")
        header = self._data[_START : _START + size]
        crc = int.from_bytes(self._data[12:16], "little")
        if bytes(self._data[:8]) != _MAGIC or len(header) != size or zlib.crc32(header) != crc:
            raise TallyError(name)
        try:
            found = msgspec.msgpack.decode(header, type=_Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise TallyError(name) from error
        self._described = found.columns
        self.words = found.words
        self._base = _START + size + -size % 8
        self._checked: dict[str, Array] = {}

    def column(self, name: str) -> Array:
        """A column, checked the first time."""
        if name not in self._checked:
            self._checked[name] = self._check(name)
        return self._checked[name]

    def encoded(self) -> bytes:
        return encode({name: self.column(name) for name in self._described}, self.words)

    def _check(self, name: str) -> Array:
        found = self._described.get(name)
        if found is None:
            raise TallyError(self.name)
        start = self._base + found.offset
        data = self._data[start : start + found.size]
        if len(data) != found.size or zlib.crc32(data) != found.crc:
            raise TallyError(self.name)
        column: Array = np.frombuffer(data, dtype=np.dtype(found.dtype))
        return column
