"""Taking in what changed before a search, and healing a text index that is not there.

Imported only when there is something to do: a search that finds everything fresh needs none
of this.
"""

import os

from ccgrep.config import Config
from ccgrep.errors import LockedError, StoreError, TextIndexError, WriteError
from ccgrep.fulltext import generations
from ccgrep.fulltext.sync import sync, temporary
from ccgrep.ingest.run import Options, build
from ccgrep.kinds import Mode
from ccgrep.ops.search import Coverage, How
from ccgrep.search.filters import TurnLookup
from ccgrep.search.store_scan import StoreLookup
from ccgrep.sources.scan import scan
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.store import Store

Opened = tuple[TurnLookup, int, bool]
"""What is searched, when its newest turn began, and whether it has more than what was said."""

WAS_OPEN = "the store's directory was open to other users: it is private now (0700)"
_WAIT_S = 0.2


def refresh(config: Config, how: How) -> Coverage:
    """Takes in what changed, as far as that is quickly done; the first time, all of it."""
    is_first = not os.path.exists(os.path.join(config.store_dir, "FORMAT"))
    if is_first and not config.roots:
        raise StoreError(
            "there are no transcripts: neither ~/.claude nor ~/.codex is there; "
            "take in another directory with `ccgrep index --root`"
        )
    options = Options(
        wait_s=_WAIT_S,
        roots=config.roots,
        exclude=config.exclude,
        budget_s=None if is_first else config.refresh_budget_s,
        kinds=config.index_kinds if is_first else None,
    )
    try:
        store = create_store(config.store_dir)
        if store.was_exposed:
            how.warn(WAS_OPEN)
        report = build(store, lambda: scan(list(config.roots)), options, how.on_progress)
    except (LockedError, WriteError) as error:
        if is_first:
            raise
        how.warn(f"searching what is indexed so far: {error}")
        return Coverage(is_fresh=False)
    if report.behind_files:
        how.warn(
            f"{report.behind_files:,} files ({report.behind_bytes / 1e6:,.1f} MB) are not indexed "
            "yet, the oldest ones: run `ccgrep index`"
        )
    return Coverage(not report.behind_files, report.behind_files, report.behind_bytes)


def open_texts(config: Config, mode: Mode, how: How) -> Opened:
    """What a search runs on when the text index cannot be used as it is."""
    store = open_store(config.store_dir)
    if not how.is_indexed:
        is_ranked = mode not in ("literal", "regex")
        return (*temporary(store), True) if is_ranked else (StoreLookup(store), 0, True)
    try:
        return _healed(store, how)
    except (LockedError, WriteError) as error:
        return _unhealed(store, how, error)


def _healed(store: Store, how: How) -> Opened:
    """A reader of a text index that reflects HEAD, rebuilt from the objects where needed."""
    if generations.current(store.directory) is None and store.snapshot().shards:
        how.warn("building the text index")
    with store.lock(_WAIT_S):
        _tell_damage(store, how)
        sync(store)
    return _current_reader(store)


def _tell_damage(store: Store, how: How) -> None:
    try:
        if generations.current(store.directory) is not None:
            _current_reader(store)
    except TextIndexError as error:
        how.warn(f"{error}: building it anew")


def _current_reader(store: Store) -> Opened:
    found = generations.current(store.directory)
    if found is None:
        raise TextIndexError("there is no text index")
    return generations.open_reader(found.path), found.newest, found.level == "whole"


def _unhealed(store: Store, how: How, error: Exception) -> Opened:
    """Another process is writing, or nobody may: what there is will do."""
    try:
        found = _current_reader(store)
    except TextIndexError:
        how.warn(f"there is no text index, so this takes a while: {error}")
        return *temporary(store), True
    said = "what was said; tools and sub-agents are being indexed"
    what = "what is indexed so far" if found[2] else said
    how.warn(f"searching {what}: {error}")
    return found
