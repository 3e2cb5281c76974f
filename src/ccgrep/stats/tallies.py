"""Opens the tallies of HEAD and builds those that are missing.

New tallies are published under the writer lock, every second, so a kill loses little work. If
another process writes, or the store is read-only, they serve this report only.
"""

import os
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from ccgrep.errors import LockedError, TallyError, WriteError
from ccgrep.stats.column_file import ColumnFile
from ccgrep.stats.duplicates import find_duplicates
from ccgrep.stats.merged_tally import MergedTally
from ccgrep.stats.safety import RULES_VERSION
from ccgrep.stats.shard_tally import tally_shard
from ccgrep.store import tally_files
from ccgrep.store.store import Store

_LOCK_WAIT_S = 0.2
_PUBLISH_EVERY_S = 1.0


class Progress(NamedTuple):
    """How many of the missing shards were tallied."""

    done: int
    shards: int


class Tallies(NamedTuple):
    merged: MergedTally
    duplicates: ColumnFile


def open_tallies(
    store: Store,
    on_progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
    damaged: Collection[str] = (),
) -> Tallies:
    """Return the tallies of HEAD. Rebuild those that are missing or whose name is in `damaged`."""
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
        self._version = tally_files.version_name(RULES_VERSION)
        self._directory = os.path.join(tally_files.tallies_dir(store), self._version)
        self._on_progress = on_progress
        self._warn = warn
        self._damaged = damaged
        self._unpublished: list[tuple[str, bytes]] = []
        self._published_at = time.monotonic()
        self._can_publish = True
        self._is_changed = False

    def run(self) -> Tallies:
        names = tally_files.shard_files(self._snapshot)
        opened = {shard: self._open(name) for shard, name in names.items()}
        missing = [shard for shard, tally in opened.items() if tally is None]
        for done, shard in enumerate(missing):
            self._on_progress(Progress(done, len(missing)))
            opened[shard] = self._add(names[shard], self._tally(shard, names[shard]))
        merged = MergedTally([tally for tally in opened.values() if tally is not None])
        name = tally_files.shared_file(names.values())
        duplicates = self._open(name)
        if duplicates is None:
            duplicates = self._add(name, find_duplicates(merged))
        self._publish(is_last=True)
        return Tallies(merged, duplicates)

    def _open(self, name: str) -> ColumnFile | None:
        """Return a tally, or None if it is missing or known to be damaged."""
        if name in self._damaged:
            return None
        data = tally_files.map_file(os.path.join(self._directory, name))
        try:
            return ColumnFile(name, data) if data else None
        except TallyError:
            return None

    def _tally(self, shard: str, name: str) -> bytes:
        """Tally a shard, with what an intact older tally of it already has."""
        id = self._snapshot.shards[shard]
        for old in tally_files.list_names(self._directory):
            if old.startswith(f"{shard}-") and old != name:
                try:
                    return tally_shard(self._store, id, self._open(old))
                except TallyError:
                    continue
        return tally_shard(self._store, id)

    def _add(self, name: str, data: bytes) -> ColumnFile:
        self._unpublished.append((name, data))
        self._is_changed = True
        if time.monotonic() - self._published_at > _PUBLISH_EVERY_S:
            self._publish()
        return ColumnFile(name, data)

    def _publish(self, is_last: bool = False) -> None:
        """Write the new tallies. The last call also deletes those of earlier snapshots."""
        try:
            if self._can_publish and self._is_changed:
                with self._store.lock(_LOCK_WAIT_S):
                    # HEAD may have moved: a session forgotten meanwhile must not come back.
                    current = tally_files.current_files(self._store)
                    for name, data in self._unpublished:
                        if name in current:
                            tally_files.publish(self._store, self._directory, name, data)
                    if is_last:
                        tally_files.drop_other_versions(self._store, self._version)
                        tally_files.drop_stale(self._store)
        except (LockedError, WriteError) as error:
            self._warn(f"the new tallies are not saved: {error}")
            self._can_publish = False
        self._unpublished.clear()
        self._published_at = time.monotonic()
