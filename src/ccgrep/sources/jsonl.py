"""Reads JSON lines that may be damaged, hostile or still being written.

Yields complete records with their byte offsets. Unreadable bytes become a `BadSpot` and never
raise an exception. Complete records on a damaged line are recovered. The reader trusts neither
the encoding, nor the line length, nor the nesting depth, and its memory is bounded.
"""

import zlib
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import BadSpot

if TYPE_CHECKING:
    from json import JSONDecoder

MAX_LINE_BYTES = 64 * 1024 * 1024
_MANY_VALUES_BYTES = 4 * 1024 * 1024
"""A shorter line cannot hold too many values."""
_MAX_VALUES = 1_500_000
"""In memory, a value takes many times its JSON size."""
_TOO_LONG = "line longer than 64 MiB"
_BLOCK_BYTES = 1024 * 1024
_SALVAGE_EFFORT = 8
"""How often, at most, a damaged line is parsed in search of records."""

T = TypeVar("T", bound="_Record")
_SPACE = b" \t\r\n"
_SPACES = r"[ \t\r\n]*"
_RECORD_END = r'[ \t\r\n\0]*(?:\{"|\Z)'
_LONE_SURROGATE = "[\ud800-\udfff]"


@cache
def _lenient() -> "JSONDecoder":
    """Return a decoder that accepts control characters and NaN, for damaged lines only."""
    from json import JSONDecoder  # noqa: PLC0415 - an append rarely needs it

    return JSONDecoder(strict=False, parse_constant=str)


def decode_leniently(data: bytes) -> Any:
    """Return the value of JSON that is valid except for its encoding or numbers, else None."""
    try:
        return _clean(_lenient().decode(data.decode("utf-8", "replace").lstrip("\ufeff")))
    except (ValueError, RecursionError):
        return None


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Record(Protocol):
    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool: ...


class Mark(NamedTuple):
    """The offset of a record, and the CRC-32 of all bytes before it."""

    offset: int
    crc: int


