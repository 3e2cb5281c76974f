"""Runs a command in a child process with a fault at the n-th operation of `store/fsio`."""

import os
import signal
from collections.abc import Callable

from ccgrep import cli
from ccgrep.store import fsio
from tests.homes import Home


def count_operations(home: Home, *arguments: str) -> int:
    """How many operations a command makes. It is really run."""
    read_end, write_end = os.pipe()

    def count() -> None:
        made = 0

        def hook(operation: str, path: str) -> None:
            nonlocal made
            made += 1

        fsio.hook = hook
        _main(home, arguments)
        os.write(write_end, str(made).encode())

    _in_child(count)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        return int(pipe.read())


def run_killed_at(home: Home, n: int, *arguments: str) -> None:
    """Runs a command that dies by SIGKILL before its n-th operation."""

    def die() -> None:
        _fault_at(n, lambda: os.kill(os.getpid(), signal.SIGKILL))
        _main(home, arguments)

    assert _in_child(die) == -signal.SIGKILL


def run_failing_at(home: Home, n: int, errno: int, *arguments: str) -> int:
    """Runs a command whose operations fail from the n-th on, and gives its exit code."""

    def fail() -> None:
        def broken() -> None:
            raise OSError(errno, os.strerror(errno))

        _fault_at(n, broken, is_lasting=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(_main(home, arguments))

    return _in_child(fail)


def _fault_at(n: int, fault: Callable[[], None], is_lasting: bool = False) -> None:
    made = 0

    def hook(operation: str, path: str) -> None:
        nonlocal made
        made += 1
        if made == n or (is_lasting and made > n):
            fault()

    fsio.hook = hook


def _main(home: Home, arguments: tuple[str, ...]) -> int:
    environment = home.environment
    os.environ.clear()
    os.environ.update(environment)
    return cli.main(list(arguments))


def _in_child(work: Callable[[], None]) -> int:
    """Runs `work` in a fork of this process; a negative number is the signal it died of."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            work()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(99)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
