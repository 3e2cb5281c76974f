"""Reads files one after the other, and collects their turns into batches.

A small ingest does this in its own process. The workers of `pool.py` do the same.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ccgrep.fulltext.document import Content, discussion_content, turn_content
from ccgrep.ingest.archive import Archiver, PackedOutputs
from ccgrep.ingest.file_reader import FileResult, Task, failure, read_file
from ccgrep.kinds import Level
from ccgrep.model import ObjectId, Turn
from ccgrep.store.objects import Frame, make_frame
from ccgrep.store.store import Store

_INLINE_BYTES = 8 * 1024 * 1024
"""Below this, starting workers costs more than it saves."""
_BATCH_BYTES = 1024 * 1024
_ZST_RATIO = 20
_CONTENTS: dict[Level | None, Callable[[Turn], Content] | None] = {
    None: None,
    "discussion": discussion_content,
    "whole": turn_content,
}
"""How to prepare a turn for the full-text index."""


class Batch(msgspec.Struct, frozen=True, tag="batch"):
    """Some objects of a file, with their contents for the full-text index."""

    path: str
    frames: list[Frame]
    contents: list[tuple[ObjectId, Content]]


def read_files(tasks: Sequence[Task], workers: int) -> Iterator[Batch | FileResult]:
    """Read every task's file; a file's batches come before its result."""
    if is_large(tasks):
        from ccgrep.ingest.pool import read_with_workers  # noqa: PLC0415 - slow to import

        yield from read_with_workers(tasks, workers)
        return
    packed_outputs: PackedOutputs = {}
    for task in tasks:
        batches: list[Batch] = []
        result = read_task(task, batches.append, packed_outputs)
        yield from batches
        yield result


def is_large(tasks: Sequence[Task]) -> bool:
    """Return whether the work is worth starting worker processes."""
    return sum(map(_bytes_to_parse, tasks)) >= _INLINE_BYTES


def _bytes_to_parse(task: Task) -> int:
    """Return roughly how many bytes have to be parsed."""
    if task.found.path.endswith(".zst"):
        return task.found.size * _ZST_RATIO
    return task.found.size - (task.known.resume if task.known else 0)


def read_task(
    task: Task, send: Callable[[Batch], None], packed_outputs: PackedOutputs
) -> FileResult:
    """Read one file, and pass its objects to `send` in batches.

    A file that breaks its reader is reported and does not end the ingest.
    """
    batcher = _Batcher(task, send, packed_outputs)
    try:
        result = read_file(task, batcher.add, batcher.archiver)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        result = failure(task, f"{type(error).__name__}: {error}")
    batcher.finish()
    return result


class _Batcher:
    """Collects the objects of a task, and sends them in batches."""

    def __init__(
        self, task: Task, send: Callable[[Batch], None], packed_outputs: PackedOutputs
    ) -> None:
        self._path = task.found.path
        self._content = _CONTENTS[task.level]
        self._send = send
        self._batch = Batch(self._path, [], [])
        self._size = 0
        self._store = Store(task.store_dir)
        self.archiver = None
        if task.store_dir:
            self.archiver = Archiver(self._add_frame, self._store.read, packed_outputs)

    def add(self, turn: Turn) -> ObjectId:
        frame = make_frame("turn", turn)
        self._add_frame(frame)
        if self.archiver is not None:
            self.archiver.add_turn(turn, frame)
        if self._content is not None:
            content = self._content(turn)
            self._batch.contents.append((frame.id, content))
            self._size += len(content.discussion) + sum(map(len, content.words.values()))
        return frame.id

    def _add_frame(self, frame: Frame) -> None:
        if self._size > _BATCH_BYTES:
            self._flush()
        self._batch.frames.append(frame)
        self._size += len(frame.data)

    def finish(self) -> None:
        self._flush()
        self._store.close()

    def _flush(self) -> None:
        if self._batch.frames:
            self._send(self._batch)
        self._batch = Batch(self._path, [], [])
        self._size = 0
