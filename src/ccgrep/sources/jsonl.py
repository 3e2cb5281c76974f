"""Bounded reader of JSON lines that may be damaged, hostile or still being written.

Gives whole records with the exact place where each begins. What cannot be read is
noted as a `BadSpot` and never raised; whole records on a damaged line are recovered.
Trusts nothing: not the encoding, not the line length, not the nesting.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import BadSpot

if TYPE_CHECKING:
    from json import JSONDecoder

MAX_LINE_BYTES = 64 * 1024 * 1024
_HEAVY_BYTES = 4 * 1024 * 1024
_MAX_VALUES = 1_500_000
_TOO_LONG = "line longer than 64 MiB"
_BLOCK_BYTES = 1024 * 1024
_SALVAGE_EFFORT = 8
"""How many times the length of a damaged line may be read in search of records."""

T = TypeVar("T")
_SPACE = b" \t\r\n"
_SPACES = r"[ \t\r\n]*"
_RECORD_END = r'[ \t\r\n\0]*(?:\{"|\Z)'
_LONE_SURROGATE = "[\ud800-\udfff]"  # takes a millisecond to compile, for damaged lines alone


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Mark(NamedTuple):
    """Where a record begins, and the crc32 of everything before it."""

    offset: int
    crc: int


class Lines:
    """Splits a stream on `\\n` alone, and keeps count of offset and checksum.

    After the last line `end` says where the next run may expect to go on: behind the
    last whole line, since what follows is still being written. Checksums are made of blocks, and
    on request: one for each line would take as long as splitting.
    """

    def __init__(self, stream: Readable, start: Mark, bad: list[BadSpot]) -> None:
        self._stream = stream
        self._bad = bad
        self._buffer = b""  # what is being split
        self._offset = start.offset  # where that begins
        self._known = start  # the last place whose checksum was made
        self.end = start
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its newline; the last one comes without when it has none."""
        while self._has_more():
            at = self._offset
            end = at + self._buffer.rfind(b"\n") + 1
            for line in BytesIO(self._buffer):
                if at == end:
                    break  # It has no newline yet.
                if len(line) > MAX_LINE_BYTES:
                    self._bad.append(BadSpot(at, len(line), _TOO_LONG))
                else:
                    yield at, line
                at += len(line)
            line = b""  # Long ones are not kept while the next is read.
            self._leave(at)
            if len(self._buffer) > MAX_LINE_BYTES:
                self._skip_rest_of_line()
        if self._buffer:
            yield self._offset, self._buffer

    def mark(self, offset: int) -> Mark:
        """The checksum of everything before `offset`: a place in the line that was told last, and
        not before the one that was asked for last."""
        begin = self._known.offset - self._offset
        part = memoryview(self._buffer)[begin : offset - self._offset]
        self._known = Mark(offset, zlib.crc32(part, self._known.crc))
        return self._known

    def _leave(self, offset: int) -> None:
        """Goes on at `offset`."""
        self.end = self.mark(offset)
        self._buffer = self._buffer[offset - self._offset :]
        self._offset = offset

    def _has_more(self) -> bool:
        """Reads on; says whether there was anything."""
        known = len(self._buffer)
        self._buffer += self._until_newline()
        return len(self._buffer) > known

    def _until_newline(self) -> bytes:
        """Blocks up to one with a newline, or up to more than a line may have; empty at the end.

        Joined once: adding each to what came before copies a long line again and again.
        """
        blocks, size = [self._read()], 0
        while blocks[-1] and b"\n" not in blocks[-1] and size <= MAX_LINE_BYTES:
            size += len(blocks[-1])
            blocks.append(self._read())
        return b"".join(blocks)

    def _read(self) -> bytes:
        block = self._stream.read(_BLOCK_BYTES)
        self.bytes_read += len(block)
        return block

    def _skip_rest_of_line(self) -> None:
        """Goes on behind the line that is too long; at its beginning, if it has no end yet."""
        begin, known = self._offset, self.end
        while self._buffer:
            newline = self._buffer.find(b"\n") + 1
            self._leave(self._offset + (newline or len(self._buffer)))
            if newline:
                self._bad.append(BadSpot(begin, self._offset - begin, _TOO_LONG))
                return
            self._buffer = self._read()
        self.end = known


