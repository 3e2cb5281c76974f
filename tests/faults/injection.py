"""Runs a command in a process of its own, with a fault at its n-th operation.

The operation is counted at one of three seams:

fsio    operations of `store/fsio`, before each of them
shim    libc calls that change a file below the home, by any library (`shim.c`)
calls   function calls of Python, which stop a command between its operations
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
from tests.helpers import portability
from tests.helpers.homes import SOURCE, Home

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_shim = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux",
    reason="no C compiler for shim.c (scripts/tools installs one), or not Linux",
)
SEAMS = ["fsio", pytest.param("shim", marks=needs_shim)]
"""The seams for `pytest.mark.parametrize`."""

Seam = Literal["fsio", "shim", "calls"]
Action = Literal["count", "kill", "fail", "fail on", "short", "short then fail", "signal"]


class Fault(NamedTuple):
    """What happens at operation `at`; `code` is an errno, or the number of the signal."""

    seam: Seam = "fsio"
    at: int = 0
    action: Action = "count"
    code: int = 0


_NO_FAULT = Fault()


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    """The exit code; negative if a signal killed the process."""
    errors: str
    operations: int
    """How many operations there were; 0 if the process was killed."""


def run(home: Home, *arguments: str, fault: Fault = _NO_FAULT, log: str = "") -> Outcome:
    """Run a command with a fault; the shim writes the operations it sees to `log`."""
    requests, replies = _server()
    request = {
        "environment": home.environment,
        "arguments": arguments,
        "top": os.path.realpath(home.directory),
        "log": log,
        **fault._asdict(),
    }
    requests.write(json.dumps(request) + "\n")
    requests.flush()
    return Outcome(**json.loads(replies.readline()))


def count_operations(home: Home, *arguments: str, seam: Seam = "fsio") -> int:
    """Run a command and return how many operations it made."""
    outcome = run(home, *arguments, fault=Fault(seam))
    assert (outcome.code, outcome.errors) == (0, "")
    return outcome.operations


def run_killed_at(home: Home, n: int, *arguments: str, seam: Seam = "fsio") -> None:
    """Run a command whose process group gets SIGKILL before its n-th operation."""
    outcome = run(home, *arguments, fault=Fault(seam, n, "kill"))
    assert outcome.code == -signal.SIGKILL, outcome


def run_failing_at(home: Home, n: int, code: int, *arguments: str) -> int:
    """Run a command whose operations fail from the n-th on, and return its exit code."""
    return run(home, *arguments, fault=Fault("fsio", n, "fail on", code)).code


def assert_heals(home: Home) -> None:
    """Assert that the next index run is silent and leaves no temporary file or directory."""
    outcome = run(home, "index", "-q")
    assert (outcome.code, outcome.errors) == (0, "")
    assert os.listdir(home.store_dir / "tmp") == []
    assert len(os.listdir(home.store_dir / "text")) == 1


class SavedHome:
    """A copy of a home that `restore` puts back."""

    def __init__(self, home: Home, name: str = "saved") -> None:
        self._home = home.directory
        self._copy = home.directory.with_name(name)
        shutil.copytree(self._home, self._copy, symlinks=True)

    def restore(self) -> None:
        remove_tree(str(self._home))
        shutil.copytree(self._copy, self._home, symlinks=True)


@cache
def _server() -> tuple[IO[str], IO[str]]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": portability.python_path(
            os.pathsep.join([SOURCE, str(Path(__file__).parents[2])])
        ),
        "OPENBLAS_NUM_THREADS": "1",
    }
    if not needs_shim.args[0]:
        environment["LD_PRELOAD"] = _compile_shim()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.fault_server"],
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


def _compile_shim() -> str:
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
