"""The location of the tally files that `stats/` derives from the shards.

    tallies/<version>/<shard>-<object>.tally   the counts of one shard
    tallies/<version>/shared-<hash>.tally      turns and API messages that occur in several places

A file is named after the content-addressed shard that it was derived from. So a file whose name
HEAD does not lead to is stale, and a missing file is built on demand. All of them may be deleted
at any time. `stats/column_file.py` documents the layout, `stats/shard_tally.py` the columns.
"""

import mmap
import os
from collections.abc import Iterable

from ccgrep.hashing import sha256
from ccgrep.store import fsio
from ccgrep.store.manifest import Snapshot
from ccgrep.store.store import Store

_FORMAT = "v3"
"""The version of what `stats/` writes and of how it classifies shell commands."""


def tallies_dir(store: Store) -> str:
    return os.path.join(store.directory, "tallies")


def version_name(rules_version: str) -> str:
    """Return the directory name. Tallies store verdicts, so new safety rules need new tallies."""
    return f"{_FORMAT}-{rules_version}"


def shared_file(names: Iterable[str]) -> str:
    return f"shared-{sha256(' '.join(names).encode()).hexdigest()[:32]}.tally"


def shard_files(snapshot: Snapshot) -> dict[str, str]:
    """Return the tally file name of each shard."""
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
    """Map a file into memory; empty if there is none."""
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
    """Return the names of the files that belong to HEAD."""
    shards = shard_files(store.snapshot()).values()
    return {*shards, shared_file(shards)}


def drop_stale(store: Store) -> None:
    """Delete the tallies that do not belong to HEAD. The caller holds the writer lock."""
    current = current_files(store)
    for path in list_paths(store):
        if os.path.basename(path) not in current:
            fsio.remove(path)


def drop_all(store: Store) -> None:
    """Delete every tally. The caller holds the writer lock."""
    if os.path.isdir(tallies_dir(store)):
        fsio.remove_tree(tallies_dir(store))


def drop_other_versions(store: Store, version: str) -> None:
    """Delete the tallies of other versions of ccgrep. The caller holds the writer lock."""
    for name in list_names(tallies_dir(store)):
        if name != version:
            fsio.remove_tree(os.path.join(tallies_dir(store), name))
