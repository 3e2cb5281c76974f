"""Runs a command in a process of its own, with a fault at its n-th operation.

At one of two seams: an operation of `store/fsio`, before it, or a call of libc that changes a file
below the home, whoever makes it (`shim.c`).
"""

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, Literal, NamedTuple

import pytest

from ccgrep.store.fsio import remove_tree
from tests.helpers.homes import SOURCE, Home

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_shim = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux",
    reason="no C compiler for shim.c (scripts/tools installs one), or not Linux",
)

Seam = Literal["fsio", "shim"]
Action = Literal["count", "kill", "fail", "fail on", "short", "short then fail"]


class Fault(NamedTuple):
    seam: Seam = "fsio"
    at: int = 0
    action: Action = "count"
    code: int = 0


_NONE = Fault()


class Ended(NamedTuple):
    code: int  # a negative number is the signal that it died of
    errors: str
    made: int  # operations, if it was not killed


def run(home: Home, *arguments: str, fault: Fault = _NONE, log: str = "") -> Ended:
    """Runs a command; `log` is where the shim writes down what it sees."""
    requests, replies = _zygote()
    request = {
        "environment": home.environment,
        "arguments": arguments,
        "top": os.path.realpath(home.directory),
        "log": log,
        **fault._asdict(),
    }
    requests.write(json.dumps(request) + "\n")
    requests.flush()
    return Ended(**json.loads(replies.readline()))


def count_operations(home: Home, *arguments: str, seam: Seam = "fsio") -> int:
    """How many operations a command makes. It is really run."""
    ended = run(home, *arguments, fault=Fault(seam))
    assert (ended.code, ended.errors) == (0, "")
    return ended.made


def run_killed_at(home: Home, n: int, *arguments: str, seam: Seam = "fsio") -> None:
    """Runs a command whose process group dies by SIGKILL before its n-th operation."""
    ended = run(home, *arguments, fault=Fault(seam, n, "kill"))
    assert ended.code == -signal.SIGKILL, ended


def run_failing_at(home: Home, n: int, code: int, *arguments: str) -> int:
    """Runs a command whose operations fail from the n-th on, and gives its exit code."""
    return run(home, *arguments, fault=Fault("fsio", n, "fail on", code)).code


def assert_heals(home: Home) -> None:
    """The next run says nothing, and leaves nothing behind."""
    ended = run(home, "index", "-q")
    assert (ended.code, ended.errors) == (0, "")
    assert os.listdir(home.store_dir / "tmp") == []
    assert len(os.listdir(home.store_dir / "text")) == 1


class Saved:
    """The state of a home, to come back to."""

    def __init__(self, home: Home, name: str = "saved") -> None:
        self._home = home.directory
        self._copy = home.directory.with_name(name)
        shutil.copytree(self._home, self._copy, symlinks=True)

    def restore(self) -> None:
        remove_tree(str(self._home))
        shutil.copytree(self._copy, self._home, symlinks=True)


@cache
def _zygote() -> tuple[IO[str], IO[str]]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([SOURCE, str(Path(__file__).parents[2])]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    if not needs_shim.args[0]:
        environment["LD_PRELOAD"] = _compiled()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.zygote"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    atexit.register(child.wait)
    atexit.register(child.stdin.close)
    return child.stdin, child.stdout


def _compiled() -> str:
    directory = tempfile.mkdtemp(prefix="shim-")
    atexit.register(shutil.rmtree, directory)
    target = os.path.join(directory, "shim.so")
    source = Path(__file__).with_name("shim.c")
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-o", target, source, "-ldl", "-lpthread"],
        check=True,
    )
    return target
