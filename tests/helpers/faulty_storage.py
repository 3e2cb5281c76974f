"""A storage that fails once: an error, wrong bytes, or a process that ends there."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from ccgrep.remote import local
from ccgrep.remote.storage import ListedFile, Storage, StorageError
from ccgrep.store import fsio

StorageFault = Literal["error before", "error after", "truncated", "wrong bytes", "killed"]
FAULTS: tuple[StorageFault, ...] = (
    "error before", "error after", "truncated", "wrong bytes", "killed",
)  # fmt: skip


class KilledError(BaseException):
    """Stands for the end of the process: nothing in ccgrep handles it."""


class FaultyStorage:
    """Counts the operations of a storage, and breaks one of them."""

    def __init__(self, storage: Storage, tick: Callable[[], StorageFault | None]) -> None:
        self._storage = storage
        self._tick = tick

    def list(self) -> list[ListedFile]:
        with self._fault():
            return self._storage.list()

    def get(self, path: str) -> bytes:
        with self._fault() as fault:
            data = self._storage.get(path)
        if fault == "truncated":
            return data[: len(data) // 2]
        if fault == "wrong bytes":
            return data[:-1] + bytes([data[-1] ^ 1])
        return data

    def put(self, path: str, data: bytes) -> None:
        with self._fault():
            self._storage.put(path, data)

    def replace(self, path: str, data: bytes, tag: str) -> None:
        with self._fault():
            self._storage.replace(path, data, tag)

    def delete(self, path: str) -> None:
        with self._fault():
            self._storage.delete(path)

    @contextmanager
    def _fault(self) -> Iterator[StorageFault | None]:
        fault = self._tick()
        if fault == "error before":
            raise StorageError("the storage answers with status 500")
        if fault == "killed":
            raise KilledError
        yield fault
        if fault == "error after":
            raise StorageError("the connection broke before the answer arrived")


class RacingStorage(FaultyStorage):
    """Calls a function once, just before a file is replaced."""

    def __init__(self, storage: Storage, race: Callable[[], object]) -> None:
        super().__init__(storage, lambda: None)
        self._race: Callable[[], object] | None = race

    def replace(self, path: str, data: bytes, tag: str) -> None:
        race, self._race = self._race, None
        if race is not None:
            race()
        super().replace(path, data, tag)


@contextmanager
def race_before_head(race: Callable[[], object]) -> Iterator[None]:
    """Call a function once, just before the first head is written."""

    def once() -> None:
        local.wrap_storage = None
        race()

    local.wrap_storage = lambda storage: RacingStorage(storage, once)
    try:
        yield
    finally:
        local.wrap_storage = None


@contextmanager
def storage_fault(at: int = 0, fault: StorageFault = "error before") -> Iterator[list[int]]:
    """Break the operation `at` of every storage that is opened inside, and count operations."""
    count = [0]

    def tick() -> StorageFault | None:
        count[0] += 1
        return fault if count[0] == at else None

    local.wrap_storage = lambda storage: FaultyStorage(storage, tick)
    try:
        yield count
    finally:
        local.wrap_storage = None


@contextmanager
def killed_write(at: int) -> Iterator[list[int]]:
    """End the process before the operation `at` of `store/fsio`."""
    count = [0]

    def hook(_name: str, _path: str) -> None:
        count[0] += 1
        if count[0] == at:
            raise KilledError

    fsio.hook = hook
    try:
        yield count
    finally:
        fsio.hook = None


@contextmanager
def full_disk(at: int) -> Iterator[None]:
    """Let every operation of `store/fsio` from `at` on fail for lack of space, but deletions."""
    count = 0

    def hook(name: str, path: str) -> None:
        nonlocal count
        count += 1
        if count >= at and name not in ("remove", "rmdir"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    fsio.hook = hook
    try:
        yield
    finally:
        fsio.hook = None
