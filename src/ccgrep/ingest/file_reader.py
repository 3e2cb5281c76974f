"""Reads one source file for the index: from its watermark when it only grew, else anew.

Runs in the indexing process or in a worker. Turns leave as stored objects while the file
is being read, so memory holds the open turns and nothing else.
"""

import os
import time
import zlib
from collections.abc import Callable
from typing import BinaryIO, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import Level
from ccgrep.model import BadSpot, ObjectId, Turn
from ccgrep.sources import claude
from ccgrep.sources.files import open_regular
from ccgrep.sources.identity import identify
from ccgrep.sources.jsonl import Mark, Readable
from ccgrep.sources.reading import Checkpoint, Reading
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.spills import Spills
from ccgrep.store.manifest import SourceFile

_BLOCK_BYTES = 1024 * 1024

Outcome = Literal["read", "appended", "unchanged", "vanished", "failed"]
Emit = Callable[[Turn], ObjectId]
"""Takes a turn that is complete, gives its id."""


class Task(Struct, frozen=True, tag="task"):
    """A file to read, and what is known of it from earlier runs."""

    found: FoundFile
    known: SourceFile | None = None
    before: Checkpoint | None = None
    is_full: bool = False
    level: Level | None = None  # what is made ready for the text index


class FileResult(Struct, frozen=True, tag="result"):
    """What came of a task. `file` is the new watermark."""

    path: str
    outcome: Outcome
    file: SourceFile | None = None
    reading: Reading | None = None
    reason: str = ""


def failed(task: Task, reason: str = "", outcome: Outcome = "failed") -> FileResult:
    """The result of a file that cannot be read."""
    return FileResult(task.found.path, outcome, reason=reason)


def read_file(task: Task, emit: Emit) -> FileResult:
    """Reads the file of `task`, giving each turn to `emit` as soon as it is complete."""
    try:
        descriptor = open_regular(task.found.path, task.found.root)
    except PermissionError as error:
        return failed(task, error.strerror or "")
    if descriptor is None:
        return failed(task, outcome="vanished")
    with open(descriptor, "rb", buffering=0) as file:
        try:
            return _read(task, cast(BinaryIO, file), emit)
        except OSError as error:
            return failed(task, error.strerror or str(error))


def _read(task: Task, file: BinaryIO, emit: Emit) -> FileResult:
    found, known = task.found, task.known
    read_ns = time.time_ns()
    info = os.fstat(file.fileno())
    stat = SourceFile(found.path, found.root, info.st_size, info.st_mtime_ns, info.st_ino, read_ns)
    if known is not None and not task.is_full and _is_prefix_same(file, info, known):
        if _is_compressed(found.path) or info.st_size == known.size == known.end:
            return FileResult(found.path, "unchanged", _marked(stat, known))
        if task.before is not None:
            start = Mark(known.resume, known.resume_crc)
            reading = _parse(file, start, found, task.before, emit)
            return FileResult(found.path, "appended", _marked(stat, reading), reading)
    reading = _parse(file, Mark(0, 0), found, None, emit)
    return FileResult(found.path, "read", _marked(stat, reading), reading)


def _parse(
    file: BinaryIO,
    start: Mark,
    found: FoundFile,
    before: Checkpoint | None,
    emit: Emit,
) -> Reading:
    file.seek(start.offset)
    identity = identify(found.source, found.path)
    if found.source == "claude_code":
        spills = Spills(found.path, found.root)
        return claude.read(file, start, identity, before, emit, spills)
    from ccgrep.sources import codex  # noqa: PLC0415 - the one agent's reader is enough for most
    from ccgrep.sources.zst import ZstStream  # noqa: PLC0415

    if not _is_compressed(found.path):
        return codex.read(file, start, identity, before, emit)
    stream = ZstStream(file, found.size)
    reading = codex.read(stream, start, identity, before, emit)
    return _with_problem(reading, stream.problem) if stream.problem else reading


def _with_problem(reading: Reading, problem: str) -> Reading:
    """A reading of a file that could not be read to its end."""
    (part,) = reading.sessions
    bad = (*part.bad, BadSpot(reading.end, 0, problem))
    session = replace(part.session, bad_lines=len(bad))
    return replace(reading, sessions=(replace(part, session=session, bad=bad),))


def _is_prefix_same(file: BinaryIO, info: os.stat_result, known: SourceFile) -> bool:
    """Whether everything that was consumed before still stands in the file."""
    if _is_compressed(known.path):
        from ccgrep.sources.zst import ZstStream  # noqa: PLC0415 - Codex's alone

        # Offsets are those of the unfolded text; such files do not grow.
        is_same_size = info.st_size == known.size
        return is_same_size and _crc(ZstStream(file, known.size), known.end) == known.end_crc
    file.seek(0)
    return info.st_size >= known.end and _crc(file, known.end) == known.end_crc


def _crc(stream: Readable, size: int) -> int | None:
    """The crc32 of the first bytes of a stream; `None` if it has not as many."""
    left, crc = size, 0
    while left > 0 and (block := stream.read(min(left, _BLOCK_BYTES))[:left]):
        crc = zlib.crc32(block, crc)
        left -= len(block)
    return None if left else crc


def _is_compressed(path: str) -> bool:
    return path.endswith(".zst")


def _marked(stat: SourceFile, marks: SourceFile | Reading) -> SourceFile:
    """The file's stat with the watermark of a reading."""
    return replace(
        stat,
        resume=marks.resume,
        resume_crc=marks.resume_crc,
        end=marks.end,
        end_crc=marks.end_crc,
    )
