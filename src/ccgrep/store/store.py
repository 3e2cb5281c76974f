"""An open store: read objects and the snapshot, and maintain the packs.

Readers take no lock. They read HEAD and then the objects it leads to. If a writer folded a pack
in the meantime, a reader lists the pack directory once more. `commit.py` publishes new snapshots.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ccgrep.errors import CorruptError, LostRaceError, MissingObjectError
from ccgrep.model import ObjectId
from ccgrep.store import fsio, refs
from ccgrep.store.lock import WriterLock
from ccgrep.store.manifest import NO_SNAPSHOT, Manifest, Row, Shard, Snapshot, shard_of
from ccgrep.store.objects import Frame, ObjectKind, decode, unpack_frame
from ccgrep.store.pack import Pack, PackWriter, index_path, pack_path, write_index

T = TypeVar("T")

_HEX_DIGITS = b"0123456789abcdef"
_FOLD_FACTOR = 2
"""Each pack is at least this many times as large as all smaller ones together."""


class Store:
    """An opened store. Make one with `open_store` or `create_store`."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.pack_dir = os.path.join(directory, "objects", "pack")
        self.tmp_dir = os.path.join(directory, "tmp")
        self.was_exposed = False  # to other users, when it was opened for writing
        self._packs: dict[str, Pack] = {}
        self._held: dict[str, Pack] = {}
        self._listed = False

    # Reading.

    def head(self) -> ObjectId:
        """Return the current snapshot's id. Raise CorruptError if HEAD is damaged or lost."""
        try:
            data = refs.head_bytes(self.directory)
        except FileNotFoundError:
            # FORMAT is written last, so a store that has one had a HEAD.
            if self.pack_names() or os.path.exists(os.path.join(self.directory, "FORMAT")):
                raise CorruptError(
                    f"{self.directory} has no HEAD: run `ccgrep fsck --repair`"
                ) from None
            return NO_SNAPSHOT
        if len(data) != 65 or data[64:] != b"\n" or data[:64].strip(_HEX_DIGITS):
            path = os.path.join(self.directory, "HEAD")
            raise CorruptError(f"{path} is damaged: run `ccgrep fsck --repair`")
        return ObjectId(bytes.fromhex(data.decode()))

    def snapshot(self, head: ObjectId | None = None) -> Snapshot:
        """The current snapshot, or the one that `head` names."""
        head = self.head() if head is None else head
        return Snapshot() if head == NO_SNAPSHOT else self.load(head, Snapshot)

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

    def read_frame(self, id: ObjectId) -> Frame:
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
                        raw = unpack_frame(frame)
                        if pack is not packs[0]:  # What is read next will mostly be there too.
                            self._packs = {pack.name: pack, **self._packs}
                        return frame, raw
                except CorruptError as error:
                    damage = error
        raise damage or MissingObjectError(
            f"object @{id.hex()[:12]} is missing from the store: run `ccgrep fsck --repair`"
        )

    def __contains__(self, id: ObjectId) -> bool:
        return self.find_pack(id) is not None

    def find_pack(self, id: ObjectId) -> Pack | None:
        return next((pack for pack in self.packs() if id in pack), None)

    def find_ids(self, kind: ObjectKind, hex_prefix: str) -> list[ObjectId]:
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

    def check_head(self, head: ObjectId) -> None:
        """Where locks do not keep others out, one of two writers has to begin again."""
        if self.head() != head:
            raise LostRaceError

    def hold(self, *packs: Pack) -> None:
        """Keeps packs open, so that they can be put back if they are taken away."""
        self._held.update({pack.name: pack for pack in packs})

    def restore_packs(self) -> None:
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
            if not fsio.is_in_use(os.path.join(self.tmp_dir, name)):
                fsio.remove(os.path.join(self.tmp_dir, name))

    def rebuild_pack_indexes(self) -> int:
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
