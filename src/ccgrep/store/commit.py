"""The writer's side of a store: write objects to one pack, then replace HEAD.

On a filesystem without working locks, `gc` may delete objects that another process is about to
refer to. Both sides therefore keep the packs they rely on open and check again at the end: `gc`
compares HEAD, `Commit` compares its packs. One of them notices the other and restores the objects.
"""

from collections.abc import Container, Iterator
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ccgrep.errors import LostRaceError
from ccgrep.model import ObjectId, Session, Turn
from ccgrep.store import refs
from ccgrep.store.manifest import Manifest, Row, Shard, shard_of
from ccgrep.store.marks import follow_turns
from ccgrep.store.objects import (
    Frame,
    ObjectKind,
    decode,
    decompress_frame,
    make_frame,
    unpack_frame,
)
from ccgrep.store.pack import PackWriter
from ccgrep.store.store import Store

T = TypeVar("T")
_MAX_MANIFESTS = 4096
"""The number of manifests to keep in memory until it is known which are used: a few megabytes."""
_FIRST_SOURCES = ("claude_code", "codex")
"""The sources that every version can read."""


class Commit:
    """A change of the store under the writer lock: new objects, then a new HEAD.

    As a context manager, it discards the unpublished pack on exit.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.head = store.head()
        """The snapshot that this commit changes."""
        snapshot = store.snapshot(self.head)
        # The file `forgotten` survives lost snapshots.
        keys = {*snapshot.forgotten, *refs.read_forgotten(store.directory)}
        self.snapshot = replace(snapshot, forgotten=tuple(sorted(keys)))
        self._rows: dict[str, dict[str, Row]] = {}
        self._touched: set[str] = set()
        self._manifests: dict[ObjectId, Frame] = {}
        """New manifests. If one is replaced before the next snapshot, it is never written."""
        self._writer: PackWriter | None = None
        store.hold(*store.packs())

    def __enter__(self) -> "Commit":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.discard()
        self.store.release()

    def add(self, frame: Frame) -> bool:
        """Store an object, and return whether it was new."""
        if self._writer is not None and frame.id in self._writer:
            return False
        if pack := self.store.find_pack(frame.id):
            self.store.hold(pack)
            return False
        if self._writer is None:
            self._writer = PackWriter(self.store.pack_dir, self.store.tmp_dir)
        self._writer.add(frame)
        return True

    def put(self, kind: ObjectKind, value: msgspec.Struct) -> ObjectId:
        frame = make_frame(kind, value)
        if kind != "manifest":
            self.add(frame)
            return frame.id
        if len(self._manifests) == _MAX_MANIFESTS:
            self._add_manifests(self._manifests)
        self._manifests[frame.id] = frame
        return frame.id

    def _add_manifests(self, used: Container[ObjectId]) -> None:
        """Store the new manifests that are used, and drop the others."""
        for id, frame in self._manifests.items():
            if id in used:
                self.add(frame)
        self._manifests.clear()

    def manifest(self, row: Row) -> Manifest:
        return self.load(row.manifest, Manifest)

    def load_turn(self, id: ObjectId) -> Turn:
        return self.load(id, Turn)

    def load(self, id: ObjectId, kind: type[T]) -> T:
        """Return an object of the store or of this commit."""
        return decode(self.read(id), kind)

    def read(self, id: ObjectId) -> bytes:
        """Return the content of an object of the store or of this commit."""
        if id in self._manifests:
            return decompress_frame(self._manifests[id])
        if self._writer is not None and id in self._writer:
            return unpack_frame(self._writer.read(id))
        return self.store.read(id)

    def row(self, session_id: str) -> Row | None:
        return self._shard(shard_of(session_id)).get(session_id)

    def rows(self) -> Iterator[Row]:
        """Yield every session as this commit will leave it."""
        for name in sorted({*self.snapshot.shards, *self._rows}):
            yield from self._shard(name).values()

    def loaded_rows(self) -> dict[str, Row]:
        """Return the sessions of the shards that were read so far, with every change, by id."""
        return {id: row for shard in self._rows.values() for id, row in shard.items()}

    def touched_rows(self) -> Iterator[Row]:
        """Yield the sessions that this commit adds or changes."""
        for name in self._touched:
            old = self.store.shard_rows(self.snapshot, name)
            yield from (row for id, row in self._shard(name).items() if old.get(id) != row)

    def set_row(self, row: Row) -> None:
        name = shard_of(row.session.id)
        shard = self._shard(name)
        if shard.get(row.session.id) != row:
            shard[row.session.id] = row
            self._touched.add(name)

    def set_session(self, row: Row, session: Session) -> None:
        """Change what describes the session of a row, in its manifest too."""
        manifest = self.manifest(row)
        changed = replace(manifest, session=session, revision=manifest.revision + 1)
        self.set_row(replace(row, session=session, manifest=self.put("manifest", changed)))

    def drop_row(self, session_id: str) -> None:
        name = shard_of(session_id)
        if self._shard(name).pop(session_id, None) is not None:
            self._touched.add(name)

    def commit(self, now_ms: int, **changes: object) -> ObjectId:
        """Publish the pack and a new snapshot, and return the snapshot's id.

        `changes` are further fields of the snapshot. If nothing differs, nothing is written.
        """
        shards = self._put_shards()
        new = replace(self.snapshot, shards=dict(sorted(shards.items())), **changes)
        if new.marks and self._touched:
            changed = {row.session.id: row for row in self.touched_rows()}
            new = replace(new, marks=follow_turns(new.marks, changed, self.manifest))
        if new == self.snapshot:
            return self.store.head()
        if new.forgotten:
            refs.write_forgotten(self.store.directory, new.forgotten)
        self.snapshot = replace(new, created=now_ms, revision=self.snapshot.revision + 1)
        head = self.put("snapshot", self.snapshot)
        if self._writer is not None:
            self._writer.finish()
            self._writer = None
        self.store.packs(refresh=True)
        pack = self.store.find_pack(head)
        if pack is None:
            raise LostRaceError
        self.store.hold(pack)
        self.store.check_head(self.head)
        refs.write_head(self.store.directory, head)
        self.store.check_head(head)
        self.store.restore_packs()
        self.store.release()
        self.store.hold(*self.store.packs())
        self.head = head
        self._touched.clear()
        return head

    def _put_shards(self) -> dict[str, ObjectId]:
        """Store the changed shards with their new manifests, and return all shards."""
        shards = dict(self.snapshot.shards)
        used: set[ObjectId] = set()
        for name in self._touched:
            rows = tuple(row for _, row in sorted(self._shard(name).items()))
            if any(row.session.source not in _FIRST_SOURCES for row in rows):
                refs.require_features(self.store.directory, ["sources"])
            used.update(row.manifest for row in rows)
            if rows:
                shards[name] = self.put("shard", Shard(rows))
            else:
                shards.pop(name, None)
        self._add_manifests(used)
        return shards

    def drop_caches(self) -> None:
        """Free what can be read from the store again."""
        if not self._touched:
            self._rows.clear()
            self.store.close()

    def _shard(self, name: str) -> dict[str, Row]:
        if name not in self._rows:
            self._rows[name] = self.store.shard_rows(self.snapshot, name)
        return self._rows[name]
