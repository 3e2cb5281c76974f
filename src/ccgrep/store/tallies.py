"""The files of tallies: one per shard, named after the shard object that it counts.

    tallies/<version>/<shard>-<object>.tally   the counts of one shard
    tallies/<version>/shared-<hash>.tally      turns that occur at several places

The name of a tally tells whether it belongs to HEAD: all others are stale. Tallies are derived and
may be deleted at any time. `stats/tally.py` and `stats/columns.py` define their content.
"""

import mmap
import os
from collections.abc import Iterable

from ccgrep.hashing import sha256
from ccgrep.store import fsio
from ccgrep.store.manifest import Snapshot
from ccgrep.store.store import Store

_FORMAT = "v1"
"""Must change whenever `stats/` writes other columns or interprets commands differently."""


def tallies_dir(store: Store) -> str:
    return os.path.join(store.directory, "tallies")


def version_name(tables: str) -> str:
    """Return the directory name for a version of the tables that classify commands."""
    return f"{_FORMAT}-{tables}"


def shared_file(names: Iterable[str]) -> str:
    return f"shared-{sha256(' '.join(names).encode()).hexdigest()[:32]}.tally"


def shard_files(snapshot: Snapshot) -> dict[str, str]:
    """Return the file name of each shard's tally."""
    shards = sorted(snapshot.shards.items())
    return {shard: f"{shard}-{id.hex()[:32]}.tally" for shard, id in shards}


def list_names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_paths(store: Store) -> list[str]:
    """Return the paths of all tallies, of every version."""
    folders = [os.path.join(tallies_dir(store), name) for name in list_names(tallies_dir(store))]
    return [os.path.join(folder, name) for folder in folders for name in list_names(folder)]


def map_file(path: str) -> mmap.mmap | bytes:
    """Return the content of a file, empty if it is missing."""
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
    """Return the names of the tallies that belong to HEAD."""
    shards = shard_files(store.snapshot()).values()
    return {*shards, shared_file(shards)}


def drop_stale(store: Store) -> None:
    """Delete tallies that do not belong to HEAD. Requires the writer lock."""
    current = current_files(store)
    for path in list_paths(store):
        if os.path.basename(path) not in current:
            fsio.remove(path)


def drop_all(store: Store) -> None:
    """Delete every tally. Requires the writer lock."""
    if os.path.isdir(tallies_dir(store)):
        fsio.remove_tree(tallies_dir(store))


def drop_other_versions(store: Store, ours: str) -> None:
    """Delete the tallies of other versions of ccgrep. Requires the writer lock."""
    for folder in list_names(tallies_dir(store)):
        if folder != ours:
            fsio.remove_tree(os.path.join(tallies_dir(store), folder))
