"""Brings the tallies to a snapshot: only shards whose object is new are tallied.

What was made is published under the writer's lock, every second, so that a kill loses little.
Where that cannot be, because another process is writing or nobody may, it serves this one report.
"""

import os
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from ccgrep.errors import LockedError, TallyError, WriteError
from ccgrep.stats.columns import Columns
from ccgrep.stats.safety import TABLES as SAFETY_TABLES
from ccgrep.stats.shared import find_shared
from ccgrep.stats.tables import Tables
from ccgrep.stats.tally import tally_shard
from ccgrep.store import tallies
from ccgrep.store.store import Store

_WAIT_S = 0.2
_PUBLISH_EVERY_S = 1.0


class Progress(NamedTuple):
    """How many of the shards that have to be tallied are."""

    done: int
    shards: int


class Opened(NamedTuple):
    tables: Tables
    shared: Columns


def open_tallies(
    store: Store,
    on_progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
    damaged: Collection[str] = (),
) -> Opened:
    """The tallies of HEAD, made where they are missing; files in `damaged` count as such."""
    return _Update(store, on_progress, warn, damaged).run()


class _Update:
    def __init__(
        self,
        store: Store,
        on_progress: Callable[[Progress], None],
        warn: Callable[[str], None],
        damaged: Collection[str],
    ) -> None:
        self._store = store
        self._snapshot = store.snapshot()
        self._version = tallies.version_name(SAFETY_TABLES)
        self._directory = os.path.join(tallies.tallies_dir(store), self._version)
        self._on_progress = on_progress
        self._on_note = warn
        self._damaged = damaged
        self._made: list[tuple[str, bytes]] = []  # but not published yet
        self._published = time.monotonic()
        self._is_kept = True
        self._is_changed = False

    def run(self) -> Opened:
        names = tallies.shard_files(self._snapshot)
        found = {shard: self._open(name) for shard, name in names.items()}
        missing = [shard for shard, columns in found.items() if columns is None]
        for done, shard in enumerate(missing):
            self._on_progress(Progress(done, len(missing)))
            found[shard] = self._tally(shard, names[shard])
        tables = Tables([columns for columns in found.values() if columns is not None])
        name = tallies.shared_file(names.values())
        shared = self._open(name)
        if shared is None:
            shared = self._keep(name, find_shared(tables))
        self._publish(is_last=True)
        return Opened(tables, shared)

    def _open(self, name: str) -> Columns | None:
        """A tally that is there and begins well."""
        if name in self._damaged:
            return None
        data = tallies.map_file(os.path.join(self._directory, name))
        try:
            return Columns(name, data) if data else None
        except TallyError:
            return None

    def _tally(self, shard: str, name: str) -> Columns:
        data = None
        for old in tallies.list_names(self._directory):
            if old.startswith(f"{shard}-") and old != name:
                before = self._open(old)
                try:
                    data = tally_shard(self._store, self._snapshot.shards[shard], before)
                except TallyError:
                    continue
                break
        if data is None:
            data = tally_shard(self._store, self._snapshot.shards[shard])
        return self._keep(name, data)

    def _keep(self, name: str, data: bytes) -> Columns:
        """Publishes a tally, if that can be done, with others that are made meanwhile."""
        self._made.append((name, data))
        self._is_changed = True
        if time.monotonic() - self._published > _PUBLISH_EVERY_S:
            self._publish()
        return Columns(name, data)

    def _publish(self, is_last: bool = False) -> None:
        """At the end what belongs to earlier snapshots is removed too."""
        try:
            if self._is_kept and self._is_changed:
                with self._store.lock(_WAIT_S):
                    # HEAD may have moved on: what was forgotten meanwhile must not come back.
                    wanted = tallies.current_files(self._store)
                    for name, data in self._made:
                        if name in wanted:
                            tallies.publish(self._store, self._directory, name, data)
                    if is_last:
                        tallies.drop_other_versions(self._store, self._version)
                        tallies.drop_stale(self._store)
        except (LockedError, WriteError) as error:
            self._on_note(f"what is tallied now is not kept: {error}")
            self._is_kept = False
        self._made.clear()
        self._published = time.monotonic()
