"""Opens what a search runs on: the full-text index, a rebuilt one, a temporary one, or the store.

A search never fails for want of an index. Only `open_index` is on the path of a normal
search; everything else is imported when the index is missing, damaged or behind HEAD.
"""

from __future__ import annotations

from ccgrep.errors import LockedError, TextIndexError, WriteError
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.store.access import check_usable
from ccgrep.store.refs import read_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.fulltext.generations import Generation
    from ccgrep.kinds import Mode
    from ccgrep.search.store_scan import StoreLookup

_WAIT_S = 0.2


class OpenIndex(NamedTuple):
    """Something to search: when its newest turn began, and whether it holds all text kinds."""

    texts: TextReader | StoreLookup
    newest: int = 0
    is_whole: bool = True


def open_index(store_dir: str, is_latest_enough: bool = False) -> OpenIndex | None:
    """Return the full-text index if it is whole and reflects HEAD, else None.

    With `is_latest_enough`, return it even if it is neither.
    """
    check_usable(store_dir)
    generation = generations.current(store_dir)
    if generation is None:
        return None
    is_current = generation.level == "whole" and generation.snapshot == read_head(store_dir)
    try:
        return _open(store_dir, generation) if is_current or is_latest_enough else None
    except TextIndexError:
        return None


def open_current_reader(store_dir: str) -> TextReader | None:
    """Return a reader of the full-text index if it is whole and reflects HEAD, else None."""
    index = open_index(store_dir)
    return index.texts if index is not None and isinstance(index.texts, TextReader) else None


def _open(store_dir: str, generation: Generation | None) -> OpenIndex:
    if generation is None:
        raise TextIndexError("there is no full-text index")
    reader = generations.open_reader(generation.path)
    # In a directory that another process is deleting, Tantivy makes an empty index.
    if reader.is_empty and generations.current(store_dir) != generation:
        raise TextIndexError("the full-text index was replaced")
    return OpenIndex(reader, generation.newest, generation.level == "whole")


def open_without_index(store_dir: str, mode: Mode) -> OpenIndex:
    """Return what `--no-index` searches: the store, or for ranked modes a temporary index."""
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415 - not for a normal search

    store = open_store(store_dir)
    if mode in ("literal", "regex"):
        from ccgrep.search.store_scan import StoreLookup  # noqa: PLC0415

        return OpenIndex(StoreLookup(store))
    from ccgrep.fulltext.sync import build_temporary  # noqa: PLC0415

    return OpenIndex(*build_temporary(store))


def repair_index(store_dir: str, warn: Callable[[str], None]) -> OpenIndex:
    """Return the full-text index after bringing it to HEAD, rebuilt from objects where needed.

    If another process writes or the disk is full, return the best that can be had.
    """
    from ccgrep.fulltext.sync import sync  # noqa: PLC0415 - only without a usable index
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    store = open_store(store_dir)
    try:
        if generations.current(store_dir) is None and store.snapshot().shards:
            warn("building the full-text index")
        with store.lock(_WAIT_S):
            try:
                if (generation := generations.current(store_dir)) is not None:
                    _open(store_dir, generation)
            except TextIndexError as error:
                warn(f"{error}: rebuilding it")
            sync(store)
        return _open(store_dir, generations.current(store_dir))
    except (LockedError, WriteError) as error:
        return _open_despite(store_dir, error, warn)


def _open_despite(store_dir: str, error: Exception, warn: Callable[[str], None]) -> OpenIndex:
    latest = open_index(store_dir, is_latest_enough=True)
    if latest is None:
        warn(f"there is no full-text index, so this search takes a while: {error}")
        return open_without_index(store_dir, "words")
    discussion = "the discussion only; tools and sub-agents are still being indexed"
    warn(f"searching {'what is indexed so far' if latest.is_whole else discussion}: {error}")
    return latest
