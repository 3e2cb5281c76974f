"""Runs `ccgrep` in forks of a process that has loaded its modules.

Starting Python takes longer than most commands, and the tests run thousands of them. A fork gets
the environment, directory and files of a new process, and runs the same entry point. Tests of
start-up itself (encodings, imports) use new processes.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import IO, Any

import ccgrep
from ccgrep import cli
from ccgrep.semantic import ENVIRONMENT

TIMEOUT_S = 300
_SIZE_BYTES = 8
_HEAVY = ("mcp", "__main__")
_LIBRARIES = ("numkong", "tokenizers")  # of semantic searches


def run(
    arguments: Sequence[str], environment: Mapping[str, str], typed: str, directory: str
) -> subprocess.CompletedProcess[str]:
    """Run the command and return what `subprocess.run` would."""
    server = _server(environment["PATH"], environment["PYTHONPATH"], threading.get_ident())
    request = json.dumps([arguments, dict(environment), directory]).encode()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(typed.encode())
        files[0].seek(0)
        size = len(request).to_bytes(_SIZE_BYTES)
        socket.send_fds(server, [size], [file.fileno() for file in files])
        server.sendall(request)
        code = int.from_bytes(_receive(server, 2), signed=True)
        out, errors = (_text(file) for file in files[1:])
    return subprocess.CompletedProcess(["ccgrep", *arguments], code, out, errors)


def _receive(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = end.recv(size - len(data))
        assert block, "the other end is closed"
        data += block
    return data


def _text(file: IO[bytes]) -> str:
    """Return a file's content as a pipe in text mode would."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@cache
def _server(path: str, source: str, _: int) -> socket.socket:
    """Start a server for each thread, since tests run commands side by side."""
    ours, theirs = socket.socketpair()
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from tests.helpers.fork_server import serve; serve({theirs.fileno()})",
        ],
        env={**ENVIRONMENT, "PATH": path, "PYTHONPATH": os.pathsep.join([source, here])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    atexit.register(child.wait)
    atexit.register(ours.close)
    return ours


def serve(descriptor: int) -> None:
    for module in pkgutil.walk_packages(ccgrep.__path__, "ccgrep."):
        if not any(part in module.name for part in _HEAVY):
            importlib.import_module(module.name)
    for library in _LIBRARIES:
        with suppress(ImportError):  # in an extra
            importlib.import_module(library)
    gc.freeze()  # Otherwise each fork collects, and so copies, all of this.
    requests = socket.socket(fileno=descriptor)
    while True:
        size, files, _, _ = socket.recv_fds(requests, _SIZE_BYTES, 3)
        if not size:
            return
        request = json.loads(_receive(requests, int.from_bytes(size)))
        child = os.fork()
        if child == 0:
            _become(files, *request)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        requests.sendall(os.waitstatus_to_exitcode(status).to_bytes(2, signed=True))


def _become(files: Sequence[int], arguments: list[str], environment: Any, directory: str) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
    signal.alarm(TIMEOUT_S)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(directory)
    sys.argv = ["ccgrep", *arguments]
    try:
        cli.entry()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(1)
