"""What a machine shares of its store: sessions, and the objects that they need.

A manifest repeats the stored bytes of its session, but may lag behind the row. The shared manifest
has those of the row, so that a session can be rebuilt from its manifest alone.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.ingest.versions import strip_watermarks
from ccgrep.model import ObjectId
from ccgrep.remote.head import SharedSession
from ccgrep.remote.local import SharedRow
from ccgrep.store.manifest import Manifest, Row, SideFiles, SourceFile
from ccgrep.store.objects import Frame, decode, encode, make_frame, object_id
from ccgrep.store.originals import list_objects
from ccgrep.store.store import Store

Read = Callable[[ObjectId], bytes]


class SharedStore(Struct):
    """A store as its machine shares it: each session, and manifests that only the remote has."""

    rows: dict[str, SharedRow]
    manifests: dict[ObjectId, Frame]


def share(
    store: Store, rows: Iterable[Row], before: dict[str, SharedRow], machine: str, now_ms: int
) -> SharedStore:
    """Return what to say about each session. `before` is what the last push said."""
    shared = SharedStore({}, {})
    for row in rows:
        hash = _hash_row(row)
        known = before.get(row.session.id)
        if known is None or known.row != hash or known.session.manifest not in store:
            known = SharedRow(hash, _share_row(store, row, known, shared, machine, now_ms))
        shared.rows[row.session.id] = known
    return shared


def _hash_row(row: Row) -> bytes:
    """Return a hash that changes with all that is shared of a session."""
    bare = replace(row, files=strip_watermarks(row.files), is_gone=False)
    return object_id("shard", encode(bare))


def _share_row(
    store: Store,
    row: Row,
    before: SharedRow | None,
    shared: SharedStore,
    machine: str,
    now_ms: int,
) -> SharedSession:
    frame = make_frame("manifest", make_shared_manifest(store, row))
    if frame.id not in store:
        shared.manifests[frame.id] = frame
    if row.provenance is not None:
        origin = row.provenance
        return SharedSession(
            origin.machine, origin.session, frame.id, origin.changed, row.is_superseded
        )
    new = SharedSession(machine, row.session.id, frame.id, now_ms, row.is_superseded)
    if before is None or before.session.machine != machine:
        return new
    if replace(before.session, changed=now_ms) == new:
        return before.session
    # The clock may have been set back.
    return replace(new, changed=max(now_ms, before.session.changed + 1))


def make_shared_manifest(store: Store, row: Row) -> Manifest:
    """Return the manifest of a session with all stored bytes of its row."""
    return replace(
        store.manifest(row),
        stored=strip_watermarks((*row.versions, *row.files)),
        side_files=row.side_files,
    )


def list_needed(id: ObjectId, read: Read) -> Iterator[ObjectId]:
    """Yield the manifest `id` and every object that it leads to. `read` returns contents."""
    yield id
    manifest = decode(read(id), Manifest)
    yield from (entry.turn for entry in manifest.entries)
    if manifest.side_files is not None:
        yield manifest.side_files
    for file in list_manifest_files(manifest, read):
        yield from list_objects(file, read)


def list_manifest_files(manifest: Manifest, read: Read) -> tuple[SourceFile, ...]:
    """Return the files of a session whose bytes are stored."""
    if manifest.side_files is None:
        return manifest.stored
    return (*manifest.stored, *decode(read(manifest.side_files), SideFiles).files)
