"""A directory of another host, which `ccgrep remote serve` writes there, through plain ssh.

    request    8 bytes: the length; then operation, path, data and tag in msgpack
    reply      8 bytes: the length; then a status and a value in msgpack

The status is "ok", "missing", "changed" or "error". The other end needs ccgrep and none of its
extras. What ssh itself has to say goes to standard error, as with git.
"""

import shlex
import struct
import subprocess
import threading
from contextlib import suppress
from typing import IO, Any

import msgspec

from ccgrep.errors import CcgrepError, RemoteError
from ccgrep.remote.storage import (
    ChangedFileError,
    FolderStorage,
    ListedFile,
    MissingFileError,
    StorageError,
)

_LENGTH = struct.Struct(">Q")
_MAX_BYTES = 2**32


class SshStorage:
    """A directory of another host. ssh starts with the first operation."""

    def __init__(self, url: str, ssh_command: str = "") -> None:
        self._url = url
        host, slash, path = url.removeprefix("ssh://").partition("/")
        name, _, port = host.rpartition(":")
        if not port.isdigit():
            name, port = host, ""
        if not name or name.startswith("-"):
            raise RemoteError(f"'{url}' names no host: use ssh://HOST or ssh://HOST/DIR")
        directory = f"/{path}" if slash and path else "ccgrep-remote"
        directory = directory.removeprefix("/~/")
        self._command = [
            *shlex.split(ssh_command or "ssh"),
            *(["-p", port] if port else []),
            name.replace("[", "").replace("]", ""),  # ssh takes an IPv6 address without them.
            f"ccgrep remote serve {shlex.quote(directory)}",
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # A push uploads several packs at once.

    def list(self) -> list[ListedFile]:
        return [ListedFile(*file) for file in self._call("list")]

    def get(self, path: str) -> bytes:
        return bytes(self._call("get", path))

    def put(self, path: str, data: bytes) -> None:
        self._call("put", path, data)

    def replace(self, path: str, data: bytes, tag: str) -> None:
        self._call("replace", path, data, tag)

    def delete(self, path: str) -> None:
        self._call("delete", path)

    def _call(self, operation: str, path: str = "", data: bytes = b"", tag: str = "") -> Any:
        reply = None
        with self._lock, suppress(OSError):
            process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            _write(process.stdin, (operation, path, data, tag))
            reply = _read(process.stdout)
        if reply is None:
            raise StorageError(
                f"the connection to {self._url} ended: check that `ssh` reaches the host, and that "
                "`ccgrep` is on the PATH there"
            )
        status, value = reply
        if status == "missing":
            raise MissingFileError(f"{path} is not in {self._url}")
        if status == "changed":
            raise ChangedFileError(value)
        if status != "ok":
            raise StorageError(f"{self._url}: {value}")
        return value

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        return self._process

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None:
            with suppress(BrokenPipeError):  # The other end has exited.
                process.stdin.close()
            process.stdout.close()
            process.wait()


def serve(directory: str, requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests for a directory until they end."""
    storage = FolderStorage(directory)
    while (request := _read(requests)) is not None:
        try:
            value = _answer(storage, *request)
        except MissingFileError:
            _write(replies, ("missing", ""))
        except ChangedFileError as error:
            _write(replies, ("changed", str(error)))
        except CcgrepError as error:
            _write(replies, ("error", str(error)))
        else:
            _write(replies, ("ok", value))


def _answer(storage: FolderStorage, operation: str, path: str, data: bytes, tag: str) -> Any:
    if operation == "list":
        return [tuple(file) for file in storage.list()]
    if operation == "get":
        return storage.get(path)
    if operation == "put":
        return storage.put(path, data)
    if operation == "replace":
        return storage.replace(path, data, tag)
    if operation == "delete":
        return storage.delete(path)
    raise StorageError(f"unknown operation '{operation}': upgrade ccgrep on that host")


def _write(stream: IO[bytes], message: tuple[Any, ...]) -> None:
    content = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Return a message, or None if the stream has ended or holds something else."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(header)
    content = stream.read(size) if size < _MAX_BYTES else b""
    try:
        return msgspec.msgpack.decode(content) if len(content) == size else None
    except msgspec.MsgspecError:
        return None
