"""Reads many files on all cores: workers parse and compress, the caller stores.

Each worker is a fresh Python that gets one task at a time through a pipe. It lives only
while tasks are left, and ends by itself when the indexing process dies, since the pipe is
closed then. Little work is done in the calling process, without any worker.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait

import msgspec

from ccgrep.index.document import Content, said_content, turn_content
from ccgrep.index.reader import Emit, FileResult, Task, read_file
from ccgrep.model import ObjectId, Turn
from ccgrep.store.objects import Frame

_INLINE_BYTES = 8 * 1024 * 1024
"""Below this, starting workers costs more than it saves."""
_BATCH_BYTES = 1024 * 1024
_ZST_RATIO = 20


class Batch(msgspec.Struct, frozen=True, tag="batch"):
    """Objects that a file gave so far, and what is to be indexed of them."""

    frames: list[Frame]
    contents: list[tuple[ObjectId, Content]]


_TASK = msgspec.msgpack.Decoder(Task)
_REPLY = msgspec.msgpack.Decoder(Batch | FileResult)
_ENCODE = msgspec.msgpack.Encoder().encode


def read_files(tasks: Sequence[Task], cores: int) -> Iterator[Batch | FileResult]:
    """Reads every task's file; a file's batches come before its result."""
    if not is_much(tasks):
        for task in tasks:
            batches: list[Batch] = []
            batcher = _Batcher(task, batches.append)
            result = _safely(task, batcher.add)
            batcher.flush()
            yield from batches
            yield result
        return
    yield from _Pool(tasks, min(cores, len(tasks))).run()


def is_much(tasks: Sequence[Task]) -> bool:
    """Whether the work is worth starting processes for."""
    return sum(map(_work, tasks)) >= _INLINE_BYTES


def _work(task: Task) -> int:
    """About how many bytes have to be parsed."""
    if task.found.path.endswith(".zst"):
        return task.found.size * _ZST_RATIO
    return task.found.size - (task.known.resume if task.known else 0)


class _Worker:
    def __init__(self) -> None:
        task_end, self._send_end = os.pipe()
        self._receive_end, reply_end = os.pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from ccgrep.index.pool import work; work({task_end}, {reply_end})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(task_end, reply_end),
            process_group=0,  # Ctrl-C is for the indexing process alone.
        )
        os.close(task_end)
        os.close(reply_end)
        self._tasks = Connection(self._send_end, readable=False)
        self.replies = Connection(self._receive_end, writable=False)
        self.task: Task | None = None

    def start(self, task: Task) -> None:
        self.task = task
        self._tasks.send_bytes(_ENCODE(task))

    def stop(self) -> None:
        self._tasks.close()
        self.replies.close()
        self.process.kill()
        self.process.wait()


class _Pool:
    def __init__(self, tasks: Sequence[Task], size: int) -> None:
        self._waiting = list(reversed(tasks))
        self._size = size
        self._workers: list[_Worker] = []

    def run(self) -> Iterator[Batch | FileResult]:
        try:
            self._workers = [_Worker() for _ in range(self._size)]
            for worker in self._workers:
                worker.start(self._waiting.pop())
            while busy := {w.replies: w for w in self._workers if w.task is not None}:
                for connection in wait(list(busy)):
                    yield self._receive(busy[connection])  # type: ignore[index]
        finally:
            for worker in self._workers:
                worker.stop()

    def _receive(self, worker: _Worker) -> Batch | FileResult:
        try:
            reply: Batch | FileResult = _REPLY.decode(worker.replies.recv_bytes())
        except (EOFError, OSError):
            return self._replace(worker)
        if isinstance(reply, FileResult):
            worker.task = None
            if self._waiting:
                worker.start(self._waiting.pop())
        return reply

    def _replace(self, worker: _Worker) -> FileResult:
        """A worker died of its file (out of memory, say): the others go on without it."""
        task = worker.task
        assert task is not None
        worker.stop()
        self._workers.remove(worker)
        if self._waiting:
            fresh = _Worker()
            self._workers.append(fresh)
            fresh.start(self._waiting.pop())
        return FileResult(task.found.path, "failed", reason="the reading process died")


class _Batcher:
    """Gathers what a task gives, and passes it on many objects at a time."""

    def __init__(self, task: Task, send: Callable[[Batch], None]) -> None:
        self._level = task.level
        self._send = send
        self._batch = Batch([], [])
        self._size = 0

    def add(self, frame: Frame, turn: Turn) -> None:
        self._batch.frames.append(frame)
        self._size += len(frame.data)
        if self._level is not None:
            content = said_content(turn) if self._level == "discussion" else turn_content(turn)
            self._batch.contents.append((frame.id, content))
            self._size += len(content.said) + sum(map(len, content.words.values()))
        if self._size > _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._batch.frames:
            self._send(self._batch)
        self._batch = Batch([], [])
        self._size = 0


def work(task_end: int, reply_end: int) -> None:
    """A worker's life: read tasks until the pipe is closed."""
    tasks = Connection(task_end, writable=False)
    replies = Connection(reply_end, readable=False)

    def send(reply: Batch | FileResult) -> None:
        replies.send_bytes(_ENCODE(reply))

    try:
        while True:
            task = _TASK.decode(tasks.recv_bytes())
            batcher = _Batcher(task, send)
            result = _safely(task, batcher.add)
            batcher.flush()
            send(result)
    except (EOFError, BrokenPipeError):
        return


def _safely(task: Task, emit: Emit) -> FileResult:
    """One file that a reader cannot cope with does not end the run; it is reported."""
    try:
        return read_file(task, emit)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        return FileResult(task.found.path, "failed", reason=reason)
