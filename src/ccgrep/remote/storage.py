"""Storage: named files that are written whole, in a folder, a bucket or on another host.

Nothing in ccgrep relies on conditional writes or on an order of the listing. `put` must be atomic:
a file exists completely or not at all. `replace` may be, where a storage can do it.
"""

import os
import stat
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ccgrep.errors import CcgrepError, RemoteError
from ccgrep.store import fsio

_TMP = "tmp"
"""Where a folder has unfinished files. They are listed, so that `gc --remote` deletes old ones."""


class StorageError(RemoteError):
    """The storage did not do what it was asked."""


class MissingFileError(StorageError):
    """The storage has no such file."""


class ChangedFileError(StorageError):
    """The storage has another version of the file than expected, and keeps it."""


class ListedFile(NamedTuple):
    """A file of a storage. `tag` changes whenever its content does."""

    path: str
    size: int
    modified: float  # seconds since 1970, by the clock of the storage
    tag: str


class Storage(Protocol):
    """What ccgrep needs of a storage. Paths have forward slashes."""

    def list(self) -> list[ListedFile]:
        """Return all files."""

    def get(self, path: str) -> bytes:
        """Return the content of a file. Raise MissingFileError if there is none."""

    def put(self, path: str, data: bytes) -> None:
        """Write or replace a file."""

    def replace(self, path: str, data: bytes, tag: str) -> None:
        """Write a file like `put`, as far as it still has a tag; "" means that there is none.

        Raise ChangedFileError if another version is noticed. Some storages never notice.
        """

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""


class FolderStorage:
    """A directory, written like a store: complete, durable and private."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def list(self) -> list[ListedFile]:
        found = []
        for folder, _, names in os.walk(self._directory, onerror=_raise):
            below = os.path.relpath(folder, self._directory)
            for name in names:
                info = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(info.st_mode):
                    path = name if below == "." else f"{below}/{name}".replace(os.sep, "/")
                    found.append(ListedFile(path, info.st_size, info.st_mtime, _make_tag(info)))
        return found

    def get(self, path: str) -> bytes:
        try:
            with open(self._resolve(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise MissingFileError(f"{path} is not in the remote") from None
        except OSError as error:
            raise StorageError(f"cannot read {path} ({error.strerror}): check the disk") from error

    def put(self, path: str, data: bytes) -> None:
        full = self._resolve(path)
        tmp = os.path.join(self._directory, _TMP)
        for folder in (os.path.dirname(full), tmp):
            fsio.make_dir(folder)
        fsio.publish(tmp, full, data)

    def replace(self, path: str, data: bytes, tag: str) -> None:
        """Compare the tag just before the file is renamed, which is not atomic."""
        try:
            current = _make_tag(os.lstat(self._resolve(path)))
        except FileNotFoundError:
            current = ""
        if current != tag:
            raise ChangedFileError(f"{path} was changed by another machine")
        self.put(path, data)

    def delete(self, path: str) -> None:
        fsio.remove(self._resolve(path))

    def _resolve(self, path: str) -> str:
        """Return the full path. A path that leaves the directory is refused."""
        if any(part in ("", ".", "..") for part in path.split("/")):
            raise StorageError(f"invalid path '{path}' in the remote")
        return os.path.join(self._directory, *path.split("/"))


class ThrottledStorage:
    """A storage that transfers a limited number of bytes per second, on average.

    Files are transferred whole, and each takes at least the time that its bytes may take.
    """

    def __init__(self, storage: Storage, rate: int) -> None:
        self._storage = storage
        self._rate = rate
        self._free_at = 0.0
        self._lock = threading.Lock()  # A push uploads several packs at once.

    def list(self) -> list[ListedFile]:
        return self._storage.list()

    def get(self, path: str) -> bytes:
        data = self._storage.get(path)
        self._wait(data)
        return data

    def put(self, path: str, data: bytes) -> None:
        self._storage.put(path, data)
        self._wait(data)

    def replace(self, path: str, data: bytes, tag: str) -> None:
        self._storage.replace(path, data, tag)
        self._wait(data)

    def delete(self, path: str) -> None:
        self._storage.delete(path)

    def _wait(self, data: bytes) -> None:
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + len(data) / self._rate
            until = self._free_at
        time.sleep(max(until - time.monotonic(), 0.0))


def _make_tag(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}-{info.st_size}-{info.st_ino}"


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StorageError(
            f"cannot read {error.filename} ({error.strerror}): check that it is mounted"
        ) from error


def open_storage(
    url: str,
    endpoint: str = "",
    ssh_command: str = "",
    variables: Mapping[str, str] | None = None,
) -> Storage:
    """Return the storage at a URL: a folder, a bucket, or a directory of another host.

    `variables` are those of the environment that tell where credentials are.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or not rest:
        raise RemoteError(
            f"'{url}' is not an address: use file:///DIR, s3://BUCKET/PREFIX or ssh://HOST/DIR"
        )
    if scheme == "file":
        if not os.path.isabs(rest):
            raise RemoteError(f"'{url}' is not absolute: use file:///DIR, with three slashes")
        return FolderStorage(rest)
    if scheme in ("s3", "gs", "az"):
        try:
            from ccgrep.remote.object_storage import ObjectStorage  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing_extra() from None
        return ObjectStorage(url, endpoint, variables or {})
    if scheme == "ssh":
        from ccgrep.remote.ssh_storage import SshStorage  # noqa: PLC0415 - imports subprocess

        return SshStorage(url, ssh_command)
    raise RemoteError(f"unknown kind of address '{scheme}://': use file://, s3:// or ssh://")


def missing_extra() -> CcgrepError:
    return RemoteError("this remote needs more packages: run `pip install 'ccgrep[remote]'`")
