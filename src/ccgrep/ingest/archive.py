"""Stores the bytes of source files, in parts that are compressed against the turns read from them.

Runs where a file is read, in the ingesting process or in a worker. A file that grew keeps the parts
before its first open turn: the bytes of an open turn are a part of their own, because the turn will
be another object when it has grown. Small parts at the end are stored again together with the new
bytes. So a session of a thousand appends does not have a thousand parts.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.model import Entry, ObjectId, Turn
from ccgrep.sources.files import open_side_file
from ccgrep.store.manifest import SourceFile, StoredPart
from ccgrep.store.objects import Frame, decompress_frame
from ccgrep.store.originals import Read, pack_part

_PART_BYTES = 4 * 1024 * 1024
_MAX_PART_BYTES = 4 * _PART_BYTES
"""A part ends after a line. A line that is longer than this is cut."""
_SMALL_PART_BYTES = 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_LONG_OUTPUT_CHARS = 8192


class PlacedTurn(NamedTuple):
    """A turn, and the bytes of a file that it was read from."""

    id: ObjectId
    start: int
    end: int


class Growth(NamedTuple):
    """The stored parts of a file that has grown. The bytes before `closed` are of closed turns."""

    known: SourceFile
    closed: int


class PackedOutput(NamedTuple):
    """An output that was stored without a turn. `text` is the hash of its text."""

    file: SourceFile
    text: int


PackedOutputs = dict[SourceFile, PackedOutput]
"""Outputs that one run has stored, by their stats.

