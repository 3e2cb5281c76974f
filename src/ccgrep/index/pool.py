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

from ccgrep.index.reader import FileResult, Task, read_file
from ccgrep.store.objects import Frame

_INLINE_BYTES = 8 * 1024 * 1024
"""Below this, starting workers costs more than it saves."""
_BATCH_BYTES = 1024 * 1024
_ZST_RATIO = 20


class Batch(msgspec.Struct, frozen=True, tag="batch"):
    """Objects that a file gave so far."""

    frames: list[Frame]


_TASK = msgspec.msgpack.Decoder(Task)
_REPLY = msgspec.msgpack.Decoder(Batch | FileResult)
_ENCODE = msgspec.msgpack.Encoder().encode


def read_files(tasks: Sequence[Task], cores: int) -> Iterator[Batch | FileResult]:
    """Reads every task's file; a file's batches come before its result."""
    if sum(map(_work, tasks)) < _INLINE_BYTES:
        for task in tasks:
            frames: list[Frame] = []
            result = _safely(task, frames.append)
            yield Batch(frames)
            yield result
        return
    yield from _Pool(tasks, min(cores, len(tasks))).run()


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
    """Sends objects to the indexing process, many at a time."""

    def __init__(self, replies: Connection) -> None:
        self._replies = replies
        self._frames: list[Frame] = []
        self._size = 0

    def add(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._size += len(frame.data)
        if self._size > _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._frames:
            self._replies.send_bytes(_ENCODE(Batch(self._frames)))
        self._frames = []
        self._size = 0


def work(task_end: int, reply_end: int) -> None:
    """A worker's life: read tasks until the pipe is closed."""
    tasks = Connection(task_end, writable=False)
    replies = Connection(reply_end, readable=False)
    batcher = _Batcher(replies)
    try:
        while True:
            result = _safely(_TASK.decode(tasks.recv_bytes()), batcher.add)
            batcher.flush()
            replies.send_bytes(_ENCODE(result))
    except (EOFError, BrokenPipeError):
        return


def _safely(task: Task, emit: Callable[[Frame], None]) -> FileResult:
    """One file that a reader cannot cope with does not end the run; it is reported."""
    try:
        return read_file(task, emit)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        return FileResult(task.found.path, "failed", reason=reason)
