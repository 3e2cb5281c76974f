"""Open a store, create one, and replace one by a new one.

`ccgrep index --recreate` builds the new store beside the old one, then swaps them with two renames.
"""

import os
from collections.abc import Callable
from typing import TypeVar

from ccgrep.errors import MissingObjectError, StoreError
from ccgrep.store import access, fsio, refs
from ccgrep.store.manifest import NO_SNAPSHOT
from ccgrep.store.store import Store

T = TypeVar("T")

_CREATE_WAIT_S = 10.0


def open_store(directory: str, is_repair: bool = False) -> Store:
    """Return the store in `directory`, if it exists, is ours, and has a known format.

    A repair accepts a lost or damaged FORMAT, but not a newer one.
    """
    _finish_swap(directory)
    try:
        access.check_owner(directory)
        if not is_repair or _has_format(directory):
            access.check_format(directory, is_repair)
    except FileNotFoundError:
        if Store(directory).pack_names():
            raise StoreError(
                f"{directory} has objects but no FORMAT: run `ccgrep fsck --repair`"
            ) from None
        raise StoreError(f"there is no store in {directory}: run `ccgrep index`") from None
    return Store(directory)


def read_consistently(directory: str, work: Callable[[Store], T]) -> T:
    """Return the result of `work` on the store, retried once if a writer removed an object."""
    store = open_store(directory)
    head = store.head()
    try:
        return work(store)
    except MissingObjectError:
        if store.head() == head:
            raise
        return work(open_store(directory))


def create_store(directory: str) -> Store:
    """Return the store in `directory`, created if there is none."""
    _finish_swap(directory)
    if os.path.exists(directory):
        access.check_owner(directory)
    if _has_format(directory):
        store = open_store(directory)
        store.was_exposed = fsio.make_private(directory)
        return store
    if Store(directory).pack_names():
        return open_store(directory)
    if not _is_unfinished(directory):
        if _has_format(directory):
            return create_store(directory)  # Another process has created it meanwhile.
        raise StoreError(
            f"{directory} is not empty and not a store: set CCGREP_DIR to another directory"
        )
    store = Store(directory)
    for path in (directory, store.pack_dir, store.tmp_dir):
        fsio.make_dir(path)
    store.was_exposed = fsio.make_private(directory)
    with store.lock(_CREATE_WAIT_S):
        # A faster process may have created the store, and even committed.
        if not _has_format(directory):
            if not os.path.exists(os.path.join(directory, "HEAD")):
                refs.write_head(directory, NO_SNAPSHOT)
            refs.write_format(directory)
    return store


def _has_format(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, "FORMAT"))


def _is_unfinished(directory: str) -> bool:
    """Return whether a directory holds at most what an interrupted creation leaves behind."""
    ours = {"HEAD", "forgotten", "objects", "seen", "tallies", "text", "tmp"}
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return True
    return all(name in ours or name.partition(".")[0] == "lock" for name in names)


def new_store_dir(directory: str) -> str:
    """Return where the store that will replace the one in `directory` is built."""
    return directory + ".new"


def swap(directory: str, now_ms: int) -> str:
    """Replace the store by the new one, and return where the old one is now.

    If the process is killed between the two renames, the next `open_store` finishes the swap.
    """
    old = f"{directory}.old-{now_ms}"
    fsio.rename(directory, old)
    _finish_swap(directory)
    return old


def _finish_swap(directory: str) -> None:
    new = new_store_dir(directory)
    if not os.path.exists(directory) and os.path.isdir(new) and list_old_stores(directory):
        fsio.rename(new, directory)


def list_old_stores(directory: str) -> list[str]:
    """Return the paths of the stores that `--recreate` has replaced."""
    parent, name = os.path.split(directory)
    try:
        names = os.listdir(parent)
    except OSError:
        return []
    return sorted(os.path.join(parent, n) for n in names if n.startswith(f"{name}.old-"))
