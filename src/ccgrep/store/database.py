"""The store as its users see it: read objects and the snapshot, commit a new one.

Readers take no lock. They read HEAD, then what it refers to; when a pack has gone in
between, because a writer folded it, they look at the directory once more. `Commit` is
the writer's side: objects go to one pack, and HEAD is replaced last.

Where no lock keeps writers apart, `gc` may drop what another is about to refer to. So both keep
open what they go by, and look again when they are done: `gc` at HEAD, `Commit` at its packs. One
of the two sees the other, and puts back what is gone.
"""

import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ccgrep.errors import CorruptError, LostRaceError, MissingObjectError, StoreError
from ccgrep.model import ObjectId, Turn
from ccgrep.store import access, fsio, refs
from ccgrep.store.lock import WriterLock
from ccgrep.store.manifest import Manifest, Row, Shard, Snapshot, shard_of
from ccgrep.store.objects import Frame, ObjectKind, decode, freeze, thaw
from ccgrep.store.pack import Pack, PackWriter, index_path, pack_path, write_index

T = TypeVar("T")

_CREATE_WAIT_S = 10.0
_FOLD_FACTOR = 2
"""Each pack is at least this many times as large as all smaller ones together."""


class Store:
    """An opened store. Make one with `open_store` or `create_store`."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.pack_dir = os.path.join(directory, "objects", "pack")
        self.tmp_dir = os.path.join(directory, "tmp")
        self.was_open = False  # to other users, when it was opened for writing
        self._packs: dict[str, Pack] = {}
        self._held: dict[str, Pack] = {}
        self._listed = False

    # Reading.

    def head(self) -> ObjectId:
        head = refs.read_head(self.directory)
        if head is None:
            # FORMAT is written last, so a store that has one had a HEAD.
            if self.pack_names() or os.path.exists(os.path.join(self.directory, "FORMAT")):
                raise CorruptError(f"{self.directory} has no HEAD: run `ccgrep fsck --repair`")
            return refs.NO_SNAPSHOT
        return head

    def snapshot(self, head: ObjectId | None = None) -> Snapshot:
        """The current snapshot, or the one that `head` names."""
        head = self.head() if head is None else head
        return Snapshot() if head == refs.NO_SNAPSHOT else self.load(head, Snapshot)

    def rows(self, snapshot: Snapshot | None = None) -> Iterator[Row]:
        """Every session of the snapshot, in no particular order."""
        for shard in (snapshot or self.snapshot()).shards.values():
            yield from self.load(shard, Shard).rows

    def row(self, session_id: str, snapshot: Snapshot | None = None) -> Row | None:
        """A session of the snapshot."""
        shard = (snapshot or self.snapshot()).shards.get(shard_of(session_id))
        rows = self.load(shard, Shard).rows if shard else ()
        return next((row for row in rows if row.session.id == session_id), None)

    def manifest(self, row: Row) -> Manifest:
        return self.load(row.manifest, Manifest)

    def load(self, id: ObjectId, kind: type[T]) -> T:
        return decode(self.read(id), kind)

    def read(self, id: ObjectId) -> bytes:
        return self._find(id)[1]

    def frame(self, id: ObjectId) -> Frame:
        """An object as it is stored, checked."""
        return self._find(id)[0]

    def _find(self, id: ObjectId) -> tuple[Frame, bytes]:
        """An object and its bytes, checked. A damaged copy does not hide a good one."""
        damage: CorruptError | None = None
        for attempt in (1, 2):
            packs = self.packs(refresh=attempt == 2)
            for pack in packs:
                try:
                    frame = pack.read(id)
                    if frame is not None:
                        raw = thaw(frame)
                        if pack is not packs[0]:  # What is read next will mostly be there too.
                            self._packs = {pack.name: pack, **self._packs}
                        return frame, raw
                except CorruptError as error:
                    damage = error
        raise damage or MissingObjectError(
            f"object @{id.hex()[:12]} is missing from the store: run `ccgrep fsck --repair`"
        )

    def __contains__(self, id: ObjectId) -> bool:
        return self.pack_of(id) is not None

    def pack_of(self, id: ObjectId) -> Pack | None:
        return next((pack for pack in self.packs() if id in pack), None)

    def find(self, kind: ObjectKind, hex_prefix: str) -> list[ObjectId]:
        """Ids of a kind that begin with `hex_prefix`; more than one means ambiguous."""
        return sorted({id for pack in self.packs() for id in pack.find(kind, hex_prefix)})

    def packs(self, refresh: bool = False) -> list[Pack]:
        if refresh or not self._listed:
            names = self.pack_names()
            for name in set(self._packs) - set(names):
                pack = self._packs.pop(name)
                if name not in self._held:
                    pack.close()
            for name in names:
                if name not in self._packs:
                    try:
                        self._packs[name] = Pack(self.pack_dir, name)
                    except (FileNotFoundError, CorruptError):
                        continue
            self._listed = True
        return list(self._packs.values())

    def frame_size(self, id: ObjectId) -> int:
        """How many bytes an object takes up in its pack."""
        return next((pack.frame_size(id) for pack in self.packs() if id in pack), 0)

    def pack_names(self) -> list[str]:
        try:
            names = os.listdir(self.pack_dir)
        except FileNotFoundError:
            return []
        return sorted(n[5:-5] for n in names if n.startswith("pack-") and n.endswith(".pack"))

    def size(self) -> int:
        """Bytes on disk, of everything below the store's directory."""
        total = 0
        for folder, _, names in os.walk(self.directory):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except FileNotFoundError:
                    continue
        return total

    # Writing.

    def lock(self, wait_s: float) -> WriterLock:
        return WriterLock(os.path.join(self.directory, "lock"), wait_s)

    def must_be_at(self, head: ObjectId) -> None:
        """Where locks do not keep others out, one of two writers has to begin again."""
        if self.head() != head:
            raise lost_race()

    def hold(self, *packs: Pack) -> None:
        """Keeps packs open, so that they can be put back if they are taken away."""
        self._held.update({pack.name: pack for pack in packs})

    def put_back(self) -> None:
        """Writes the objects anew that are gone with one of the packs that are held."""
        gone = [self._held[name] for name in self._held.keys() - {*self.pack_names()}]
        if not gone:
            return
        self.packs(refresh=True)
        frames = (frame for pack in gone for _, frame in pack.scan())
        self._write_pack(frame for frame in frames if frame.id not in self)
        self.packs(refresh=True)

    def release(self) -> None:
        """Holds no pack any more."""
        for name in self._held.keys() - self._packs.keys():
            self._held[name].close()
        self._held.clear()

    def close(self) -> None:
        """Closes the packs, until one is needed again."""
        self.release()
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()
        self._listed = False

    def write_seen(self, data: bytes) -> None:
        """Notes what the last run saw, unless that stands there already."""
        path = os.path.join(self.directory, "seen")
        try:
            with open(path, "rb") as file:
                is_same = file.read(len(data) + 1) == data
        except FileNotFoundError:
            is_same = False
        if not is_same:
            fsio.publish(self.tmp_dir, path, data, is_hint=True)

    def clean_tmp(self) -> None:
        """Removes what a killed writer left half-made; for the holder of the lock."""
        for path in (self.pack_dir, self.tmp_dir):
            fsio.make_dir(path)
        for name in os.listdir(self.tmp_dir):
            if not fsio.is_under_way(os.path.join(self.tmp_dir, name)):
                fsio.remove(os.path.join(self.tmp_dir, name))

    def heal_indexes(self) -> int:
        """Writes the indexes anew that were lost; for the holder of the lock."""
        lost = [pack for pack in self.packs(refresh=True) if pack.is_index_lost]
        for pack in lost:
            write_index(self.pack_dir, self.tmp_dir, pack.name, pack.offsets())
        return len(lost)

    def fold(self) -> None:
        """Folds the smallest packs into one, so that sizes grow geometrically.

        Damaged packs are left for `fsck`: a copy would give damage a valid name.
        """
        packs = sorted(self.packs(refresh=True), key=lambda pack: pack.size)
        together = 0
        fold_upto = 0
        for position, pack in enumerate(packs):
            if position and pack.size < _FOLD_FACTOR * together:
                fold_upto = position + 1
            together += pack.size
        if fold_upto > 1 and all(pack.is_intact() for pack in packs[:fold_upto]):
            self.rewrite(packs[:fold_upto])

    def rewrite(self, packs: Iterable[Pack], keep: set[ObjectId] | None = None) -> None:
        """Copies the objects of `packs` (all, or those in `keep`) to one new pack."""
        old = list(packs)
        frames = (frame for pack in old for _, frame in pack.scan())
        name = self._write_pack(frame for frame in frames if keep is None or frame.id in keep)
        self.drop_packs(pack.name for pack in old if pack.name != name)

    def _write_pack(self, frames: Iterable[Frame]) -> str:
        """Writes objects to a new pack, and gives its name; nothing and none if there are none."""
        writer = PackWriter(self.pack_dir, self.tmp_dir)
        try:
            for frame in frames:
                writer.add(frame)
            return writer.finish() if len(writer) else ""
        finally:
            writer.discard()

    def drop_packs(self, names: Iterable[str]) -> None:
        """Deletes packs, the index last: a pack without index is read, not the reverse."""
        for name in names:
            fsio.remove(pack_path(self.pack_dir, name))
            fsio.remove(index_path(self.pack_dir, name))
        self.packs(refresh=True)


