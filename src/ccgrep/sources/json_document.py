"""Reads a file that is one JSON document, which its client writes again whenever it changes.

The document is untrusted and may be damaged or half written. Then it has no value, and the turns
that were read before stay.
"""

import zlib
from typing import Any, NamedTuple

import msgspec

from ccgrep.model import BadSpot
from ccgrep.sources.jsonl import Mark, decode_leniently
from ccgrep.sources.reading import Input

_MAX_BYTES = 256 * 1024 * 1024
_MAX_VALUES = 6_000_000
"""In memory, a value takes many times its JSON size."""


class Document(NamedTuple):
    """The value of a JSON file, or None if it is damaged."""

    value: Any
    end: Mark
    bytes_read: int
    bad: tuple[BadSpot, ...] = ()


def read_document(input: Input) -> Document:
    """Return the JSON document of a stream."""
    data = input.stream.read(_MAX_BYTES + 1)
    mark = Mark(len(data), zlib.crc32(data))
    if len(data) > _MAX_BYTES or sum(map(data.count, b"{[,")) > _MAX_VALUES:
        return Document(None, mark, len(data), (BadSpot(0, len(data), "too large"),))
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return Document(msgspec.json.decode(text), mark, len(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = decode_leniently(text)
    bad = () if value is not None or not text.strip() else (BadSpot(0, len(data), "not JSON"),)
    return Document(value, mark, len(data), bad)
