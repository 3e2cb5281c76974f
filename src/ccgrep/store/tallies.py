"""Where tallies are: derived files, one for each shard of a snapshot, named by what they reflect.

    tallies/<version>/<shard>-<object>.tally   what the sessions of one shard object used
    tallies/<version>/shared-<hash>.tally      which of all that stands at several places

A shard's object is named by its content, so a tally needs no word on which snapshot it belongs to:
one whose name HEAD does not lead to is stale, and one that is not there is made. All of it may be
deleted at any time. What stands in them, `stats/tally.py` and `stats/columns.py` say.
"""

import mmap
import os
from collections.abc import Iterable

from ccgrep.hashing import sha256
from ccgrep.model import ObjectId
from ccgrep.store import fsio
from ccgrep.store.manifest import Snapshot
from ccgrep.store.store import Store

_FORMAT = "v1"
"""Has to change with what `stats/` writes, and with what it makes of a command."""


def tallies_dir(store: Store) -> str:
    return os.path.join(store.directory, "tallies")


def version_name(tables: str) -> str:
    """The name of the directory: what decides about commands decides about tallies too."""
    return f"{_FORMAT}-{tables}"


def shard_file(shard: str, id: ObjectId) -> str:
    return f"{shard}-{id.hex()[:32]}.tally"


def shared_file(names: Iterable[str]) -> str:
    return f"shared-{sha256(' '.join(names).encode()).hexdigest()[:32]}.tally"


def shard_files(snapshot: Snapshot) -> dict[str, str]:
    """The file of each shard."""
    return {shard: shard_file(shard, id) for shard, id in sorted(snapshot.shards.items())}


def list_names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_paths(store: Store) -> list[str]:
    """Every tally, of all versions."""
    folders = [os.path.join(tallies_dir(store), name) for name in list_names(tallies_dir(store))]
    return [os.path.join(folder, name) for folder in folders for name in list_names(folder)]


def map_file(path: str) -> mmap.mmap | bytes:
    """The content of a file; empty if there is none."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        return b""


def publish(store: Store, directory: str, name: str, data: bytes) -> None:
    fsio.make_dir(store.tmp_dir)
    fsio.make_dir(directory)
    fsio.publish(store.tmp_dir, os.path.join(directory, name), data, is_hint=True)


def current_files(store: Store) -> set[str]:
    """The files that belong to HEAD."""
    shards = shard_files(store.snapshot()).values()
    return {*shards, shared_file(shards)}


def drop_stale(store: Store) -> None:
    """Removes tallies that do not belong to HEAD; for the holder of the lock."""
    top = tallies_dir(store)
    wanted = current_files(store)
    for folder in list_names(top):
        for name in list_names(os.path.join(top, folder)):
            if name not in wanted:
                fsio.remove(os.path.join(top, folder, name))


def drop_all(store: Store) -> None:
    """Removes every tally; for the holder of the lock."""
    if os.path.isdir(tallies_dir(store)):
        fsio.remove_tree(tallies_dir(store))


def drop_other_versions(store: Store, ours: str) -> None:
    """Removes what another version of ccgrep left; for the holder of the lock."""
    for folder in list_names(tallies_dir(store)):
        if folder != ours:
            fsio.remove_tree(os.path.join(tallies_dir(store), folder))
