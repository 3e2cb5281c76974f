"""Reads a large JSON array item by item, in the memory of its largest item.

The array is untrusted: whatever is no array raises ValueError, and so does an item that would take
too much memory.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from ccgrep.sources.jsonl import decode_leniently

_CHUNK_BYTES = 1024 * 1024
_MAX_ITEM_CHARS = 256 * 1024 * 1024
_MAX_ITEM_VALUES = 6_000_000
"""In memory, a value takes many times its JSON size."""
_MAX_ITEMS = 1_000_000
_SPACE = " \t\r\n"


def read_array(stream: BinaryIO, max_bytes: int) -> Iterator[Any]:
    """Yield the items of an array, or raise ValueError where it is none."""
    return _ArrayReader(stream, max_bytes).read()


class _ArrayReader:
    """Reads one array. What begins at `_at` in `_text` is not decoded yet."""

    def __init__(self, stream: BinaryIO, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._find_end = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._is_ended = False

    def read(self) -> Iterator[Any]:
        self._expect("[")
        if self._next() == "]":
            return
        for _ in range(_MAX_ITEMS):
            self._next()
            yield self._read_item()
            if self._next() == "]":
                return
            self._expect(",")
        raise ValueError("too many items")

    def _next(self) -> str:
        """Go to the next character that is no space, and return it."""
        while True:
            while (character := self._text[self._at : self._at + 1]) and character in _SPACE:
                self._at += 1
            if character or self._is_ended:
                return character
            self._fill()

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"'{character}' is missing")
        self._at += 1

    def _fill(self) -> None:
        """Read as much as there is already, so that a large item is not decoded too often."""
        rest = self._text[self._at :]
        data = self._stream.read(max(len(rest), _CHUNK_BYTES))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("too large")
        self._is_ended = not data
        self._text, self._at = rest + self._decode(data, final=not data), 0
        if len(rest) > _MAX_ITEM_CHARS or sum(map(rest.count, "{[,")) > _MAX_ITEM_VALUES:
            raise ValueError("an item is too large")

    def _read_item(self) -> Any:
        while True:
            try:
                _, end = self._find_end(self._text, self._at)
            except json.JSONDecodeError:
                if self._is_ended:
                    raise
            else:
                if end < len(self._text) or self._is_ended:
                    break  # else a number may go on
            self._fill()
        data = self._text[self._at : end].encode("utf-8", "surrogatepass")
        self._at = end
        try:
            return msgspec.json.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return decode_leniently(data)