def lost_race() -> LostRaceError:
    return LostRaceError("another ccgrep has written to the store meanwhile: run the command again")


class Commit:
    """A change of the store under the writer's lock: new objects, then a new HEAD.

    Used as a context: leaving it without `commit` throws the pack away.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._head = store.head()
        self.snapshot = _with_forgotten(store, store.snapshot(self._head))
        self._rows: dict[str, dict[str, Row]] = {}
        self._touched: set[str] = set()
        self._writer: PackWriter | None = None
        self._last: tuple[ObjectId, Manifest] | None = None
        store.hold(*store.packs())

    def __enter__(self) -> "Commit":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.discard()
        self.store.release()

    def add(self, frame: Frame) -> bool:
        """Stores an object; says whether it was new."""
        if self._writer is not None and frame.id in self._writer:
            return False
        if pack := self.store.pack_of(frame.id):
            self.store.hold(pack)
            return False
        if self._writer is None:
            self._writer = PackWriter(self.store.pack_dir, self.store.tmp_dir)
        self._writer.add(frame)
        return True

    def put(self, kind: ObjectKind, value: msgspec.Struct) -> ObjectId:
        frame = freeze(kind, value)
        self.add(frame)
        if isinstance(value, Manifest):
            self._last = frame.id, value
        return frame.id

    def manifest(self, row: Row) -> Manifest:
        """A session's; mostly the one that was just put."""
        if self._last is not None and self._last[0] == row.manifest:
            return self._last[1]
        return self.load(row.manifest, Manifest)

    @property
    def head(self) -> ObjectId:
        """The snapshot that it goes on from."""
        return self._head

    def load_turn(self, id: ObjectId) -> Turn:
        return self.load(id, Turn)

    def load(self, id: ObjectId, kind: type[T]) -> T:
        """An object, also one that this commit has just written."""
        if self._writer is not None and id in self._writer:
            return decode(thaw(self._writer.read(id)), kind)
        return self.store.load(id, kind)

    def row(self, session_id: str) -> Row | None:
        return self._shard(shard_of(session_id)).get(session_id)

    def rows(self) -> Iterator[Row]:
        """Every session as this commit will leave it."""
        for name in sorted({*self.snapshot.shards, *self._rows}):
            yield from self._shard(name).values()

    def touched_rows(self) -> Iterator[Row]:
        """The sessions that this commit changes."""
        for name in self._touched:
            before = self.snapshot.shards.get(name)
            known = self.store.load(before, Shard).rows if before else ()
            old = {row.session.id: row for row in known}
            yield from (r for id, r in self._shard(name).items() if old.get(id) != r)

    def set_row(self, row: Row) -> None:
        name = shard_of(row.session.id)
        shard = self._shard(name)
        if shard.get(row.session.id) != row:
            shard[row.session.id] = row
            self._touched.add(name)

    def drop_row(self, session_id: str) -> None:
        name = shard_of(session_id)
        if self._shard(name).pop(session_id, None) is not None:
            self._touched.add(name)

    def commit(self, now_ms: int, **changes: object) -> ObjectId:
        """Publishes the pack and makes it the current snapshot.

        `changes` are further fields of the snapshot. Nothing changed: nothing is written.
        """
        shards = dict(self.snapshot.shards)
        for name in self._touched:
            rows = tuple(row for _, row in sorted(self._shard(name).items()))
            if rows:
                shards[name] = self.put("shard", Shard(rows))
            else:
                shards.pop(name, None)
        wanted = replace(self.snapshot, shards=dict(sorted(shards.items())), **changes)
        if wanted == self.snapshot:
            return self.store.head()
        if wanted.forgotten:
            refs.write_forgotten(self.store.directory, self.store.tmp_dir, wanted.forgotten)
        self.snapshot = replace(wanted, created=now_ms, revision=self.snapshot.revision + 1)
        head = self.put("snapshot", self.snapshot)
        if self._writer is not None:
            self._writer.finish()
            self._writer = None
        self.store.packs(refresh=True)
        written = self.store.pack_of(head)
        if written is None:
            raise lost_race()
        self.store.hold(written)
        self.store.must_be_at(self._head)
        refs.write_head(self.store.directory, self.store.tmp_dir, head)
        self.store.must_be_at(head)
        self.store.put_back()
        self.store.release()
        self.store.hold(*self.store.packs())
        self._head = head
        self._touched.clear()
        return head

    def let_go(self) -> None:
        """Keeps nothing at hand that the store has."""
        if not self._touched:
            self._rows.clear()
            self.store.close()

    def _shard(self, name: str) -> dict[str, Row]:
        if name not in self._rows:
            id = self.snapshot.shards.get(name)
            shard = self.store.load(id, Shard) if id else Shard()
            self._rows[name] = {row.session.id: row for row in shard.rows}
        return self._rows[name]


