"""Simulates what a disk holds after power loss, from the operations that the shim logged.

The data of a file is durable after its fsync. A name that was created, moved or removed is durable
after the fsync of its directory. Of everything else, any part may have reached the disk: later
writes without earlier ones, the first bytes of a write, a length without the data.
"""

import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Operation(NamedTuple):
    name: str
    path: str
    to: str = ""
    offset: int = 0
    data: bytes = b""


def read_log(path: Path) -> Iterator[Operation]:
    with path.open("rb") as log:
        while name := _word(log):
            place, to, offset, size = (_word(log) for _ in range(4))
            yield Operation(name, place, to, int(offset), log.read(int(size)))


def _word(log: BinaryIO) -> str:
    return b"".join(iter(lambda: log.read(1).rstrip(b"\0"), b"")).decode()


class File:
    def __init__(self, content: bytes = b"") -> None:
        self.synced = content
        self.pending: list[tuple[int, bytes | None]] = []

    def write(self, offset: int, data: bytes) -> None:
        self.pending.append((offset, data))

    def truncate(self, size: int) -> None:
        self.pending.append((size, None))

    def content(self) -> bytes:
        return _apply(self.synced, self.pending)

    def sync(self) -> None:
        self.synced, self.pending = self.content(), []

    def content_after_loss(self, chance: random.Random, share: float) -> bytes:
        kept = []
        for offset, data in self.pending:
            if chance.random() < share:
                kept.append((offset, data))
            elif data is not None and chance.random() < 0.5:
                begun = data[: chance.randrange(len(data) + 1)]
                kept.append((offset, chance.choice([begun, begun.ljust(len(data), b"\0")])))
        return _apply(self.synced, kept)


def _apply(content: bytes, changes: list[tuple[int, bytes | None]]) -> bytes:
    result = bytearray(content)
    for offset, data in changes:
        result += bytes(max(offset - len(result), 0))
        if data is None:
            del result[offset:]
        else:
            result[offset : offset + len(data)] = data
    return bytes(result)


class Folder:
    def __init__(self) -> None:
        self.names: dict[str, File | Folder] = {}
        self._synced: dict[str, File | Folder] = {}
        self._pending: list[Mapping[str, File | Folder | None]] = []

    def change(self, names: Mapping[str, "File | Folder | None"]) -> None:
        """Set or remove names, together or not at all."""
        self._pending.append(names)
        _set(self.names, names)

    def sync(self) -> None:
        self._synced, self._pending = dict(self.names), []

    def is_synced(self, name: str) -> bool:
        return self._synced.get(name) is self.names.get(name)

    def write_after_loss(self, path: Path, chance: random.Random, share: float) -> None:
        path.mkdir(mode=0o700)
        names = dict(self._synced)
        for change in self._pending:
            if chance.random() < share:
                _set(names, change)
        for name, node in names.items():
            if isinstance(node, Folder):
                node.write_after_loss(path / name, chance, share)
            else:
                (path / name).write_bytes(node.content_after_loss(chance, share))


def _set(names: "dict[str, File | Folder]", change: "Mapping[str, File | Folder | None]") -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """A directory tree that logged operations change."""

    def __init__(self, top: Path) -> None:
        above = Path(os.path.realpath(top.parent))
        self._top = str(above.parent)
        self._root = Folder()
        self._folder = Folder()
        self._root.change({above.name: self._folder})
        if top.exists():
            self._folder.change({top.name: _load(top)})
            self._folder.sync()

    def apply(self, made: Operation) -> None:
        folder, name = self._at(made.path)
        node = folder.names.get(name)
        if made.name in ("create", "truncate", "mkdir") and node is None:
            folder.change({name: Folder() if made.name == "mkdir" else File()})
        elif made.name == "rename":
            to_folder, to_name = self._at(made.to)
            assert node is not None
            if to_folder is folder:
                folder.change({to_name: node, name: None})
            else:
                to_folder.change({to_name: node})
                folder.change({name: None})
        elif made.name in ("unlink", "rmdir"):
            folder.change({name: None})
        elif made.name == "fsync" and node is not None:
            node.sync()
        elif isinstance(node, File) and made.name == "write":
            node.write(made.offset, made.data)
        elif isinstance(node, File) and made.name in ("ftruncate", "truncate"):
            node.truncate(made.offset)

    def assert_synced(self, directory: str, name: str) -> None:
        folder, _ = self._at(os.path.join(directory, name))
        node = folder.names[name]
        assert isinstance(node, File)
        assert (name, node.pending, folder.is_synced(name)) == (name, [], True)

    def content(self, path: str) -> bytes:
        folder, name = self._at(path)
        node = folder.names[name]
        assert isinstance(node, File)
        return node.content()

    def write_after_loss(self, path: Path, chance: random.Random) -> None:
        """Write what a reboot finds at `path`: of unsynced data nothing, some or all."""
        holder = path.with_name("disk")
        self._folder.write_after_loss(holder, chance, chance.choice([0.0, 0.1, 0.5, 0.9, 1.0]))
        if (holder / path.name).exists():
            (holder / path.name).rename(path)
        holder.rmdir()

    def _at(self, path: str) -> tuple[Folder, str]:
        *above, name = os.path.relpath(path, self._top).split(os.sep)
        folder = self._root
        for part in above:
            found = folder.names.get(part)
            if not isinstance(found, Folder):
                return Folder(), name  # deleted, but still open
            folder = found
        return folder, name


def _load(path: Path) -> Folder | File:
    """Return what is on the real disk, all of it durable."""
    if path.is_file():
        return File(path.read_bytes())
    folder = Folder()
    folder.change({below.name: _load(below) for below in path.iterdir()})
    folder.sync()
    return folder
