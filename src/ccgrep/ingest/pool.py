"""Reads many files on all cores: workers parse and compress, the caller stores.

Each worker is a new Python process that receives one task at a time through a socket. It exits when
no tasks are left, and also when the ingesting process dies, because that closes the socket.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe, wait

import msgspec

from ccgrep.hashing import load_openssl
from ccgrep.ingest.batch import Batch, read_task
from ccgrep.ingest.file_reader import FileResult, Task, failure

_TASK = msgspec.msgpack.Decoder(Task)
_REPLY: msgspec.msgpack.Decoder[Batch | FileResult] = msgspec.msgpack.Decoder(Batch | FileResult)
_ENCODE = msgspec.msgpack.Encoder().encode


class _Worker:
    def __init__(self, task: Task) -> None:
        self.connection, other_end = Pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from ccgrep.ingest.pool import work; work({other_end.fileno()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[other_end.fileno()],
            process_group=0,  # Ctrl-C goes to the ingesting process only.
        )
        other_end.close()
        self._is_dead = False
        self._start(task)

    def _start(self, task: Task) -> None:
        self._task = task
        self.connection.send_bytes(_ENCODE(task))

    def receive(self) -> Batch | FileResult:
        try:
            return _REPLY.decode(self.connection.recv_bytes())
        except (EOFError, OSError):
            # The file killed the process, for example by using up the memory.
            self._is_dead = True
            return failure(self._task, "the reading process died")

    def replace(self, waiting: list[Task]) -> list["_Worker"]:
        """Return this or another worker with the next task, or none if no task is waiting."""
        if waiting and not self._is_dead:
            self._start(waiting.pop())
            return [self]
        self.stop()
        return [_Worker(waiting.pop())] if waiting else []

    def stop(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()


def read_with_workers(tasks: Sequence[Task], cores: int) -> Iterator[Batch | FileResult]:
    """Read every task's file; a file's batches come before its result."""
    waiting = list(reversed(tasks))
    workers: list[_Worker] = []
    try:
        while waiting and len(workers) < cores:
            workers.append(_Worker(waiting.pop()))
        while workers:
            ready = wait([worker.connection for worker in workers])
            for worker in [worker for worker in workers if worker.connection in ready]:
                reply = worker.receive()
                if isinstance(reply, FileResult):
                    workers.remove(worker)
                    workers += worker.replace(waiting)
                yield reply
    finally:
        for worker in workers:
            worker.stop()


def work(descriptor: int) -> None:
    """Read tasks until the socket is closed."""
    load_openssl()
    os.nice(5)  # The process that indexes the discussion goes first.
    connection = Connection(descriptor)

    def send(reply: Batch | FileResult) -> None:
        connection.send_bytes(_ENCODE(reply))

    try:
        while True:
            send(read_task(_TASK.decode(connection.recv_bytes()), send))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