def _with_forgotten(store: Store, snapshot: Snapshot) -> Snapshot:
    """What is forgotten stays so, also when the snapshot that says it is lost."""
    known = {*snapshot.forgotten, *refs.read_forgotten(store.directory)}
    return replace(snapshot, forgotten=tuple(sorted(known)))


def open_store(directory: str, is_repair: bool = False) -> Store:
    """The store in `directory`, which must be there, ours, and of a known format.

    For a repair the FORMAT may be lost, but not be a newer one.
    """
    _finish_swap(directory)
    try:
        access.check_owner(directory)
        if not is_repair or os.path.exists(os.path.join(directory, "FORMAT")):
            access.check_format(directory, is_repair)
    except FileNotFoundError:
        store = Store(directory)
        if store.pack_names():
            raise StoreError(
                f"{directory} has objects but no FORMAT: run `ccgrep fsck --repair`"
            ) from None
        raise StoreError(f"there is no store in {directory}: run `ccgrep index`") from None
    return Store(directory)


def create_store(directory: str) -> Store:
    """The store in `directory`, made when there is none."""
    _finish_swap(directory)
    if os.path.exists(os.path.join(directory, "FORMAT")):
        store = open_store(directory)
        store.was_open = _tighten(directory)
        return store
    if Store(directory).pack_names():
        return open_store(directory)
    if not _may_be_filled(directory):
        if os.path.exists(os.path.join(directory, "FORMAT")):
            return create_store(directory)  # Another one has made it meanwhile.
        raise StoreError(
            f"{directory} is not empty and not a store: set CCGREP_DIR to another directory"
        )
    store = Store(directory)
    for path in (directory, store.pack_dir, store.tmp_dir):
        fsio.make_dir(path)
    store.was_open = _tighten(directory)
    with store.lock(_CREATE_WAIT_S):
        # Another one that was quicker may be at its first snapshot by now.
        if not os.path.exists(os.path.join(directory, "FORMAT")):
            if refs.read_head(directory) is None:
                refs.write_head(directory, store.tmp_dir, refs.NO_SNAPSHOT)
            refs.write_format(directory, store.tmp_dir)
    return store


