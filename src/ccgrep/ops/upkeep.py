"""Keeping the store whole: checks, garbage, and what is to be forgotten."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import MissingModelError, StoreError
from ccgrep.fulltext import generations
from ccgrep.fulltext.sync import purge, sync
from ccgrep.ops.common import now_ms
from ccgrep.ops.index import index
from ccgrep.refs import find as find_ref
from ccgrep.store import fsck as checks
from ccgrep.store import fsio, tallies
from ccgrep.store import gc as collector
from ccgrep.store.checksummed_file import is_damaged
from ccgrep.store.fsck import FsckReport
from ccgrep.store.gc import GcReport
from ccgrep.store.lifecycle import list_old_stores, new_store_dir, open_store
from ccgrep.store.lock import WriterLock
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


class FsckResult(Struct, frozen=True):
    report: FsckReport
    repaired: FsckReport | None = None


def fsck(config: Config, is_repair: bool = False, wait_s: float = 10.0) -> FsckResult:
    """Checks the store; with `is_repair` mends it, reading transcripts again where needed."""
    if not is_repair:
        return FsckResult(_check(config))
    store = open_store(config.store_dir, is_repair=True)
    with store.lock(wait_s), _nobody_embeds(config, wait_s):
        report = checks.check(store)
        lost = [] if report.is_clean else checks.repair(store)
        vectors, seen = _damaged_vectors(config), _damaged_seen(store)
        report.damaged += [*_damaged_texts(config), *_damaged_tallies(store)]
        is_rebuilt = not report.is_clean
        report.damaged += [*vectors, *seen]
        for path in (*vectors, *seen):
            fsio.remove(path)  # What is not there is embedded or noted again.
        if is_rebuilt:
            # Built anew by indexing: it may lack turns that could not be read.
            for path in generations.generation_paths(config.store_dir):
                fsio.remove_tree(path)
            tallies.drop_all(store)
    if report.is_clean:
        return FsckResult(report, report)
    index(config, wait_s=wait_s)
    repaired = _check(config)
    found = {row.session.id for row in open_store(config.store_dir).rows()}
    repaired.lost += [name for name in lost if name.partition(" ")[2] not in found]
    return FsckResult(report, repaired)


def _check(config: Config) -> FsckReport:
    """Checks the store; anew if somebody wrote to it meanwhile."""
    while True:
        store = open_store(config.store_dir)
        before = _state(store)
        report = checks.check(store)
        report.damaged += [*_damaged_texts(config), *_damaged_vectors(config)]
        report.damaged += [*_damaged_tallies(store), *_damaged_seen(store)]
        if report.is_clean or before == _state(store):
            return report


def _state(store: Store) -> tuple[object, ...]:
    """What is another when somebody has written."""
    try:
        head = store.head().hex()
    except StoreError as error:
        head = str(error)
    vectors = os.path.join(store.directory, "vectors")
    files = sorted(name for _, _, names in os.walk(vectors) for name in names)
    return store.pack_names(), head, generations.current(store.directory), files


def gc(config: Config, wait_s: float = 10.0) -> GcReport:
    """Folds packs and drops what nothing refers to."""
    store = open_store(config.store_dir)
    with store.lock(wait_s), _nobody_embeds(config, wait_s):
        purge(store)
        report = collector.collect_garbage(store)
        sync(store)
        _drop_dead(config, store, is_gc=True)
    return report


@contextmanager
def _nobody_embeds(config: Config, wait_s: float) -> Iterator[None]:
    """Whoever embeds holds texts in memory: what is forgotten would come back with them."""
    directory = os.path.join(config.store_dir, "vectors")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    with ExitStack() as locks:
        for name in names:
            locks.enter_context(WriterLock(os.path.join(directory, name, "lock"), wait_s))
        yield


def _drop_dead(config: Config, store: Store, is_gc: bool) -> None:
    directory = os.path.join(config.store_dir, "vectors")
    if not os.path.isdir(directory):
        return
    try:
        from ccgrep.search.semantic_search import drop_dead  # noqa: PLC0415 - needs the extra
    except MissingModelError:
        if not is_gc:
            fsio.remove_tree(directory)  # What was forgotten cannot be told from the rest.
        return
    drop_dead(config, store, is_model_dropped=is_gc)


def _damaged_seen(store: Store) -> list[str]:
    path = os.path.join(store.directory, "seen")
    return [path] if is_damaged(path) else []


def _damaged_texts(config: Config) -> list[str]:
    return generations.damaged_files(config.store_dir)


def _damaged_tallies(store: Store) -> list[str]:
    """Only of files that HEAD leads to: others are used by nobody."""
    try:
        from ccgrep.stats.columns import is_whole  # noqa: PLC0415 - imports numpy
    except ImportError:
        return []  # Without numpy they are used by nobody.
    try:
        wanted = tallies.current_files(store)
    except StoreError:
        return []
    paths = [path for path in tallies.list_paths(store) if os.path.basename(path) in wanted]
    return [path for path in paths if not is_whole(path, tallies.map_file(path))]


def _damaged_vectors(config: Config) -> list[str]:
    if not os.path.isdir(os.path.join(config.store_dir, "vectors")):
        return []
    try:
        from ccgrep.semantic.vectors import damaged_files  # noqa: PLC0415 - needs the extra
    except MissingModelError:
        return []  # Nobody can use them anyway.
    return damaged_files(config.store_dir)


class Forgotten(Struct, frozen=True):
    sessions: tuple[str, ...]
    report: GcReport
    set_aside: tuple[str, ...]


def forget(config: Config, refs: list[str], wait_s: float = 10.0) -> Forgotten:
    """Removes sessions, and the sub-agents that served them, for good."""
    store = open_store(config.store_dir)
    with store.lock(wait_s), _nobody_embeds(config, wait_s):
        new_dir = new_store_dir(config.store_dir)
        if os.path.isdir(new_dir):
            fsio.remove_tree(new_dir)  # What a killed --recreate left holds the same bytes.
        rows = list(store.rows())
        wanted: dict[str, Row] = {}
        for ref in refs:
            target = find_ref(store, rows, ref)
            if target.row is None or target.turn is not None:
                raise StoreError(f"{ref} names a turn: only whole sessions can be forgotten")
            _add_with_sub_agents(target.row, rows, wanted)
        fsio.remove(os.path.join(store.directory, "seen"))  # It names the transcripts.
        collector.forget(store, wanted.values(), now_ms())
        purge(store)  # Before the mark that the bytes are still there is taken away.
        report = collector.collect_garbage(store)
        sync(store)
        _drop_dead(config, store, is_gc=False)
    left = tuple(list_old_stores(config.store_dir))
    return Forgotten(tuple(sorted(wanted)), report, left)


def _add_with_sub_agents(row: Row, rows: list[Row], wanted: dict[str, Row]) -> None:
    if row.session.id in wanted:
        return
    wanted[row.session.id] = row
    for other in rows:
        is_served = other.session.parent == row.base_id and other.session.kind != "main"
        is_served = is_served and not row.is_superseded
        is_earlier = other.is_superseded and other.base_id == row.base_id
        if is_served or is_earlier:
            _add_with_sub_agents(other, rows, wanted)
