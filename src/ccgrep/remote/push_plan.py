"""Plans a push: which objects to write, and which packs of the remote to list or to replace."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ccgrep.model import ObjectId
from ccgrep.remote.export import SharedStore, list_needed
from ccgrep.remote.local import LocalRemote, PackIds, State
from ccgrep.remote.remote import Listing, Remote
from ccgrep.remote.storage import ListedFile
from ccgrep.steps import OnStep, count_steps
from ccgrep.store.objects import unpack_frame
from ccgrep.store.store import Store

PACK_BYTES = 32 * 1024 * 1024
_MANY_PACKS = 8
_FOLD_FACTOR = 2
_SPARSE_SHARE = 0.5
_PURGE_MARGIN_S = 3600.0
"""A pack that is so much younger than a tombstone was written by a machine that had read it."""


class PushPlan(NamedTuple):
    """The objects to write, and the packs that the head lists beside the new ones."""

    todo: list[ObjectId]
    packs: set[str]


def find_purge(
    local: LocalRemote, remote: Remote, store: Store, state: State, listing: Listing, own: str
) -> set[str] | None:
    """Return the packs with objects that this store lacks, or None if nothing is to purge.

    Packs are purged after new tombstones, and only if every head is merged. A machine that cannot
    read heads purges its own packs.
    """
    snapshot = store.snapshot()
    new = {remote.tombstone_name(key) for key in snapshot.forgotten} - set(state.purged)
    if not new or snapshot.must_collect:
        return None
    known = local.read_pack_ids()
    last = set(state.pushed.packs) if state.pushed is not None else set()
    if not remote.key.can_read:
        known = {name: ids for name, ids in known.items() if name in last}
    elif not _is_all_merged(state, listing, own):
        return None
    times = [listing.tombstones[name].modified for name in new if name in listing.tombstones]
    until = max(times) + _PURGE_MARGIN_S if len(times) == len(new) else float("inf")
    old = {name for name, file in listing.packs.items() if name in last or file.modified < until}
    return drop_clean(old & known.keys(), known, store, set())


def drop_clean(
    packs: set[str], known: dict[str, PackIds], store: Store, extra: set[ObjectId]
) -> set[str]:
    """Return the packs with an object that neither this store nor another machine needs."""
    return {
        name for name in packs if any(id not in store and id not in extra for id in known[name])
    }


def _is_all_merged(state: State, listing: Listing, own: str) -> bool:
    merged = {(name, seen.tag) for name, seen in state.heads.items() if seen.is_merged}
    others = listing.heads.keys() - {own}
    return all((name, listing.heads[name].tag) in merged for name in others)


def plan_push(
    store: Store,
    shared: SharedStore,
    changed: Iterable[str],
    known: dict[str, PackIds],
    last: set[str],
    listing: Listing,
    purge: set[str] | None,
    extra: set[ObjectId],
    is_full: bool,
    on_step: OnStep,
) -> PushPlan:
    """Find the objects that no pack holds, and the packs that hold the others.

    `known` are the packs whose objects this machine knows, and `last` those that its head lists.
    As long as all of these exist, only sessions that have changed are looked at. `extra` are
    objects that other machines need.
    """
    if is_full or purge is not None or not last or last - listing.packs.keys():
        return _plan_all(store, shared, known, purge or set(), extra, is_full, on_step)
    folded = choose_folded(listing.packs, last)
    usable = {name: ids for name, ids in known.items() if name not in folded}
    cover = _cover(store, shared, changed, usable, (), on_step)
    todo = dict.fromkeys(cover.missing)
    for name in sorted(folded & known.keys()):
        todo.update(dict.fromkeys(id for id in known[name] if id in store))
    # The head still lists unchanged sessions, whose manifests may be in a folded pack only.
    for id in shared.manifests:
        if not any(id in ids for ids in usable.values()):
            todo[id] = None
    return PushPlan(list(todo), (last - folded) | cover.uses.keys())


def _plan_all(
    store: Store,
    shared: SharedStore,
    known: dict[str, PackIds],
    purge: set[str],
    extra: set[ObjectId],
    is_full: bool,
    on_step: OnStep,
) -> PushPlan:
    """Plan without relying on the last push, and if `is_full` without packs of mostly garbage."""
    usable = {name: ids for name, ids in known.items() if name not in purge}
    cover = _cover(store, shared, shared.rows, usable, extra, on_step)
    sparse = {name for name, uses in cover.uses.items() if uses < _SPARSE_SHARE * len(known[name])}
    if is_full and sparse:
        usable = {name: ids for name, ids in usable.items() if name not in sparse}
        cover = _cover(store, shared, shared.rows, usable, extra, on_step)
    return PushPlan(cover.missing, set(cover.uses))


def choose_folded(files: dict[str, ListedFile], last: set[str]) -> set[str]:
    """Return the small files of `last` to write again as one, as `Store.fold` does."""
    packs = sorted((files[name].size, name) for name in last)
    if len(packs) <= _MANY_PACKS:
        return set()
    smaller = folded = 0
    for position, (size, _) in enumerate(packs):
        if position and size < _FOLD_FACTOR * smaller and smaller + size < PACK_BYTES:
            folded = position + 1
        smaller += size
    return {name for _, name in packs[:folded]}


class _Cover:
    """Which packs hold the needed objects, and which objects none of them holds.

    Of several packs with an object, the largest is used: it may be the others, folded.
    """

    def __init__(self, packs: dict[str, PackIds]) -> None:
        by_size = sorted(packs.items(), key=lambda pack: (-len(pack[1]), pack[0]))
        self._packs = dict(by_size)
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
        self._last = name  # The next object is probably in it too.
        self.uses[name] = self.uses.get(name, 0) + 1


def _cover(
    store: Store,
    shared: SharedStore,
    sessions: Iterable[str],
    packs: dict[str, PackIds],
    extra: Iterable[ObjectId],
    on_step: OnStep,
) -> _Cover:
    """Find the pack of each object that the sessions need, and of each in `extra`."""
    cover = _Cover(packs)
    read = _make_reader(store, shared)
    ordered = sorted(sessions)
    for session in count_steps(ordered, "sessions planned", len(ordered), on_step):
        for id in list_needed(shared.rows[session].session.manifest, read):
            cover.add(id)
    for id in sorted(extra):
        cover.add(id)
    return cover


def _make_reader(store: Store, shared: SharedStore) -> Callable[[ObjectId], bytes]:
    """Return a function that reads objects of the store, and manifests that it lacks."""

    def read(id: ObjectId) -> bytes:
        frame = shared.manifests.get(id)
        return unpack_frame(frame) if frame is not None else store.read(id)

    return read
