"""Push: write what the remote lacks, the head last.

Reads the store without a lock. If `gc` deletes an object meanwhile, the caller starts again.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from ccgrep.errors import ClonedMachineError, RemoteError
from ccgrep.model import ObjectId
from ccgrep.remote.export import SharedStore, list_needed, share
from ccgrep.remote.head import Head
from ccgrep.remote.local import LocalRemote, PackIds, Pushed, State
from ccgrep.remote.remote import Listing, Remote
from ccgrep.store import fsio
from ccgrep.store.machines import Machines
from ccgrep.store.manifest import Snapshot
from ccgrep.store.objects import Frame, unpack_frame
from ccgrep.store.pack import PackWriter, index_path, pack_path
from ccgrep.store.store import Store

_PACK_BYTES = 32 * 1024 * 1024
_MANY_PACKS = 8
_FOLD_FACTOR = 2
_SPARSE_SHARE = 0.5
_TRIES = 5
_PURGE_MARGIN_S = 3600.0
"""A pack that is younger than a tombstone by this much was written by a machine that had read it."""

Progress = Callable[[int, int], None]
"""Called with the number of objects done, and of all."""


class PushReport(Struct):
    """What a push wrote, or would write."""

    sessions: int = 0
    objects: int = 0
    packs: int = 0
    bytes: int = 0
    deleted_packs: int = 0
    is_changed: bool = False


class _Plan(NamedTuple):
    """The objects to write, and the packs of the head beside the new ones."""

    todo: list[ObjectId]
    packs: set[str]


class Push:
    """One push to one remote, by the holder of its lock."""

    def __init__(
        self,
        local: LocalRemote,
        remote: Remote,
        store: Store,
        machines: Machines,
        now_ms: int,
        on_progress: Progress = lambda _done, _all: None,
    ) -> None:
        self._local = local
        self._remote = remote
        self._store = store
        self._machines = machines
        self._now_ms = now_ms
        self._on_progress = on_progress
        self._own = remote.head_name(machines.own)
        self.report = PushReport()

    def run(self, is_full: bool = False, is_dry_run: bool = False) -> Listing:
        """Push until the remote has all that the new head lists, and return its last listing.

        With `is_full`, do not rely on the last push, and rewrite packs that are mostly garbage.
        """
        listing = self._remote.list()
        for _ in range(_TRIES):
            listing, is_done = self._push(listing, is_full, is_dry_run)
            if is_done:
                return listing
        raise RemoteError(
            "other machines keep changing the remote: run the command again when they are done"
        )

    def _push(self, listing: Listing, is_full: bool, is_dry_run: bool) -> tuple[Listing, bool]:
        state = self._local.read_state()
        self._check_clone(state, listing)
        head = self._store.head()
        snapshot = self._store.snapshot(head)
        tombstones = {self._remote.tombstone_name(key): key for key in snapshot.forgotten}
        purge = self._find_purge(state, listing, tombstones.keys())
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
        shared = share(self._store, rows, before, self._machines.own, self._now_ms)
        changed = [id for id, row in shared.rows.items() if row != before.get(id)]
        self.report.sessions = len(changed)
        known = self._local.read_pack_ids()
        known = {name: ids for name, ids in known.items() if name in listing.packs}
        plan = self._plan(state, listing, shared, changed, known, purge, is_full)
        self.report.objects = len(plan.todo)
        self.report.is_changed = True
        if is_dry_run:
            return listing, True
        packs = plan.packs | set(self._upload(plan.todo, shared, listing))
        applied = {self._remote.tombstone_name(key) for key in snapshot.forgotten}
        self._write_head(state, shared, packs, applied)
        listing = self._remote.list()
        if not packs <= listing.packs.keys() or self._own not in listing.heads:
            return listing, False
        for name in sorted((purge or set()) - packs):
            self._remote.delete_pack(name)
            self.report.deleted_packs += 1
        self._local.forget_packs(purge or ())
        if purge is not None:
            state.purged = sorted(applied)
        state.applied = sorted({*state.applied, *applied})
        state.writes = state.writes[-1:]
        state.pushed = Pushed(
            self._machines.name(""),
            listing.heads[self._own].tag,
            head_id,
            tuple(sorted(packs)),
            self._now_ms,
            tuple(sorted(applied)),
        )
        self._local.write_shared(shared.rows)
        self._local.write_state(state)
        self._local.forget_packs(known.keys() - listing.packs.keys())
        return listing, True

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
        pushed, file = state.pushed, listing.heads.get(self._own)
        return (
            pushed is None
            or file is None
            or (pushed.tag, pushed.snapshot) != (file.tag, head_id)
            or pushed.name != self._machines.name("")
            or set(pushed.packs) - listing.packs.keys() != set()
            or tombstones.keys() - {*pushed.applied} != set()
        )

    def _find_purge(
        self, state: State, listing: Listing, tombstones: Iterable[str]
    ) -> set[str] | None:
        """Return the packs with objects that this machine has deleted, or None if none is purged.

        Packs are purged after new tombstones, and only if every head is merged: what this store
        lacks is then garbage. A machine that reads no heads purges its own packs.
        """
        new = set(tombstones) - set(state.purged)
        others = listing.heads.keys() - {self._own}
        is_merged = all(
            (seen := state.heads.get(name)) and seen.is_merged and seen.tag == listing.heads[name].tag
            for name in others
        )
        if not new or self._store.snapshot().must_collect:
            return None
        known = self._local.read_pack_ids()
        if not self._remote.key.can_read:
            known = {name: known[name] for name in _own_packs(state) if name in known}
        elif not is_merged:
            return None
        times = [listing.tombstones[name].modified for name in new if name in listing.tombstones]
        until = max(times) + _PURGE_MARGIN_S if len(times) == len(new) else float("inf")
        old = [name for name in known if name in listing.packs]
        old = [name for name in old if listing.packs[name].modified < until]
        return {name for name in old if any(id not in self._store for id in known[name])}

    def _plan(
        self,
        state: State,
        listing: Listing,
        shared: SharedStore,
        changed: list[str],
        known: dict[str, PackIds],
        purge: set[str] | None,
        is_full: bool,
    ) -> _Plan:
        """Find the objects that no pack holds, and the packs that hold the others."""
        last = set(_own_packs(state))
        if is_full or purge is not None or not last or last - listing.packs.keys():
            usable = {name: ids for name, ids in known.items() if name not in (purge or ())}
            cover = self._cover(shared, shared.rows, usable)
            sparse = {name for name, n in cover.uses.items() if n < _SPARSE_SHARE * len(known[name])}
            if is_full and sparse:
                usable = {name: ids for name, ids in usable.items() if name not in sparse}
                cover = self._cover(shared, shared.rows, usable)
            return _Plan(cover.missing, set(cover.uses))
        folded = self._choose_folded(last, listing)
        usable = {name: ids for name, ids in known.items() if name not in folded}
        cover = self._cover(shared, changed, usable)
        todo = dict.fromkeys(cover.missing)
        for name in sorted(folded & known.keys()):
            todo.update(dict.fromkeys(id for id in known[name] if id in self._store))
        for id, frame in shared.manifests.items():
            if not any(id in ids for ids in usable.values()):
                todo[frame.id] = None
        return _Plan(list(todo), (last - folded) | cover.uses.keys())

    def _choose_folded(self, last: set[str], listing: Listing) -> set[str]:
        """Return the small packs to write again as one, as `Store.fold` does."""
        packs = sorted((listing.packs[name].size, name) for name in last)
        smaller = folded = 0
        for position, (size, _) in enumerate(packs):
            if position and size < _FOLD_FACTOR * smaller and smaller + size < _PACK_BYTES:
                folded = position + 1
            smaller += size
        return {name for _, name in packs[:folded]} if len(packs) > _MANY_PACKS else set()

    def _cover(
        self, shared: SharedStore, sessions: Iterable[str], packs: dict[str, PackIds]
    ) -> "_Cover":
        """Find the pack of each object that the sessions need."""
        cover = _Cover(packs)
        for id in sorted(sessions):
            for needed in list_needed(shared.rows[id].session.manifest, self._reader(shared)):
                cover.add(needed)
        return cover

    def _reader(self, shared: SharedStore) -> Callable[[ObjectId], bytes]:
        def read(id: ObjectId) -> bytes:
            frame = shared.manifests.get(id)
            return unpack_frame(frame) if frame is not None else self._store.read(id)

        return read

    def _upload(
        self, todo: list[ObjectId], shared: SharedStore, listing: Listing
    ) -> Iterator[str]:
        """Write objects to packs, and yield their names."""
        if os.path.isdir(self._local.outgoing):
            fsio.remove_tree(self._local.outgoing)
        fsio.make_dir(self._local.outgoing)
        done = 0
        while done < len(todo):
            writer = PackWriter(self._local.outgoing, self._local.tmp_dir)
            try:
                start = done
                while done < len(todo) and writer.size < _PACK_BYTES:
                    writer.add(self._frame(todo[done], shared))
                    done += 1
                hash = writer.finish()
            finally:
                writer.discard()
            yield self._upload_pack(hash, todo[start:done], listing)
            self._on_progress(done, len(todo))

    def _frame(self, id: ObjectId, shared: SharedStore) -> Frame:
        return shared.manifests.get(id) or self._store.read_frame(id)

    def _upload_pack(self, hash: str, ids: list[ObjectId], listing: Listing) -> str:
        path = pack_path(self._local.outgoing, hash)
        name = self._remote.pack_name(hash)
        if name not in listing.packs:
            with open(path, "rb") as file:
                content = file.read()
            self._remote.write_pack(hash, content)
            self.report.packs += 1
            self.report.bytes += len(content)
        self._local.write_pack_ids(name, ids)
        fsio.remove(path)
        fsio.remove(index_path(self._local.outgoing, hash))
        return name

    def _write_head(
        self, state: State, shared: SharedStore, packs: set[str], applied: set[str]
    ) -> None:
        """Record the intent to write a head, then write it."""
        sequence = max((number for number, _ in state.writes), default=0) + 1
        sessions = {row.session for row in shared.rows.values()}
        ids = {session.machine for session in sessions} | {self._machines.own}
        head = Head(
            self._machines.own,
            sequence,
            os.urandom(8).hex(),
            self._now_ms,
            tuple(sorted(packs)),
            tuple(sorted(sessions, key=lambda session: (session.machine, session.id))),
            tuple(sorted(applied)),
            {id: self._machines.name(id) for id in sorted(ids)},
        )
        state.writes = [*state.writes, (sequence, head.nonce)]
        self._local.write_state(state)
        self._remote.write_head(head)


class _Cover:
    """Which packs hold the needed objects, and which objects none of them holds."""

    def __init__(self, packs: dict[str, PackIds]) -> None:
        self._packs = packs
        self._last = ""
        self._seen: set[ObjectId] = set()
        self.uses: dict[str, int] = {}
        self.missing: list[ObjectId] = []

    def add(self, id: ObjectId) -> None:
        if id in self._seen:
            return
        self._seen.add(id)
        names = [self._last, *self._packs] if self._last else self._packs
        name = next((name for name in names if id in self._packs[name]), None)
        if name is None:
            self.missing.append(id)
            return
        self._last = name
        self.uses[name] = self.uses.get(name, 0) + 1


def _own_packs(state: State) -> tuple[str, ...]:
    return state.pushed.packs if state.pushed is not None else ()
