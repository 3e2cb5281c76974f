"""Runs tasks in worker processes, one for each core.

Each worker is a new Python process that receives one task at a time through a socket. It exits when
no tasks are left, and also when the process that started it dies, because that closes the socket.
Tasks and replies are msgpack.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Generic, TypeVar

import msgspec

from ccgrep.hashing import load_openssl

T = TypeVar("T")
Send = Callable[[object], None]

_ENCODE = msgspec.msgpack.Encoder().encode
_END = b""
"""The message after the last reply to a task."""


def count_cores() -> int:
    """Return the number of cores that this process may use; `taskset` limits them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker(Generic[T]):
    def __init__(self, module: str, task: T) -> None:
        self.connection, other_end = Pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from ccgrep.worker_pool import work; "
            f"from {module} import run_task; work({other_end.fileno()}, run_task)"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[other_end.fileno()],
            process_group=0,  # Ctrl-C goes to the process that started the workers only.
        )
        other_end.close()
        self.is_dead = False
        self.start(task)

    def start(self, task: T) -> None:
        self.task = task
        self.connection.send_bytes(_ENCODE(task))

    def receive(self) -> bytes:
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            # The task killed the process, for example by using up the memory.
            self.is_dead = True
            return _END

    def stop(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()


def run_in_workers(
    module: str, tasks: Iterable[T], workers: int = 0
) -> Iterator[tuple[T, bytes | None]]:
    """Run `run_task` of `module` on every task, and yield each reply with its task.

    The reply is None if the worker died. `workers` is 0 for one worker per core.
    """
    waiting = iter(tasks)
    running: list[_Worker[T]] = []
    try:
        for _ in range(workers or count_cores()):
            for task in waiting:
                running.append(_Worker(module, task))
                break
        while running:
            ready = wait([worker.connection for worker in running])
            for worker in [worker for worker in running if worker.connection in ready]:
                task, reply = worker.task, worker.receive()
                if reply != _END:
                    yield task, reply
                    continue
                running.remove(worker)
                running += _give_next_task(module, worker, waiting)
                if worker.is_dead:
                    yield task, None
    finally:
        for worker in running:
            worker.stop()


def _give_next_task(module: str, worker: _Worker[T], waiting: Iterator[T]) -> list[_Worker[T]]:
    """Return this or another worker with the next task, or none if no task is waiting."""
    for task in waiting:
        if not worker.is_dead:
            worker.start(task)
            return [worker]
        worker.stop()
        return [_Worker(module, task)]
    worker.stop()
    return []


def work(descriptor: int, run_task: Callable[[bytes, Send], None]) -> None:
    """Run tasks until the socket is closed."""
    load_openssl()
    os.nice(5)  # The process that indexes and stores goes first.
    connection = Connection(descriptor)
    try:
        while True:
            run_task(connection.recv_bytes(), lambda reply: connection.send_bytes(_ENCODE(reply)))
            connection.send_bytes(_END)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
