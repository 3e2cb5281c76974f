"""Runs commands in forks of a process that has everything loaded, nothing open, and no threads.

A fork of the process that runs the tests would share locks which tantivy's threads held at that
moment, and a process of its own each time takes longer to start than what is tested. A request
is a line of JSON (see `faulty`), and so is the reply.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Any

import numpy  # noqa: F401 - loaded once, as are all of these
import tokenizers  # noqa: F401
import usearch.index  # noqa: F401

import ccgrep.cli.commands.gc
import ccgrep.cli.commands.index
import ccgrep.cli.commands.stats
import ccgrep.search.semantic_search
import ccgrep.stats.update  # noqa: F401
from ccgrep import cli
from ccgrep.store import fsio

SECONDS = 120
ACTIONS = ("count", "kill", "fail", "fail on", "short", "short then fail")


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        errors, made = (os.memfd_create(name) for name in ("errors", "made"))
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            os.dup2(errors, 2)
            os.setsid()
            signal.alarm(SECONDS)
            _run(request, made)
        _, status = os.waitpid(child, 0)
        reply = {
            "code": os.waitstatus_to_exitcode(status),
            "errors": _read(errors).decode(errors="replace"),
            "made": int(_read(made) or 0),
        }
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _read(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _run(request: dict[str, Any], made: int) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    code = 99
    try:
        count = (_armed_shim if request["seam"] == "shim" else _armed_fsio)(request)
        code = cli.main(request["arguments"])
        os.write(made, str(count()).encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _armed_fsio(request: dict[str, Any]) -> Any:
    made = 0

    def hook(operation: str, path: str) -> None:
        nonlocal made
        made += 1
        is_due = made == request["at"] or (request["action"] == "fail on" and made > request["at"])
        if not request["at"] or not is_due:
            return
        if request["action"] == "kill":
            os.killpg(0, signal.SIGKILL)
        if operation not in ("unlink", "rmtree") or request["code"] not in fsio.NO_SPACE:
            raise OSError(request["code"], os.strerror(request["code"]))

    fsio.hook = hook
    return lambda: made


def _armed_shim(request: dict[str, Any]) -> Any:
    shim = ctypes.CDLL(None)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if request["log"] else -1
    is_armed = shim.shim_arm(
        request["top"].encode(),
        ctypes.c_long(request["at"]),
        ACTIONS.index(request["action"]),
        request["code"],
        log,
    )
    assert is_armed, "system calls cannot be trapped here"
    shim.shim_made.restype = ctypes.c_long
    return shim.shim_made


if __name__ == "__main__":
    serve()
