"""An open store: read the snapshot and its objects, and maintain the packs.

Readers take no lock. They read HEAD and then the objects that it leads to. If a pack has vanished
because a writer folded it, they list the packs once more. `commit.py` publishes new snapshots.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ccgrep.errors import CorruptError, LostRaceError, MissingObjectError
from ccgrep.model import ObjectId
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import fsio, refs
from ccgrep.store.lock import Warn, WriterLock
from ccgrep.store.manifest import NO_SNAPSHOT, Manifest, Row, Shard, Snapshot, shard_of
from ccgrep.store.objects import Frame, ObjectKind, decode, unpack_frame
from ccgrep.store.pack import Pack, PackWriter, index_path, pack_path, write_index

T = TypeVar("T")

_HEX_DIGITS = b"0123456789abcdef"
_FOLD_FACTOR = 2
"""Each pack is at least this many times as large as all smaller packs together."""


class Store:
    """An open store, as returned by `open_store` and `create_store`."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.pack_dir = os.path.join(directory, "objects", "pack")
        self.tmp_dir = os.path.join(directory, "tmp")
        self.was_exposed = False  # Other users could read it before it was opened for writing.
        self._packs: dict[str, Pack] = {}
        self._held: dict[str, Pack] = {}
        self._is_listed = False

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
        """Return the snapshot with the id `head`, by default the current one."""
        head = self.head() if head is None else head
        return Snapshot() if head == NO_SNAPSHOT else self.load(head, Snapshot)

    def rows(self, snapshot: Snapshot | None = None) -> Iterator[Row]:
        """Yield every session of the snapshot, in no particular order."""
        for shard in (snapshot or self.snapshot()).shards.values():
            yield from self.load(shard, Shard).rows

    def shard_rows(self, snapshot: Snapshot, name: str) -> dict[str, Row]:
        """Return the sessions of a shard by their ids."""
        shard = snapshot.shards.get(name)
        rows = self.load(shard, Shard).rows if shard else ()
        return {row.session.id: row for row in rows}

    def row(self, session_id: str, snapshot: Snapshot | None = None) -> Row | None:
        rows = self.shard_rows(snapshot or self.snapshot(), shard_of(session_id))
        return rows.get(session_id)

    def manifest(self, row: Row) -> Manifest:
        return self.load(row.manifest, Manifest)

    def load(self, id: ObjectId, kind: type[T]) -> T:
        return decode(self.read(id), kind)

    def read(self, id: ObjectId) -> bytes:
        return self._find(id)[1]

    def read_frame(self, id: ObjectId) -> Frame:
        """Return an object as it is stored, verified."""
        return self._find(id)[0]

    def find_frame(self, id: ObjectId) -> Frame | None:
        """Return an object as it is stored, unverified, or None if it cannot be read."""
        try:
            return next((frame for pack in self.packs() if (frame := pack.read(id))), None)
        except CorruptError:
            return None

    def _find(self, id: ObjectId) -> tuple[Frame, bytes]:
        """Return an object's frame and content. A damaged copy does not hide a good one."""
        damage: CorruptError | None = None
        for is_refresh in (False, True):
            packs = self.packs(is_refresh)
            for pack in packs:
                try:
                    frame = pack.read(id)
                    if frame is not None:
                        content = unpack_frame(frame)
                        if pack is not packs[0]:  # The next object is probably in it too.
                            self._packs = {pack.name: pack, **self._packs}
                        return frame, content
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
        """Return the ids of objects of a kind that start with `hex_prefix`."""
        return sorted({id for pack in self.packs() for id in pack.find(kind, hex_prefix)})

    def packs(self, refresh: bool = False) -> list[Pack]:
        """Return the readable packs. `refresh` lists the directory again."""
        if refresh or not self._is_listed:
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
            self._is_listed = True
        return list(self._packs.values())

    def frame_size(self, id: ObjectId) -> int:
        """Return the bytes that an object occupies in its pack, or 0 if it is missing."""
        pack = self.find_pack(id)
        return pack.frame_size(id) if pack else 0

    def pack_names(self) -> list[str]:
        try:
            names = os.listdir(self.pack_dir)
        except FileNotFoundError:
            return []
        return sorted(n[5:-5] for n in names if n.startswith("pack-") and n.endswith(".pack"))

    def size(self) -> int:
        """Return the bytes of all files below the store's directory."""
        total = 0
        for folder, _, names in os.walk(self.directory):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except FileNotFoundError:
                    continue
        return total

    def close(self) -> None:
        """Close the packs. The next read opens them again."""
        self.release()
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()
        self._is_listed = False

    # Writing, by the holder of the writer lock.

    def lock(self, wait_s: float, warn: Warn = lambda _: None) -> WriterLock:
        """Return the writer lock; `warn` gets a line if another process holds it for long."""
        return WriterLock(os.path.join(self.directory, "lock"), wait_s, warn)

    def check_head(self, head: ObjectId) -> None:
        """Raise LostRaceError if a writer that the lock did not exclude has moved HEAD."""
        if self.head() != head:
            raise LostRaceError

    def hold(self, *packs: Pack) -> None:
        """Keep packs open, so that `restore_packs` can write their objects again."""
        self._held.update({pack.name: pack for pack in packs})

    def restore_packs(self) -> None:
        """Write the objects of held packs that another process has deleted."""
        deleted = [self._held[name] for name in self._held.keys() - {*self.pack_names()}]
        if not deleted:
            return
        self.packs(refresh=True)
        frames = (frame for pack in deleted for _, frame in pack.scan())
        self.write_pack(frame for frame in frames if frame.id not in self)
        self.packs(refresh=True)

    def release(self) -> None:
        """Stop holding packs."""
        for name in self._held.keys() - self._packs.keys():
            self._held[name].close()
        self._held.clear()

    def write_seen(self, data: bytes) -> None:
        """Write the seen file, unless it has this content already."""
        path = os.path.join(self.directory, "seen")
        try:
            with open(path, "rb") as file:
                is_same = file.read(len(data) + 1) == data
        except FileNotFoundError:
            is_same = False
        if not is_same:
            fsio.publish(self.tmp_dir, path, data, is_hint=True)

    def clean_tmp(self) -> None:
        """Delete the unfinished files of a killed writer."""
        for path in (self.pack_dir, self.tmp_dir):
            fsio.make_dir(path)
        for name in os.listdir(self.tmp_dir):
            path = os.path.join(self.tmp_dir, name)
            if not fsio.is_in_use(path):
                fsio.remove(path)

    def rebuild_pack_indexes(self) -> None:
        """Write the pack indexes that are lost or damaged."""
        for pack in self.packs(refresh=True):
            if pack.is_index_lost:
                write_index(self.pack_dir, self.tmp_dir, pack.name, pack.offsets())

    def fold(self) -> None:
        """Merge the smallest packs into one, so that sizes grow geometrically.

        Damaged packs are left to `fsck`: a copy would give the damage a valid name.
        """
        packs = sorted(self.packs(refresh=True), key=lambda pack: pack.size)
        smaller_bytes = 0
        fold_count = 0
        for position, pack in enumerate(packs):
            if position and pack.size < _FOLD_FACTOR * smaller_bytes:
                fold_count = position + 1
            smaller_bytes += pack.size
        if fold_count > 1 and all(pack.is_intact() for pack in packs[:fold_count]):
            self.rewrite(packs[:fold_count])

    def rewrite(
        self,
        packs: Iterable[Pack],
        keep: set[ObjectId] | None = None,
        on_step: OnStep = ignore_steps,
    ) -> None:
        """Replace `packs` by one pack with their objects, or with those in `keep`."""
        old = list(packs)
        scanned = (frame for pack in old for _, frame in pack.scan())
        frames = count_steps(scanned, "objects copied", sum(map(len, old)), on_step)
        name = self.write_pack(frame for frame in frames if keep is None or frame.id in keep)
        self.drop_packs(pack.name for pack in old if pack.name != name)

    def write_pack(self, frames: Iterable[Frame]) -> str:
        """Write a pack and return its name. Without frames, write none and return ""."""
        writer = PackWriter(self.pack_dir, self.tmp_dir)
        try:
            for frame in frames:
                writer.add(frame)
            return writer.finish() if len(writer) else ""
        finally:
            writer.discard()

    def drop_packs(self, names: Iterable[str]) -> None:
        """Delete packs. The index goes last: a pack is readable without it."""
        for name in names:
            fsio.remove(pack_path(self.pack_dir, name))
            fsio.remove(index_path(self.pack_dir, name))
        self.packs(refresh=True)
