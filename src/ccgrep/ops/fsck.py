"""Checks the store and everything derived from it, and repairs damage."""

import os
from collections.abc import Callable

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.fulltext import generations
from ccgrep.refresh.update import build, make_options
from ccgrep.steps import OnStep, ignore_steps
from ccgrep.store import fsck as store_fsck
from ccgrep.store import fsio, tally_files
from ccgrep.store.checksummed_file import is_damaged
from ccgrep.store.fsck import FsckReport
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.lock import lock_vectors
from ccgrep.store.store import Store


class FsckResult(Struct, frozen=True):
    """What a check found, and what it found after the repair if there was one."""

    report: FsckReport
    repaired: FsckReport | None = None


def fsck(
    config: Config,
    is_repair: bool = False,
    wait_s: float = 10.0,
    warn: Callable[[str], None] = lambda _: None,
    on_step: OnStep = ignore_steps,
) -> FsckResult:
    """Check the store; with `is_repair`, repair it and read transcripts again where needed."""
    if not is_repair:
        return FsckResult(_check(config, on_step))
    store = open_store(config.store_dir, is_repair=True)
    with store.lock(wait_s, warn), lock_vectors(config.store_dir, wait_s, warn):
        report = store_fsck.check(store, on_step)
        lost = [] if report.is_clean else store_fsck.repair(store)
        hints = [*_damaged_vectors(config), *_damaged_seen_file(store)]
        report.damaged += [*generations.damaged_files(config.store_dir), *_damaged_tallies(store)]
        is_rebuild_needed = not report.is_clean
        report.damaged += hints
        for path in hints:
            fsio.remove(path)
        if is_rebuild_needed:
            # The full-text index and the tallies may lack turns that could not be read.
            for path in generations.generation_paths(config.store_dir):
                fsio.remove_tree(path)
            tally_files.drop_all(store)
    if report.is_clean:
        return FsckResult(report, report)
    build(create_store(config.store_dir), make_options(config, wait_s))
    repaired = _check(config, on_step)
    found = {row.session.id for row in open_store(config.store_dir).rows()}
    repaired.lost += [name for name in lost if name.partition(" ")[2] not in found]
    return FsckResult(report, repaired)


def _check(config: Config, on_step: OnStep) -> FsckReport:
    """Check the store; if damage coincides with a write, check again."""
    while True:
        store = open_store(config.store_dir)
        before = _fingerprint(store)
        report = store_fsck.check(store, on_step)
        report.damaged += [
            *generations.damaged_files(config.store_dir),
            *_damaged_vectors(config),
            *_damaged_tallies(store),
            *_damaged_seen_file(store),
        ]
        if report.is_clean or before == _fingerprint(store):
            return report


def _fingerprint(store: Store) -> tuple[object, ...]:
    """Return a value that every write to the store changes."""
    try:
        head = store.head().hex()
    except StoreError as error:
        head = str(error)
    vectors = os.path.join(store.directory, "vectors")
    files = sorted(name for _, _, names in os.walk(vectors) for name in names)
    return store.pack_names(), head, generations.current(store.directory), files


def _damaged_seen_file(store: Store) -> list[str]:
    path = os.path.join(store.directory, "seen")
    return [path] if is_damaged(path) else []


def _damaged_tallies(store: Store) -> list[str]:
    """Return the damaged tallies of HEAD; `ccgrep stats` reads no others."""
    from ccgrep.stats.column_file import is_intact  # noqa: PLC0415 - imports numpy

    try:
        current = tally_files.current_files(store)
    except StoreError:
        return []
    paths = [path for path in tally_files.list_paths(store) if os.path.basename(path) in current]
    return [path for path in paths if not is_intact(path, tally_files.map_file(path))]


def _damaged_vectors(config: Config) -> list[str]:
    if not os.path.isdir(os.path.join(config.store_dir, "vectors")):
        return []
    from ccgrep.semantic.vector_files import damaged_files  # noqa: PLC0415 - imports numpy

    return damaged_files(config.store_dir)
