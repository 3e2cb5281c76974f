"""Delete objects that nothing refers to, and forget sessions on request.

Both run under the writer lock. Objects are copied to a new pack before the old one is deleted, so
a killed process leaves them twice rather than not at all. The snapshot marks a forgotten session
until its bytes are gone, so that the next writer finishes the job.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import CorruptError, LostRaceError
from ccgrep.model import ObjectId, Session
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import tally_files
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import (
    NO_SNAPSHOT,
    Manifest,
    Row,
    Shard,
    Snapshot,
    SourceFile,
    conversation_keys,
    forgotten_key,
)
from ccgrep.store.marks import drop_forgotten
from ccgrep.store.originals import list_objects, list_stored_files
from ccgrep.store.store import Store


class GcReport(Struct, frozen=True):
    packs_before: int
    packs_after: int
    objects_dropped: int
    bytes_before: int
    bytes_after: int


def find_reachable(store: Store, head: ObjectId, on_step: OnStep = ignore_steps) -> set[ObjectId]:
    """Return every object that a snapshot leads to."""
    if head == NO_SNAPSHOT:
        return set()
    ids = {head}
    snapshot = store.load(head, Snapshot)
    for file in snapshot.hints:
        ids.update(list_objects(file, store.read))
    ids.update(snapshot.shards.values())
    rows = [row for id in snapshot.shards.values() for row in store.load(id, Shard).rows]
    for row in count_steps(rows, "sessions read", len(rows), on_step):
        ids.add(row.manifest)
        ids.update(entry.turn for entry in store.manifest(row).entries)
        ids.update(_find_originals(store, row))
    return ids


def _find_originals(store: Store, row: Row) -> Iterator[ObjectId]:
    """Yield the objects with the bytes of a session's files."""
    if row.side_files is not None:
        yield row.side_files
    for file in list_stored_files(row, store.read):
        yield from list_objects(file, store.read)


def collect_garbage(store: Store, on_step: OnStep = ignore_steps) -> GcReport:
    """Delete unreachable objects and their tallies, and fold the remaining packs."""
    store.clean_tmp()
    packs = store.packs(refresh=True)
    before, bytes_before = len(packs), sum(pack.size for pack in packs)
    head = store.head()
    keep = find_reachable(store, head, on_step)
    dropped = len({id for pack in packs for id in pack.ids() if id not in keep})
    dirty = [pack for pack in packs if any(id not in keep for id in pack.ids())]
    for pack in dirty:
        if not pack.is_intact():
            raise CorruptError(f"{pack.path} is damaged: run `ccgrep fsck --repair` first")
    if dirty:
        store.hold(*dirty)
        store.rewrite(dirty, keep, on_step)
        if store.head() != head:
            store.restore_packs()
            raise LostRaceError
        store.release()
    tally_files.drop_stale(store)
    with Commit(store) as commit:
        commit.commit(commit.snapshot.created, garbage_bytes=0, must_collect=False)
    store.fold()
    packs = store.packs(refresh=True)
    return GcReport(before, len(packs), dropped, bytes_before, sum(pack.size for pack in packs))


def drop_originals(store: Store) -> None:
    """Remove the stored bytes of all files from the snapshot. The turns stay."""
    with Commit(store) as commit:
        for row in list(commit.rows()):
            files = tuple(map(_without_bytes, row.files))
            commit.set_row(replace(row, files=files, versions=(), side_files=None))
        hints = tuple(map(_without_bytes, commit.snapshot.hints))
        commit.commit(commit.snapshot.created, hints=hints, is_archived=False)


def _without_bytes(file: SourceFile) -> SourceFile:
    return replace(file, parts=(), parts_crc=0)


def find_forgotten(store: Store, keys: Collection[bytes]) -> list[Row]:
    """Return the sessions that one of the keys describes."""
    return [row for row in store.rows() if is_forgotten(row.session, store.manifest(row), keys)]


def is_forgotten(session: Session, manifest: Manifest, keys: Collection[bytes]) -> bool:
    if not keys:
        return False
    base_id = session.id.partition("~")[0]
    names = filter(None, (base_id, session.parent))
    own_keys = chain(map(forgotten_key, names), conversation_keys(base_id, manifest.entries))
    return any(key in keys for key in own_keys)


def forget(
    store: Store,
    rows: Collection[Row],
    now_ms: int,
    forget_lines: Callable[[Commit, Collection[bytes]], tuple[SourceFile, ...]],
    keys: Collection[bytes] = (),
) -> None:
    """Remove sessions from the snapshot, and record keys that prevent ingesting them again.

    If `keys` are given, they come from another machine, and are recorded instead: this machine may
    not have the forks from which a key of its own had to tell the sessions.
    `forget_lines` returns the hints without the lines of forgotten sessions. The next
    `collect_garbage` deletes their bytes. Until then the snapshot says that it must run.
    """
    ids = {row.session.id for row in rows}
    with Commit(store) as commit:
        forgotten = {*commit.snapshot.forgotten, *keys}
        others = [row for row in store.rows(commit.snapshot) if row.session.id not in ids]
        kept_paths = {file.path for row in others for file in row.files}
        for row in rows:
            paths = {file.path for file in row.files} - kept_paths
            if keys:
                paths = {path for path in paths if not _is_known_by_id(row, path, forgotten)}
            forgotten.update(map(forgotten_key, paths))
            if not keys:
                forgotten |= _make_keys(store, row, others)
            commit.drop_row(row.session.id)
        hints = forget_lines(commit, forgotten)
        changes = {"hints": hints, "forgotten": tuple(sorted(forgotten))}
        if commit.snapshot.marks:
            turns = {entry.turn for row in others for entry in store.manifest(row).entries}
            changes["marks"] = drop_forgotten(commit.snapshot.marks, ids, turns.__contains__)
        commit.commit(now_ms, must_collect=True, **changes)


def _is_known_by_id(row: Row, path: str, forgotten: Collection[bytes]) -> bool:
    """Return whether the path names a forgotten session, so that it needs no key of its own.

    Any other key is a tombstone, which all other machines have to confirm.
    """
    folder, name = os.path.split(path)
    is_own = row.base_id in name and forgotten_key(row.base_id) in forgotten
    parent = row.session.parent
    return is_own or (parent in folder.split(os.sep) and forgotten_key(parent) in forgotten)


def _make_keys(store: Store, row: Row, others: Iterable[Row]) -> set[bytes]:
    """Return the keys of a forgotten session that none of the other sessions has.

    There are none if another session begins with all of its turns.
    """
    forks = [other for other in others if other.base_id == row.base_id]
    kept = {key for fork in forks for key in _conversation_keys(store, fork)}
    own = next((key for key in _conversation_keys(store, row) if key not in kept), None)
    keys = {own} if own is not None else set()
    return keys if forks else keys | {forgotten_key(row.base_id)}


def _conversation_keys(store: Store, row: Row) -> Iterator[bytes]:
    return conversation_keys(row.base_id, store.manifest(row).entries)
