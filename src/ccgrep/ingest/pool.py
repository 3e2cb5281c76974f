"""Reads many files on all cores: workers parse and compress, the caller stores.

Each worker is a new Python process that receives one task at a time through a pipe. It exits when
no tasks are left, and also when the ingesting process dies, because that closes the pipe.
"""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection

import msgspec

from ccgrep.hashing import load_openssl
from ccgrep.ingest.batch import Batch, read_task
from ccgrep.ingest.file_reader import FileResult, Task, failure

_TASK = msgspec.msgpack.Decoder(Task)
_REPLY = msgspec.msgpack.Decoder(Batch | FileResult)
_ENCODE = msgspec.msgpack.Encoder().encode


def read_with_workers(tasks: Sequence[Task], cores: int) -> Iterator[Batch | FileResult]:
    """Read every task's file; a file's batches come before its result."""
    yield from _Pool(tasks, min(cores, len(tasks))).run()


class _Worker:
    def __init__(self) -> None:
        task_end, self._send_end = os.pipe()
        self._receive_end, reply_end = os.pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from ccgrep.ingest.pool import work; work({task_end}, {reply_end})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(task_end, reply_end),
            process_group=0,  # Ctrl-C goes to the ingesting process only.
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
        self._busy: dict[int, _Worker] = {}  # by the descriptor of their replies
        self._poll = select.poll()

    def run(self) -> Iterator[Batch | FileResult]:
        try:
            for _ in range(self._size):
                self._add()
            while self._busy:
                for descriptor, _ in self._poll.poll():
                    yield self._receive(descriptor, self._busy[descriptor])
        finally:
            for worker in self._busy.values():
                worker.stop()

    def _add(self) -> None:
        worker = _Worker()
        descriptor = worker.replies.fileno()
        self._busy[descriptor] = worker
        self._poll.register(descriptor, select.POLLIN)
        worker.start(self._waiting.pop())

    def _end(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._busy.pop(descriptor).stop()

    def _receive(self, descriptor: int, worker: _Worker) -> Batch | FileResult:
        try:
            reply: Batch | FileResult = _REPLY.decode(worker.replies.recv_bytes())
        except (EOFError, OSError):
            return self._replace(descriptor, worker)
        if isinstance(reply, FileResult):
            if self._waiting:
                worker.start(self._waiting.pop())
            else:
                self._end(descriptor)
        return reply

    def _replace(self, descriptor: int, worker: _Worker) -> FileResult:
        """Replace a worker that its file killed, for example by running out of memory."""
        task = worker.task
        assert task is not None
        self._end(descriptor)
        if self._waiting:
            self._add()
        return failure(task, "the reading process died")


def work(task_end: int, reply_end: int) -> None:
    """Read tasks until the pipe is closed."""
    load_openssl()
    os.nice(5)  # The process that indexes the discussion goes first.
    tasks = Connection(task_end, writable=False)
    replies = Connection(reply_end, readable=False)

    def send(reply: Batch | FileResult) -> None:
        replies.send_bytes(_ENCODE(reply))

    try:
        while True:
            send(read_task(_TASK.decode(tasks.recv_bytes()), send))
    except (EOFError, BrokenPipeError):
        return
