"""Runs `ccgrep` in forks of a process that has its modules loaded.

To start Python takes longer than most commands do, and there are thousands. A fork has the
environment, directory and files that a process of its own would have, and runs the same entry;
what depends on the start itself (encodings, what is imported) is tested with real processes.
"""

import array
import atexit
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
from contextlib import ExitStack
from functools import cache
from typing import IO, Any

import ccgrep
from ccgrep import cli

SECONDS = 120
_HEAVY = ("embed", "mcp", "semantic", "vectors", "meaning", "__main__")


def run(
    arguments: Sequence[str], environment: Mapping[str, str], typed: str, directory: str
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would give, of the command with these arguments."""
    server = _server(environment["PATH"], environment["PYTHONPATH"], threading.get_ident())
    request = json.dumps([arguments, dict(environment), directory]).encode()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(typed.encode())
        files[0].seek(0)
        descriptors = array.array("i", [file.fileno() for file in files])
        server.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        code = json.loads(server.recv(100))
        out, errors = (_text(file) for file in files[1:])
    return subprocess.CompletedProcess(["ccgrep", *arguments], code, out, errors)


def _text(file: IO[bytes]) -> str:
    """As it is read from a pipe in text mode."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@cache
def _server(path: str, source: str, _: int) -> socket.socket:
    """One for each thread: tests let commands run side by side."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from tests.helpers.fork_server import serve; serve({theirs.fileno()})",
        ],
        env={"PATH": path, "PYTHONPATH": os.pathsep.join([source, here])},
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
    requests = socket.socket(fileno=descriptor)
    while True:
        data, ancillary, _, _ = requests.recvmsg(1 << 20, socket.CMSG_SPACE(12))
        if not data:
            return
        files = array.array("i", ancillary[0][2])
        child = os.fork()
        if child == 0:
            _become(files, *json.loads(data))
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        requests.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(files: Sequence[int], arguments: list[str], environment: Any, directory: str) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
    signal.alarm(SECONDS)
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
