"""Runs commands in forks of a process that has loaded everything and has no threads.

Forking the test process would copy locks that tantivy's threads hold at that moment. A new
process for each command takes longer to start than what is tested. A request is a line of
JSON (see `injection`), and so is the reply.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, Any

import numkong  # noqa: F401 - loaded once, like all of these
import numpy  # noqa: F401
import usearch.index  # noqa: F401

from ccgrep import cli
from ccgrep.store import fsio

if find_spec("tokenizers"):
    import tokenizers  # noqa: F401 - only with the extra `semantic`

TIMEOUT_S = 300
ACTIONS = ("count", "kill", "fail", "fail on", "short", "short then fail")
"""Actions of the shim, in the order of its enum."""

Counter = Callable[[], int]


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as operations:
            sys.stdout.write(json.dumps(_run_in_fork(request, errors, operations)) + "\n")
            sys.stdout.flush()


def _run_in_fork(request: dict[str, Any], errors: IO[bytes], operations: IO[bytes]) -> Any:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        os.dup2(errors.fileno(), 2)
        os.setsid()
        signal.alarm(TIMEOUT_S)
        _run(request, operations.fileno())
    _, status = os.waitpid(child, 0)
    for file in (errors, operations):
        file.seek(0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "errors": errors.read().decode(errors="replace"),
        "operations": int(operations.read() or 0),
    }


def _run(request: dict[str, Any], operations: int) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    arm = {"fsio": _arm_fsio, "shim": _arm_shim, "calls": _arm_calls}[request["seam"]]
    code = 99
    try:
        count = arm(request)
        code = cli.main(request["arguments"])
        sys.setprofile(None)
        os.write(operations, str(count()).encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _arm_fsio(request: dict[str, Any]) -> Counter:
    made, at, action, code = 0, request["at"], request["action"], request["code"]

    def hook(operation: str, path: str) -> None:
        nonlocal made
        made += 1
        is_due = made == at or (action == "fail on" and made > at)
        if not at or not is_due:
            return
        if action == "kill":
            os.killpg(0, signal.SIGKILL)
        if action == "signal":
            os.kill(os.getpid(), code)
        elif operation not in ("unlink", "rmtree") or code not in fsio.NO_SPACE:
            raise OSError(code, os.strerror(code))

    fsio.hook = hook
    return lambda: made


def _arm_calls(request: dict[str, Any]) -> Counter:
    assert request["action"] in ("count", "kill")
    made, at = 0, request["at"]

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        if event in ("call", "c_call"):
            made += 1
            if made == at:
                os.killpg(0, signal.SIGKILL)

    sys.setprofile(count)
    return lambda: made


def _arm_shim(request: dict[str, Any]) -> Counter:
    shim = ctypes.CDLL(None)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if request["log"] else -1
    is_armed = shim.shim_arm(
        request["top"].encode(),
        ctypes.c_long(request["at"]),
        ACTIONS.index(request["action"]),
        request["code"],
        log,
    )
    assert is_armed, "the shim cannot trap system calls here"
    shim.shim_made.restype = ctypes.c_long
    count: Counter = shim.shim_made
    return count


if __name__ == "__main__":
    serve()