class Records(Generic[T]):
    """The whole records of a stream, decoded to `record_type`.

    `is_record` tells a record from an object that merely stood inside one; it is only
    asked on damaged lines. `end` is where the last whole record ended.
    """

    def __init__(
        self,
        stream: Readable,
        start: Mark,
        record_type: type[T],
        is_record: Callable[[dict[str, Any]], bool],
    ) -> None:
        self.bad: list[BadSpot] = []
        self._lines = Lines(stream, start, self.bad)
        self._decode = msgspec.json.Decoder(record_type).decode
        self._is_record = is_record
        self._tail_end: Mark | None = None

    @property
    def end(self) -> Mark:
        return self._tail_end or self._lines.end

    @property
    def bytes_read(self) -> int:
        return self._lines.bytes_read

    def mark(self, start: int) -> Mark:
        """Where the record begins that was told last, with the checksum of all before it."""
        return self._lines.mark(start)

    def __iter__(self) -> Iterator[tuple[int, int, T]]:
        """Each record: where it begins, the offset behind it, and its value."""
        decode = self._decode
        for start, line in self._lines:
            if line == b"\n":
                continue  # Finding out by an error takes ten times as long, and there may be many.
            if len(line) > _HEAVY_BYTES and _values(line) > _MAX_VALUES:
                self.bad.append(BadSpot(start, len(line), "too many values on one line"))
                continue
            if line[-1] != 0x0A:
                yield from self._unfinished(start, line)
                return
            has_bom = start == 0 and line.startswith(b"\xef\xbb\xbf")
            try:
                value = decode(line[3:] if has_bom else line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                yield from self._damaged(start, line)
                continue
            yield start, start + len(line), value

    def _unfinished(self, start: int, line: bytes) -> Iterator[tuple[int, int, T]]:
        """A last line without newline counts if it is whole, and is awaited if not."""
        value = self._lenient(line)
        if value is not None:
            end = start + len(line)
            self._tail_end = Mark(end, zlib.crc32(line, self._lines.end.crc))
            yield start, end, value

    def _damaged(self, start: int, line: bytes) -> Iterator[tuple[int, int, T]]:
        if not line.strip(_SPACE):
            return
        value = self._lenient(line)
        if value is not None:
            yield start, start + len(line), value
            return
        lost_from = 0
        for begin, end, value in self._salvage(line):
            self._note_lost(start, line, lost_from, begin)
            lost_from = end
            yield start + begin, start + end, value
        self._note_lost(start, line, lost_from, len(line))

    def _note_lost(self, start: int, line: bytes, begin: int, end: int) -> None:
        lost = line[begin:end].strip(_SPACE)
        if lost:
            reason = "not JSON" if lost.strip(b"\0") else "NUL bytes"
            self.bad.append(BadSpot(start + begin, end - begin, reason))

    def _lenient(self, line: bytes) -> T | None:
        """The record of a line that is JSON but for its encoding or its numbers."""
        text = line.decode("utf-8", "replace").lstrip("\ufeff")
        try:
            value = _lenient().decode(text)
        except (ValueError, RecursionError):
            return None
        return self._convert(value) if isinstance(value, dict) else None

    def _convert(self, value: dict[str, Any]) -> T | None:
        try:
            return self._decode(msgspec.json.encode(_clean(value)))
        except (msgspec.MsgspecError, RecursionError):
            return None

    def _salvage(self, line: bytes) -> Iterator[tuple[int, int, T]]:
        """Whole records on a damaged line, as (begin, end, value) in bytes.

        A quote inside a JSON string is always escaped, so `{"` never begins an object
        there. An object inside a cut record is told by its neighbours: a record either
        begins where the last one ended, or is followed by another one, NULs, or the end
        of the line.
        """
        # One byte is one character here, so positions are offsets.
        text = line.decode("latin-1")
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
                read = getattr(error, "pos", begin + _BLOCK_BYTES // 1024)
                effort -= max(read - begin, 1)
            value = None
            follows = not line[done:begin].strip(_SPACE + b"\0")
            if end >= 0 and (follows or compile_pattern(_RECORD_END).match(text, end)):
                value = self._record(line[begin:end])
            if value is None:
                begin = text.find('{"', begin + 1)
            else:
                yield begin, end, value
                done = end
                begin = text.find('{"', end)

    def _record(self, whole: bytes) -> T | None:
        value = _lenient().decode(whole.decode("utf-8", "replace"))
        return self._convert(value) if self._is_record(value) else None


def _values(line: bytes) -> int:
    """About how many values a line holds: each costs many times its bytes in memory."""
    return line.count(b"{") + line.count(b"[") + line.count(b",")


@cache
def _lenient() -> "JSONDecoder":
    from json import JSONDecoder  # noqa: PLC0415 - three milliseconds, for damaged lines alone

    return JSONDecoder(strict=False, parse_constant=str)


def _clean(value: Any) -> Any:
    """`value` with lone surrogates replaced and numbers that no format holds as text."""
    if isinstance(value, str):
        return compile_pattern(_LONE_SURROGATE).sub("\ufffd", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value
