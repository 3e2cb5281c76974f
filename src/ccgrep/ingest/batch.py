"""Reads files one after the other, and gathers what they give into batches.

Little work is done like this, in the calling process; the workers of `pool.py` do the same.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ccgrep.fulltext.document import Content, said_content, turn_content
from ccgrep.ingest.file_reader import Emit, FileResult, Task, failed, read_file
from ccgrep.kinds import Level
from ccgrep.model import ObjectId, Turn
from ccgrep.store.objects import Frame, make_frame

_INLINE_BYTES = 8 * 1024 * 1024
"""Below this, starting workers costs more than it saves."""
_BATCH_BYTES = 1024 * 1024
_ZST_RATIO = 20
_CONTENTS: dict[Level | None, Callable[[Turn], Content] | None] = {
    None: None,
    "discussion": said_content,
    "whole": turn_content,
}
"""What is made ready of a turn."""


class Batch(msgspec.Struct, frozen=True, tag="batch"):
    """Objects that a file gave so far, and what is to be indexed of them."""

    path: str
    frames: list[Frame]
    contents: list[tuple[ObjectId, Content]]


def read_files(tasks: Sequence[Task], cores: int) -> Iterator[Batch | FileResult]:
    """Reads every task's file; a file's batches come before its result."""
    if is_much(tasks):
        from ccgrep.ingest.pool import read_with_workers  # noqa: PLC0415 - slow to import

        yield from read_with_workers(tasks, cores)
        return
    for task in tasks:
        batches: list[Batch] = []
        result = read_task(task, batches.append)
        yield from batches
        yield result


def is_much(tasks: Sequence[Task]) -> bool:
    """Whether the work is worth starting processes for."""
    return sum(map(_work, tasks)) >= _INLINE_BYTES


def _work(task: Task) -> int:
    """About how many bytes have to be parsed."""
    if task.found.path.endswith(".zst"):
        return task.found.size * _ZST_RATIO
    return task.found.size - (task.known.resume if task.known else 0)


def read_task(task: Task, send: Callable[[Batch], None]) -> FileResult:
    """Reads one file; its objects go to `send`, many at a time."""
    batcher = _Batcher(task, send)
    result = _safely(task, batcher.add)
    batcher.flush()
    return result


class _Batcher:
    """Gathers what a task gives, and passes it on many objects at a time."""

    def __init__(self, task: Task, send: Callable[[Batch], None]) -> None:
        self._path = task.found.path
        self._content = _CONTENTS[task.level]
        self._send = send
        self._batch = Batch(self._path, [], [])
        self._size = 0

    def add(self, turn: Turn) -> ObjectId:
        frame = make_frame("turn", turn)
        self._batch.frames.append(frame)
        self._size += len(frame.data)
        if self._content is not None:
            content = self._content(turn)
            self._batch.contents.append((frame.id, content))
            self._size += len(content.said) + sum(map(len, content.words.values()))
        if self._size > _BATCH_BYTES:
            self.flush()
        return frame.id

    def flush(self) -> None:
        if self._batch.frames:
            self._send(self._batch)
        self._batch = Batch(self._path, [], [])
        self._size = 0


def _safely(task: Task, emit: Emit) -> FileResult:
    """One file that a reader cannot cope with does not end the run; it is reported."""
    try:
        return read_file(task, emit)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        return failed(task, f"{type(error).__name__}: {error}")
