"""Reads one source file: from its watermark if it only grew, else from the start.

Runs in the ingesting process or in a worker. Complete turns are emitted while the file is being
read, so memory holds only the open ones.
"""

import os
import time
import zlib
from contextlib import ExitStack
from itertools import repeat
from typing import BinaryIO, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.ingest.archive import Archiver, Growth, has_stored_prefix
from ccgrep.kinds import Level
from ccgrep.model import BadSpot, Entry, ObjectId
from ccgrep.sources.files import open_regular
from ccgrep.sources.joined_file import JoinedFile
from ccgrep.sources.jsonl import Mark, Readable
from ccgrep.sources.readers import identify, list_side_files, load_reader, open_exported
from ccgrep.sources.reading import Checkpoint, Input, Reading
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.turns import Sink
from ccgrep.sources.zst import ZstStream
from ccgrep.store.manifest import SourceFile

_BLOCK_BYTES = 1024 * 1024

Outcome = Literal["read", "appended", "unchanged", "vanished", "failed"]


class Task(Struct, frozen=True, tag="task"):
    """A file to read, and what earlier ingests recorded of it."""

    found: FoundFile
    known: SourceFile | None = None
    before: Checkpoint | None = None
    is_full: bool = False
    level: Level | None = None  # what to prepare for the full-text index
    earlier: tuple[FoundFile, ...] = ()  # files that this one continues
    temp_dirs: tuple[str, ...] = ()  # of Claude Code
    store_dir: str = ""  # where turns of earlier runs are; empty: do not store the file's bytes
    side_files: tuple[SourceFile, ...] = ()  # the side files that are stored already


class FileResult(Struct, frozen=True, tag="result"):
    """The result of a task. `file` holds the new watermark.

    With `is_reread`, the file still starts with everything that was read before. If the turns
    differ all the same, a newer version of the reader found them. With `is_extended`, `file` holds
    all bytes that were stored before. `side_files` is None if they were not looked for.
    """

    path: str
    outcome: Outcome
    file: SourceFile | None = None
    reading: Reading | None = None
    reason: str = ""
    earlier: tuple[SourceFile, ...] = ()
    is_reread: bool = False
    is_extended: bool = False
    side_files: tuple[SourceFile, ...] | None = None
    worker_s: float = 0.0  # the CPU time that a worker took, per core


def failure(task: Task, reason: str = "", outcome: Outcome = "failed") -> FileResult:
    """Return the result for a file that could not be read."""
    return FileResult(task.found.path, outcome, reason=reason)


def read_file(task: Task, emit: Sink, archiver: Archiver | None = None) -> FileResult:
    """Read the file of `task`, and pass each turn to `emit` as soon as it is complete.

    With an archiver, store the bytes of the file too.
    """
    files: list[BinaryIO] = []
    with ExitStack() as stack:
        for found in (*task.earlier, task.found):
            try:
                file = _open(found)
            except OSError as error:
                return failure(task, error.strerror or str(error))
            if file is None:
                return failure(task, outcome="vanished")
            files.append(stack.enter_context(file))
        try:
            result = _read(task, files, emit)
            if archiver is not None and result.reading is not None:
                return _archive(task, files, result, archiver)
            return result
        except OSError as error:
            return failure(task, error.strerror or str(error))


def read_cwd(found: FoundFile) -> str:
    """Return the working directory of a session, without storing anything of it."""
    try:
        reading = read_file(Task(found), lambda _: ObjectId(bytes(32))).reading
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        return ""
    cwds = (one.session.cwd for one in reading.sessions) if reading is not None else ()
    return next(filter(None, cwds), "")


def _open(found: FoundFile) -> BinaryIO | None:
    if found.container:
        return open_exported(found)
    descriptor = open_regular(found.path, found.root)
    return None if descriptor is None else cast(BinaryIO, open(descriptor, "rb", buffering=0))


def _read(task: Task, files: list[BinaryIO], emit: Sink) -> FileResult:
    found, known = task.found, task.known
    read_ns = time.time_ns()
    *earlier, stat = map(_stat, (*task.earlier, found), files, repeat(read_ns))
    file = JoinedFile(files) if earlier else files[0]
    if found.container:
        size = files[0].seek(0, os.SEEK_END)
    else:
        size = stat.size + sum(file.size for file in earlier)
    is_same = known is not None and _has_same_prefix(file, size, known)
    is_upgraded = bool(task.store_dir) and known is not None and known.size and not known.parts
    if known is not None and is_same and not task.is_full and not is_upgraded:
        is_complete = size == known.end and (found.container or stat.size == known.size)
        if _is_compressed(found.path) or is_complete:
            return FileResult(found.path, "unchanged", _set_watermark(stat, known))
        if task.before is not None:
            start = Mark(known.resume, known.resume_crc)
            reading = _parse(file, start, task, task.before, emit)
            return FileResult(found.path, "appended", _set_watermark(stat, reading), reading)
    reading = _parse(file, Mark(0, 0), task, Checkpoint(), emit)
    return FileResult(
        found.path,
        "read",
        _set_watermark(stat, reading),
        reading,
        earlier=tuple(replace(file, is_partial=True) for file in earlier),
        is_reread=is_same,
    )