def _may_be_filled(directory: str) -> bool:
    """Whether there is nothing but what the making of a store leaves when it is interrupted."""
    made = {"HEAD", "forgotten", "objects", "seen", "tallies", "text", "tmp"}
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return True
    return all(name in made or name.partition(".")[0] == "lock" for name in names)


def _tighten(directory: str) -> bool:
    """A store is as private as the transcripts; says whether it was not."""
    was_open = bool(os.stat(directory).st_mode & 0o077)
    if was_open:
        fsio.make_private(directory)
    return was_open


def new_store_dir(directory: str) -> str:
    """Where a store is built that is to take the place of the one in `directory`."""
    return directory + ".new"


def swap(directory: str, now_ms: int) -> str:
    """Puts the new store in the place of the old one, and says where that is now.

    A kill between the two renames is finished by whoever opens the store next.
    """
    aside = f"{directory}.old-{now_ms}"
    fsio.rename_dir(directory, aside)
    _finish_swap(directory)
    return aside


def _finish_swap(directory: str) -> None:
    new = new_store_dir(directory)
    if not os.path.exists(directory) and os.path.isdir(new) and stores_set_aside(directory):
        fsio.rename_dir(new, directory)


def stores_set_aside(directory: str) -> list[str]:
    """The stores that `--recreate` has put aside."""
    above, name = os.path.split(directory)
    try:
        names = os.listdir(above)
    except OSError:
        return []
    return sorted(os.path.join(above, n) for n in names if n.startswith(f"{name}.old-"))