If the transcript of a session is gone, each of its sub-agents stores the session's outputs.
"""


class Archiver:
    """Stores the files of one task. `emit` receives the objects, `read` returns stored ones."""

    def __init__(
        self,
        emit: Callable[[Frame], object],
        read: Read,
        packed_outputs: PackedOutputs | None = None,
    ) -> None:
        """Prepare for a task; `packed_outputs` are those of earlier tasks with the same `emit`."""
        self._emit = emit
        self._read = read
        self._packed_outputs = {} if packed_outputs is None else packed_outputs
        self._turns: dict[ObjectId, Frame] = {}
        self._outputs: dict[int, ObjectId] = {}

    def add_turn(self, turn: Turn, frame: Frame) -> None:
        """Remember a turn that was read from the file."""
        self._turns[frame.id] = frame
        for call in turn.calls():
            if call.result is not None and len(call.result.text) > _LONG_OUTPUT_CHARS:
                self._outputs[hash(call.result.text)] = frame.id

    def store(
        self,
        file: BinaryIO,
        stat: SourceFile,
        growth: Growth | None = None,
        entries: Sequence[Entry] = (),
        open_from: int | None = None,
    ) -> SourceFile:
        """Store a transcript, and return `stat` with its parts.

        `entries` have the turns of the file. The first open one begins at `open_from`.
        """
        placed = [PlacedTurn(one.turn, one.start, one.end) for one in entries]
        return self._store(file, stat, growth, placed, open_from)

    def store_side_files(
        self, paths: Sequence[str], root: str, known: Sequence[SourceFile]
    ) -> tuple[SourceFile, ...]:
        """Store new and changed files that belong to a transcript, and return all of them."""
        newest = {file.path: file for file in known}
        found = []
        for path in paths:
            file = open_side_file(path, root)
            if file is None:
                continue
            with file:
                info = os.fstat(file.fileno())
                stat = SourceFile(path, root, info.st_size, info.st_mtime_ns, info.st_ino, 0)
                before = newest.get(path)
                if before is None or (before.size, before.mtime_ns) != (stat.size, stat.mtime_ns):
                    found.append(self._store_output(file, stat))
        return (*known, *found)

    def _store_output(self, file: BinaryIO, stat: SourceFile) -> SourceFile:
        """Store the output of a call, against the turn that holds its text."""
        packed = self._packed_outputs.get(stat)
        if packed is not None and packed.text not in self._outputs:
            return packed.file
        text = hash(file.read(_MAX_PART_BYTES).decode("utf-8", "replace"))
        turn = self._outputs.get(text)
        stored = self.store_text(file, stat, turn)
        if turn is None:
            self._packed_outputs[stat] = PackedOutput(stored, text)
        return stored

    def store_text(self, file: BinaryIO, stat: SourceFile, turn: ObjectId | None) -> SourceFile:
        """Store a file that is not a transcript, against the turn that holds its text."""
        placed = [] if turn is None else [PlacedTurn(turn, 0, stat.size)]
        return self._store(file, stat, None, placed, is_json=False)

    def _store(
        self,
        file: BinaryIO,
        stat: SourceFile,
        growth: Growth | None,
        placed: Sequence[PlacedTurn],
        open_from: int | None = None,
        is_json: bool = True,
    ) -> SourceFile:
        parts: list[StoredPart] = []
        stored = crc = 0
        if growth is not None:
            stored, crc = growth.known.stored_bytes, growth.known.parts_crc
            parts = keep_parts(growth.known.parts, growth.closed, file.seek(0, os.SEEK_END))
        offset = sum(part.size for part in parts)
        file.seek(offset)
        border = max(open_from - offset, 0) if open_from is not None else 0
        for data in _cut(file, border):
            end = offset + len(data)
            turns = self._overlapping(placed, offset, end)
            packed = pack_part(data, turns, is_json)
            for frame in packed.frames:
                self._emit(frame)
            parts.append(packed.part)
            crc = zlib.crc32(data[max(stored - offset, 0) :], crc)
            offset = end
        return replace(stat, parts=tuple(parts), parts_crc=crc)

    def _overlapping(
        self, placed: Iterable[PlacedTurn], start: int, end: int
    ) -> list[tuple[ObjectId, bytes]]:
        """Return the turns that were read from a range of bytes, in order, with their contents."""
        inside = sorted(
            (one.start, one.id) for one in placed if one.start < end and one.end > start
        )
        contents = ((id, self._content(id)) for id in dict.fromkeys(id for _, id in inside))
        return [(id, content) for id, content in contents if content is not None]

    def _content(self, id: ObjectId) -> bytes | None:
        """Return the content of a turn, or None if it is lost."""
        if id in self._turns:
            return decompress_frame(self._turns[id])
        try:
            return self._read(id)
        except StoreError:
            return None


def has_stored_prefix(file: BinaryIO, known: SourceFile) -> bool:
    """Return whether a file still starts with the bytes that are stored of it."""
    return has_prefix(file, known.stored_bytes, known.parts_crc)


def has_prefix(file: BinaryIO, size: int, expected_crc: int) -> bool:
    """Return whether a file starts with bytes of that size and CRC-32."""
    left, crc = size, 0
    file.seek(0)
    while left and (block := file.read(min(left, _BLOCK_BYTES))):
        crc = zlib.crc32(block, crc)
        left -= len(block)
    return not left and crc == expected_crc


def keep_parts(parts: Sequence[StoredPart], closed: int, size: int) -> list[StoredPart]:
    """Return the parts that stay when a file grows to `size`.

    Only parts of closed turns stay. One at the end goes if it is smaller than twice what follows
    it. So the sizes fall quickly towards the end, and each byte is stored again only a few times.
    """
    ends = accumulate(part.size for part in parts)
    kept = [part for part, end in zip(parts, ends, strict=True) if end <= closed]
    if len(kept) == len(parts) and size == sum(part.size for part in parts):
        return kept
    follows = size - sum(part.size for part in kept)
    while kept and kept[-1].size < min(2 * follows, _SMALL_PART_BYTES):
        follows += kept.pop().size
    return kept


def _cut(file: BinaryIO, border: int) -> Iterator[bytes]:
    """Yield the rest of a file in parts that end after a line; one ends after `border` bytes."""
    rest, done = b"", 0
    while block := file.read(_PART_BYTES):
        rest += block
        if done < border <= done + len(rest):
            yield rest[: border - done]
            rest, done = rest[border - done :], border
        if len(rest) < _PART_BYTES:
            continue
        end = rest.rfind(b"\n") + 1
        if end or len(rest) >= _MAX_PART_BYTES:
            cut = end or len(rest)
            yield rest[:cut]
            rest, done = rest[cut:], done + cut
    if rest:
        yield rest