def _archive(
    task: Task, files: list[BinaryIO], result: FileResult, archiver: Archiver
) -> FileResult:
    """Store the bytes of the file, of the files that it continues, and of its side files."""
    file, reading, known = result.file, result.reading, task.known
    assert file is not None
    assert reading is not None
    entries = [entry for part in reading.sessions for entry in part.entries]
    if _is_compressed(file.path):
        entries = []  # Their offsets are those of the decompressed bytes.
    earlier, start = [], 0
    for opened, stat in zip(files[:-1], result.earlier, strict=False):
        earlier.append(archiver.store(opened, stat, entries=_move(entries, start)))
        start += stat.size
    start = sum(os.fstat(opened.fileno()).st_size for opened in files[:-1])
    is_extended = known is not None and _has_parts(files[-1], result, known)
    growth = None
    if known is not None and is_extended and result.outcome == "appended":
        growth = Growth(known, known.resume - start)
    return replace(
        result,
        file=archiver.store(files[-1], file, growth, _move(entries, start), reading.resume - start),
        earlier=tuple(earlier),
        is_extended=is_extended,
        side_files=archiver.store_side_files(
            list_side_files(task.found.source, file.path), file.root, task.side_files
        ),
    )


def _has_parts(file: BinaryIO, result: FileResult, known: SourceFile) -> bool:
    """Return whether the file starts with its stored bytes. Reading may have shown it already."""
    if not known.parts:
        return False
    is_checked = result.is_reread or result.outcome == "appended"
    if is_checked and (known.stored_bytes, known.parts_crc) == (known.end, known.end_crc):
        return True
    return has_stored_prefix(file, known)


def _move(entries: list[Entry], start: int) -> list[Entry]:
    """Return entries of joined files with their offsets in the file that begins at `start`."""
    if not start:
        return entries
    return [replace(one, start=one.start - start, end=one.end - start) for one in entries]


def _stat(found: FoundFile, file: BinaryIO, read_ns: int) -> SourceFile:
    if found.container:
        stat = (found.size, found.mtime_ns, found.inode)
        return SourceFile(found.path, found.root, *stat, read_ns, container=found.container)
    info = os.fstat(file.fileno())
    stat = (info.st_size, info.st_mtime_ns, info.st_ino)
    return SourceFile(found.path, found.root, *stat, read_ns, ctime_ns=info.st_ctime_ns)


def _parse(
    file: BinaryIO | JoinedFile, start: Mark, task: Task, before: Checkpoint, emit: Sink
) -> Reading:
    found = task.found
    file.seek(start.offset)
    stream: Readable = file
    if not isinstance(file, JoinedFile) and _is_compressed(found.path):
        stream = ZstStream(file, found.size)
    identity = identify(found.source, found.path)
    earlier = tuple(part.path for part in task.earlier)
    input = Input(stream, start, identity, emit, before, task.temp_dirs, earlier)
    reading = load_reader(found.source).read(input, found)
    if found.container:
        reading = replace(reading, is_rewritten=True)
    problem = stream.problem if isinstance(stream, ZstStream) else ""
    return _add_bad_end(reading, problem) if problem else reading


def _add_bad_end(reading: Reading, problem: str) -> Reading:
    """Return a reading with a bad spot at its end, where the file became unreadable."""
    (part,) = reading.sessions
    bad = (*part.bad, BadSpot(reading.end, 0, problem))
    session = replace(part.session, bad_lines=len(bad))
    return replace(reading, sessions=(replace(part, session=session, bad=bad),))


def _has_same_prefix(file: BinaryIO | JoinedFile, size: int, known: SourceFile) -> bool:
    """Return whether the file still starts with everything that was read before."""
    if isinstance(file, JoinedFile) or not _is_compressed(known.path):
        file.seek(0)
        return size >= known.end and _crc(file, known.end) == known.end_crc
    # Offsets count decompressed bytes. Compressed files do not grow.
    return size == known.size and _crc(ZstStream(file, size), known.end) == known.end_crc


def _crc(stream: Readable, size: int) -> int | None:
    """Return the CRC-32 of the first `size` bytes, or None if the stream is shorter."""
    left, crc = size, 0
    while left > 0 and (block := stream.read(min(left, _BLOCK_BYTES))[:left]):
        crc = zlib.crc32(block, crc)
        left -= len(block)
    return None if left else crc


def _is_compressed(path: str) -> bool:
    return path.endswith(".zst")


def _set_watermark(stat: SourceFile, marks: SourceFile | Reading) -> SourceFile:
    """Return the file's stat with the watermark of a reading, or with all that is known of it."""
    file = replace(
        stat, resume=marks.resume, resume_crc=marks.resume_crc, end=marks.end, end_crc=marks.end_crc
    )
    if isinstance(marks, SourceFile):
        return replace(file, parts=marks.parts, parts_crc=marks.parts_crc)
    return file
