"""Push: write what the remote lacks, the head last.

Reads the store without a lock. If `gc` deletes an object meanwhile, the caller starts again.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import ClonedMachineError, RemoteError
from ccgrep.model import ObjectId
from ccgrep.remote.export import SharedStore, share
from ccgrep.remote.foreign_objects import ForeignObjects
from ccgrep.remote.head import Head
from ccgrep.remote.local import LastPush, LocalRemote, State
from ccgrep.remote.push_plan import PACK_BYTES, drop_clean, find_purge, plan_push
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.repository import read_repository
from ccgrep.remote.storage import ChangedFileError, ListedFile
from ccgrep.remote.vectors import SharedFiles, list_segments, push_vectors
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import fsio, refs
from ccgrep.store.machines import Machines, read_machines, write_machines
from ccgrep.store.manifest import Row, Snapshot
from ccgrep.store.objects import Frame
from ccgrep.store.pack import PackWriter, index_path, pack_path
from ccgrep.store.store import Store

_TRIES = 5
_UPLOADS = 2
_REPORT_S = 0.5


class PushReport(Struct):
    """What a push wrote, or would write. `sessions` counts those that the remote lacked."""

    sessions: int = 0
    objects: int = 0
    packs: int = 0
    bytes: int = 0
    deleted_packs: int = 0
    is_changed: bool = False


class _RemotePack(NamedTuple):
    """A pack of the remote; 0 bytes were written if it was there already."""

    name: str
    objects: int
    bytes: int


class _HeadContent(NamedTuple):
    """What the new head describes: a snapshot, packs, tombstones and local files of vectors."""

    snapshot: str
    packs: set[str]
    applied: set[str]
    segments: tuple[str, ...]


class Push:
    """One push to one remote, by the holder of its lock."""

    def __init__(
        self,
        local: LocalRemote,
        remote: Remote,
        store: Store,
        machines: Machines,
        now_ms: int,
        on_step: OnStep = ignore_steps,
    ) -> None:
        self._local = local
        self._remote = remote
        self._store = store
        self._machines = machines
        self._now_ms = now_ms
        self._on_step = on_step
        self._own = remote.head_name(machines.own)
        self._foreign: ForeignObjects | None = None
        self.report = PushReport()

    def run(self, listing: Listing, is_full: bool = False, is_dry_run: bool = False) -> None:
        """Push until the remote has all that the new head lists.

        With `is_full`, do not rely on the last push, and rewrite packs that are mostly garbage.
        """
        for _ in range(_TRIES):
            listing, is_done = self._push(listing, is_full, is_dry_run)
            if self._foreign is not None:
                self._foreign.discard()
                self._foreign = None
            if is_done:
                return
        raise RemoteError(
            "other machines keep changing the remote: run the command again when they are done"
        )

    def _push(self, listing: Listing, is_full: bool, is_dry_run: bool) -> tuple[Listing, bool]:
        state = self._local.read_state()
        self._check_clone(state, listing)
        head = self._store.head()
        snapshot = self._store.snapshot(head)
        tombstones = {self._remote.tombstone_name(key): key for key in snapshot.forgotten}
        purge = find_purge(self._local, self._remote, self._store, state, listing, self._own)
        is_stale = purge is not None or self._is_stale(state, listing, head.hex(), tombstones)
        if not is_stale and not is_full:
            return listing, True
        if not is_dry_run:
            for name in sorted(tombstones.keys() - listing.tombstones.keys()):
                self._remote.write_tombstone(tombstones[name])
        return self._write(state, listing, snapshot, head.hex(), purge, is_full, is_dry_run)

    def _write(
        self,
        state: State,
        listing: Listing,
        snapshot: Snapshot,
        head_id: str,
        purge: set[str] | None,
        is_full: bool,
        is_dry_run: bool,
    ) -> tuple[Listing, bool]:
        before = self._local.read_shared()
        rows = list(self._store.rows(snapshot))
        counted = count_steps(rows, "sessions compared", len(rows), self._on_step)
        shared = share(self._store, counted, before, self._machines.own, self._now_ms)
        changed = [id for id, row in shared.rows.items() if row != before.get(id)]
        known = self._local.read_pack_ids()
        known = {name: ids for name, ids in known.items() if name in listing.packs}
        last = set(state.pushed.packs) if state.pushed is not None else set()
        if self._remote.key.can_read and (is_full or purge is not None):
            self._foreign = ForeignObjects(self._local, self._remote, self._store, listing)
            self._foreign.find(self._own, purge or set(), known)
        extra = self._foreign.ids if self._foreign is not None else set()
        if purge is not None:
            purge = drop_clean(purge, known, self._store, extra)
        plan = plan_push(
            self._store, shared, changed, known, last, listing, purge, extra, is_full, self._on_step
        )
        todo = set(plan.todo)
        self.report.sessions = sum(shared.rows[id].session.manifest in todo for id in changed)
        self.report.objects = len(todo)
        self.report.is_changed = True
        if is_dry_run:
            return listing, True
        packs = plan.packs | self._upload(plan.todo, shared, listing)
        self._remember_repositories(rows)
        segments = list_segments(self._store.directory)
        vectors = push_vectors(
            self._local,
            self._remote,
            self._store,
            listing,
            state,
            purge is not None,
            self._on_step,
        )
        self.report.bytes += vectors.bytes
        content = _HeadContent(
            head_id, packs, self._find_applied(state, snapshot, listing), segments
        )
        try:
            self._write_head(state, shared, content, vectors, listing.heads.get(self._own))
        except ChangedFileError:
            return self._remote.list(), False
        listing = self._remote.list()
        if not packs <= listing.packs.keys() or self._own not in listing.heads:
            return listing, False
        self._delete_purged((purge or set()) - packs, vectors.dead)
        if purge is not None:
            self._local.forget_packs(purge)
            state.purged = sorted(content.applied)
        self._finish(state, shared, content, vectors, listing)
        return listing, True

    def _find_applied(self, state: State, snapshot: Snapshot, listing: Listing) -> set[str]:
        """Return the tombstones whose sessions this machine does not have any more."""
        own = {self._remote.tombstone_name(key) for key in snapshot.forgotten}
        return own | (set(state.applied) & listing.tombstones.keys())

    def _delete_purged(self, packs: set[str], vectors: set[str]) -> None:
        for name in sorted(packs):
            self._remote.delete_pack(name)
            self.report.deleted_packs += 1
        for name in sorted(vectors):
            self._remote.delete_vectors(name)

    def _finish(
        self,
        state: State,
        shared: SharedStore,
        content: _HeadContent,
        vectors: SharedFiles,
        listing: Listing,
    ) -> None:
        """Remember what was pushed, and forget what the remote does not have any more."""
        state.applied = sorted({*state.applied, *content.applied})
        state.writes = state.writes[-1:]
        state.pushed = LastPush(
            self._machines.name(""),
            listing.heads[self._own].tag,
            content.snapshot,
            tuple(sorted(content.packs)),
            self._now_ms,
            tuple(sorted(content.applied)),
            vectors.listed,
            content.segments,
        )
        self._local.write_state(state)
        # After the state: sessions in it count as covered by the packs of the state.
        self._local.write_shared(shared.rows)
        self._local.forget_packs(self._local.read_pack_ids().keys() - listing.packs.keys())
        gone = self._local.read_vector_keys().keys() - (listing.vectors.keys() - vectors.dead)
        self._local.forget_vectors(gone)

    def _check_clone(self, state: State, listing: Listing) -> None:
        """Raise ClonedMachineError if another machine wrote the head of this one."""
        file = listing.heads.get(self._own)
        if file is None or (state.pushed is not None and state.pushed.tag == file.tag):
            return
        if not self._remote.key.can_read:
            is_ours = bool(state.writes)
        else:
            head = self._remote.read_head(self._own)
            is_ours = (head.sequence, head.nonce) in state.writes
            # If the storage was rolled back, it has an older head of ours. A clone that wrote it
            # will find ours instead, and be refused.
            is_ours = is_ours or bool(state.writes and head.sequence < state.writes[0][0])
        if not is_ours:
            raise ClonedMachineError(
                f"another machine pushes as '{self._machines.name('')}' (id {self._machines.own}), "
                "or this store was restored from a backup: run `ccgrep remote rename-machine NAME "
                "--new-id` on one of them"
            )

    def _is_stale(
        self, state: State, listing: Listing, head_id: str, tombstones: dict[str, bytes]
    ) -> bool:
        """Return whether the head of this machine does not describe its store."""
        last, file = state.pushed, listing.heads.get(self._own)
        return (
            last is None
            or file is None
            or (last.tag, last.snapshot) != (file.tag, head_id)
            or last.name != self._machines.name("")
            or set(last.packs) - listing.packs.keys() != set()
            or last.segments != list_segments(self._store.directory)
            or {*chain(*last.vectors.values())} - listing.vectors.keys() != set()
            or tombstones.keys() - {*last.applied} != set()
            or tombstones.keys() - listing.tombstones.keys() != set()
        )

    def _upload(self, todo: list[ObjectId], shared: SharedStore, listing: Listing) -> set[str]:
        """Write objects to packs, and return their names.

        Packs are uploaded while the next ones are built. Their number is limited by memory.
        """
        written: list[_RemotePack] = []

        def take(upload: Future[_RemotePack]) -> None:
            done = sum(one.objects for one in written)
            self._on_step("objects", done, len(todo))
            while not wait([upload], _REPORT_S).done:
                self._on_step("objects", done, len(todo))
            written.append(upload.result())

        with _make_pool() as pool:
            running: deque[Future[_RemotePack]] = deque()
            for hash, ids in self._build_packs(todo, shared):
                running.append(pool.submit(self._upload_pack, hash, ids, listing))
                if len(running) > _UPLOADS:
                    take(running.popleft())
            for upload in running:
                take(upload)
        self.report.packs += sum(one.bytes > 0 for one in written)
        self.report.bytes += sum(one.bytes for one in written)
        return {one.name for one in written}

    def _build_packs(
        self, todo: list[ObjectId], shared: SharedStore
    ) -> Iterator[tuple[str, list[ObjectId]]]:
        """Write objects to packs in `outgoing`, and yield the hash of each pack, and its ids."""
        if os.path.isdir(self._local.outgoing):
            fsio.remove_tree(self._local.outgoing)
        fsio.make_dir(self._local.outgoing)
        done = 0
        while done < len(todo):
            writer = PackWriter(self._local.outgoing, self._local.tmp_dir)
            try:
                start = done
                while done < len(todo) and writer.size < PACK_BYTES:
                    writer.add(self._frame(todo[done], shared))
                    done += 1
                hash = writer.finish()
            finally:
                writer.discard()
            yield hash, todo[start:done]

    def _frame(self, id: ObjectId, shared: SharedStore) -> Frame:
        if self._foreign is not None and id in self._foreign.ids:
            return self._foreign.read_frame(id)
        return shared.manifests.get(id) or self._store.read_frame(id)

    def _upload_pack(self, hash: str, ids: list[ObjectId], listing: Listing) -> _RemotePack:
        path = pack_path(self._local.outgoing, hash)
        name = self._remote.pack_name(hash)
        size = 0
        if name not in listing.packs:
            with open(path, "rb") as file:
                content = file.read()
            self._remote.write_pack(hash, content)
            size = len(content)
        self._local.write_pack_ids(name, ids)
        fsio.remove(path)
        fsio.remove(index_path(self._local.outgoing, hash))
        return _RemotePack(name, len(ids), size)

    def _remember_repositories(self, rows: list[Row]) -> None:
        """Find the git repositories of this machine's projects. Those that are gone stay known."""
        projects = {row.session.project for row in rows if row.provenance is None}
        found = {path: url for path in sorted(projects) if (url := read_repository(path))}
        machines = read_machines(self._local.store_dir)  # The user may have renamed it meanwhile.
        if machines.own != self._machines.own:
            raise RemoteError("this machine got a new id meanwhile: run the command again")
        own = {**machines.repositories.get(machines.own, {}), **found}
        repositories = {**machines.repositories, machines.own: own}
        self._machines = replace(machines, repositories=repositories).keep_projects(rows)
        if self._machines != machines:
            write_machines(self._local.store_dir, self._machines)

    def _write_head(
        self,
        state: State,
        shared: SharedStore,
        content: _HeadContent,
        vectors: SharedFiles,
        seen: ListedFile | None,
    ) -> None:
        """Record the intent to write a head, then write it.

        If the storage refuses it because of another head, but has none, write it anyway: not all
        servers understand preconditions.
        """
        sequence = max((number for number, _ in state.writes), default=0) + 1
        sessions = {row.session for row in shared.rows.values()}
        ids = {session.machine for session in sessions} | {self._machines.own}
        head = Head(
            self._machines.own,
            sequence,
            os.urandom(8).hex(),
            self._now_ms,
            tuple(sorted(content.packs)),
            tuple(sorted(sessions, key=lambda session: (session.machine, session.id))),
            tuple(sorted(content.applied)),
            {id: self._machines.name(id) for id in sorted(ids)},
            self._machines.repositories,
            vectors.listed,
            tuple(sorted(refs.read_features(self._store.directory))),
        )
        state.writes = [*state.writes, (sequence, head.nonce)]
        self._local.write_state(state)
        try:
            self._remote.write_head(head, seen)
        except ChangedFileError:
            if self._remote.list().heads.get(self._own) != seen:
                raise
            self._remote.write_head(head, None, is_forced=True)


@contextmanager
def _make_pool() -> Iterator[ThreadPoolExecutor]:
    """Wait for running uploads at the end, but not after Ctrl-C: they may take minutes."""
    pool = ThreadPoolExecutor(_UPLOADS)
    is_patient = True
    try:
        yield pool
    except KeyboardInterrupt:
        is_patient = False
        raise
    finally:
        pool.shutdown(wait=is_patient, cancel_futures=True)
