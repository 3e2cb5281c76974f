"""Open and create a store, and replace one by a newly built one.

`ccgrep index --recreate` builds the new store beside the old one and swaps them with two renames.
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
    """The store in `directory`, which must be there, ours, and of a known format.

    For a repair the FORMAT may be lost, but not be a newer one.
    """
    _finish_swap(directory)
    try:
        access.check_owner(directory)
        if not is_repair or os.path.exists(os.path.join(directory, "FORMAT")):
            access.check_format(directory, is_repair)
    except FileNotFoundError:
        store = Store(directory)
        if store.pack_names():
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
    """The store in `directory`, made when there is none."""
    _finish_swap(directory)
    if os.path.exists(os.path.join(directory, "FORMAT")):
        store = open_store(directory)
        store.was_exposed = _tighten(directory)
        return store
    if Store(directory).pack_names():
        return open_store(directory)
    if not _may_be_filled(directory):
        if os.path.exists(os.path.join(directory, "FORMAT")):
            return create_store(directory)  # Another one has made it meanwhile.
        raise StoreError(
            f"{directory} is not empty and not a store: set CCGREP_DIR to another directory"
        )
    store = Store(directory)
    for path in (directory, store.pack_dir, store.tmp_dir):
        fsio.make_dir(path)
    store.was_exposed = _tighten(directory)
    with store.lock(_CREATE_WAIT_S):
        # Another one that was quicker may be at its first snapshot by now.
        if not os.path.exists(os.path.join(directory, "FORMAT")):
            if not os.path.exists(os.path.join(directory, "HEAD")):
                refs.write_head(directory, NO_SNAPSHOT)
            refs.write_format(directory)
    return store


def _may_be_filled(directory: str) -> bool:
    """Whether there is nothing but what the making of a store leaves when it is interrupted."""
    made = {"HEAD", "forgotten", "objects", "seen", "tallies", "text", "tmp"}
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return True
    return all(name in made or name.partition(".")[0] == "lock" for name in names)


def _tighten(directory: str) -> bool:
    """A store is as private as the transcripts; says whether it was not."""
    was_exposed = bool(os.stat(directory).st_mode & 0o077)
    if was_exposed:
        fsio.make_private(directory)
    return was_exposed


def new_store_dir(directory: str) -> str:
    """Where a store is built that is to take the place of the one in `directory`."""
    return directory + ".new"


def swap(directory: str, now_ms: int) -> str:
    """Puts the new store in the place of the old one, and says where that is now.

    A kill between the two renames is finished by whoever opens the store next.
    """
    aside = f"{directory}.old-{now_ms}"
    fsio.rename_dir(directory, aside)
    _finish_swap(directory)
    return aside


def _finish_swap(directory: str) -> None:
    new = new_store_dir(directory)
    if not os.path.exists(directory) and os.path.isdir(new) and list_old_stores(directory):
        fsio.rename_dir(new, directory)


def list_old_stores(directory: str) -> list[str]:
    """The stores that `--recreate` has put aside."""
    above, name = os.path.split(directory)
    try:
        names = os.listdir(above)
    except OSError:
        return []
    return sorted(os.path.join(above, n) for n in names if n.startswith(f"{name}.old-"))