class Lines:
    """The lines of a stream, split on `\\n` alone.

    `end` is the mark of the current line. After the last line, it is the mark behind the last
    complete line: the rest is still being written.
    """

    def __init__(self, stream: Readable, start: Mark, bad: list[BadSpot]) -> None:
        self._stream = stream
        self._bad = bad
        self._buffer = b""
        self.end = start
        self.bytes_read = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line with its newline. The last line may lack it."""
        while self._fill():
            complete = self._buffer.rfind(b"\n") + 1
            last = self.end.offset + complete
            for line in BytesIO(self._buffer):
                if self.end.offset == last:
                    break  # no newline yet
                if len(line) > MAX_LINE_BYTES:
                    self._bad.append(BadSpot(self.end.offset, len(line), _TOO_LONG))
                else:
                    yield line
                self._advance(line)
            line = b""  # releases a long line before the next block is read
            self._buffer = self._buffer[complete:]
            if len(self._buffer) > MAX_LINE_BYTES:
                self._skip_rest_of_line()
        if self._buffer:
            yield self._buffer

    def _advance(self, data: bytes) -> None:
        self.end = Mark(self.end.offset + len(data), zlib.crc32(data, self.end.crc))

    def _fill(self) -> bool:
        """Read up to a newline or the line limit, and return whether anything was read.

        The blocks are joined once: appending each to the buffer would copy a long line repeatedly.
        """
        blocks, size = [self._read()], 0
        while blocks[-1] and b"\n" not in blocks[-1] and size <= MAX_LINE_BYTES:
            size += len(blocks[-1])
            blocks.append(self._read())
        self._buffer = b"".join([self._buffer, *blocks])
        return bool(blocks[0])

    def _read(self) -> bytes:
        block = self._stream.read(_BLOCK_BYTES)
        self.bytes_read += len(block)
        return block

    def _skip_rest_of_line(self) -> None:
        """Skip a line that is too long. If its end is not written yet, `end` stays before it."""
        begin = self.end
        while self._buffer:
            newline = self._buffer.find(b"\n") + 1
            self._advance(self._buffer[: newline or None])
            if newline:
                self._buffer = self._buffer[newline:]
                self._bad.append(BadSpot(begin.offset, self.end.offset - begin.offset, _TOO_LONG))
                return
            self._buffer = self._read()
        self.end = begin


class Records(Generic[T]):
    """The complete records of a stream, decoded to `record_type`.

    On damaged lines, its `is_record` distinguishes records from objects nested in a record. `end`
    is the mark behind the last complete record.
    """

    def __init__(self, stream: Readable, start: Mark, record_type: type[T]) -> None:
        self.bad: list[BadSpot] = []
        self._lines = Lines(stream, start, self.bad)
        self._decode = msgspec.json.Decoder(record_type).decode
        self._is_record = record_type.is_record
        self._tail_end: Mark | None = None

    @property
    def end(self) -> Mark:
        return self._tail_end or self._lines.end

    @property
    def bytes_read(self) -> int:
        return self._lines.bytes_read

    def __iter__(self) -> Iterator[tuple[Mark, int, T]]:
        """Yield the mark, end and value of each record."""
        for line in self._lines:
            start = self._lines.end
            if line == b"\n":
                continue  # ten times faster than a decode error, and there may be many
            if len(line) > _MANY_VALUES_BYTES and sum(map(line.count, b"{[,")) > _MAX_VALUES:
                self.bad.append(BadSpot(start.offset, len(line), "too many values on one line"))
                continue
            if line[-1] != 0x0A:
                yield from self._read_unfinished(start, line)
                return
            has_bom = start.offset == 0 and line.startswith(b"\xef\xbb\xbf")
            try:
                value = self._decode(line[3:] if has_bom else line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                yield from self._read_damaged(start, line)
                continue
            yield start, start.offset + len(line), value

    def _read_unfinished(self, start: Mark, line: bytes) -> Iterator[tuple[Mark, int, T]]:
        """Yield the last line if it lacks only its newline. Otherwise the next run reads it."""
        value = self._decode_leniently(line)
        if value is not None:
            self._tail_end = Mark(start.offset + len(line), zlib.crc32(line, start.crc))
            yield start, self._tail_end.offset, value

    def _read_damaged(self, start: Mark, line: bytes) -> Iterator[tuple[Mark, int, T]]:
        if not line.strip(_SPACE):
            return
        value = self._decode_leniently(line)
        if value is not None:
            yield start, start.offset + len(line), value
            return
        lost_from = 0
        for begin, end, value in self._salvage(line):
            self._add_bad_spot(start.offset, line, lost_from, begin)
            lost_from = end
            mark = Mark(start.offset + begin, zlib.crc32(line[:begin], start.crc))
            yield mark, start.offset + end, value
        self._add_bad_spot(start.offset, line, lost_from, len(line))

    def _add_bad_spot(self, start: int, line: bytes, begin: int, end: int) -> None:
        lost = line[begin:end].strip(_SPACE)
        if lost:
            reason = "not JSON" if lost.strip(b"\0") else "NUL bytes"
            self.bad.append(BadSpot(start + begin, end - begin, reason))

    def _decode_leniently(self, data: bytes, is_part_of_line: bool = False) -> T | None:
        """Decode an object that is JSON except for its encoding or numbers, or return None."""
        try:
            value = _lenient().decode(data.decode("utf-8", "replace").lstrip("\ufeff"))
            if not isinstance(value, dict) or (is_part_of_line and not self._is_record(value)):
                return None
            return self._decode(msgspec.json.encode(_clean(value)))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def _salvage(self, line: bytes) -> Iterator[tuple[int, int, T]]:
        """Yield the complete records on a damaged line, as (begin, end, value) in bytes.

        Quotes inside JSON strings are always escaped, so `{"` never occurs in a string. Its
        neighbours distinguish a record from an object nested in a truncated record: a record
        begins where the last one ended, or another record, NULs or the end of the line follow it.
        """
        text = line.decode("latin-1")  # one character per byte, so positions are offsets
        effort = _SALVAGE_EFFORT * len(line) + _BLOCK_BYTES
        done = 0
        begin = text.find('{"')
        while begin >= 0 and effort > 0:
            try:
                record_end = _lenient().raw_decode(text, begin)[1]
                spaces = compile_pattern(_SPACES).match(text, record_end)
                end = spaces.end() if spaces is not None else record_end
                effort -= end - begin
            except (ValueError, RecursionError) as error:
                end = -1
                effort -= max(_parse_end(error, text, begin) - begin, 1)
            value = None
            is_adjacent = not line[done:begin].strip(_SPACE + b"\0")
            if end >= 0 and (is_adjacent or compile_pattern(_RECORD_END).match(text, end)):
                value = self._decode_leniently(line[begin:end], is_part_of_line=True)
            if value is None:
                begin = text.find('{"', begin + 1)
            else:
                yield begin, end, value
                done = end
                begin = text.find('{"', end)


def _parse_end(error: Exception, text: str, begin: int) -> int:
    """Return where a decoder that began at `begin` stopped."""
    if str(error).startswith("Unterminated string"):
        return len(text)  # `pos` is where the string starts
    position: int = getattr(error, "pos", begin + _BLOCK_BYTES // 1024)
    return position


def _clean(value: Any) -> Any:
    """Replace lone surrogates by U+FFFD and infinite numbers by their text."""
    if isinstance(value, str):
        return compile_pattern(_LONE_SURROGATE).sub("\ufffd", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value
