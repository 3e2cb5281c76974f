"""Check every byte of a store, and repair what the store itself allows.

*Lost* objects are referred to by the snapshot, but no intact pack holds them. *Dangling* objects
are garbage, not damage. A repair keeps every good object of a damaged pack, rebuilds indexes and
falls back to the best snapshot or manifests that are left. Sessions that stay incomplete are marked
so that their transcripts are read again.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import CorruptError, FormatError, StoreError
from ccgrep.model import ObjectId
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.store import access, refs
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import NO_SNAPSHOT, Manifest, Row, Shard, Snapshot, shard_of
from ccgrep.store.objects import Frame, decode, unpack_frame
from ccgrep.store.original_check import check_bytes, drop_lost_bytes
from ccgrep.store.originals import list_stored_files
from ccgrep.store.pack import Pack
from ccgrep.store.store import Store

Newest = dict[str, tuple[ObjectId, Manifest]]
"""The newest manifest of each session, with its id."""


class FsckReport(Struct):
    """`damaged` names files, `lost` names objects, `dangling` counts objects."""

    objects: int = 0
    packs: int = 0
    damaged: list[str] = []
    lost: list[str] = []
    dangling: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.damaged and not self.lost


def check(store: Store, on_step: OnStep = ignore_steps) -> FsckReport:
    """Read and verify the whole store, without changing it."""
    report = FsckReport()
    try:
        access.check_format(store.directory)
    except (FormatError, FileNotFoundError):
        report.damaged.append("FORMAT: lost or damaged")
    good: set[ObjectId] = set()
    opened = {pack.name for pack in store.packs(refresh=True)}
    report.damaged += [f"pack-{n}.pack: unreadable" for n in store.pack_names() if n not in opened]
    total = sum(map(len, store.packs()))
    for pack in store.packs():
        report.packs += 1
        good |= _check_pack(pack, report, report.objects, total, on_step)
        report.objects += len(pack)
    report.objects = len(good)
    report.dangling = len(good - _check_links(store, good, report, on_step))
    return report


def _check_pack(
    pack: Pack, report: FsckReport, done: int, total: int, on_step: OnStep
) -> set[ObjectId]:
    """Return the good objects of a pack; `done` objects of other packs were checked before."""
    if pack.is_index_lost:
        report.damaged.append(f"pack-{pack.name}.idx: lost or damaged")
    if not pack.is_intact():
        report.damaged.append(f"pack-{pack.name}.pack: does not match its name")
    good: set[ObjectId] = set()
    for number, (frame, error) in enumerate(_read_frames(pack)):
        on_step("objects checked", done + number, total)
        if error is None and frame is not None:
            good.add(frame.id)
        else:
            report.damaged.append(f"pack-{pack.name}.pack: {error}")
    return good


def _read_frames(pack: Pack) -> Iterator[tuple[Frame | None, CorruptError | None]]:
    """Yield each object of a pack, or the reason why it cannot be read.

    The index leads to objects behind a damaged header, where a scan would stop.
    """
    for id in pack.ids():
        try:
            frame = pack.read(id)
            if frame is None or frame.id != id:
                raise CorruptError(f"object @{id.hex()[:12]} is not where the index says")
            unpack_frame(frame)
            yield frame, None
        except CorruptError as error:
            yield None, error


def _check_links(
    store: Store, good: set[ObjectId], report: FsckReport, on_step: OnStep
) -> set[ObjectId]:
    """Follow HEAD to every turn, report missing objects, and return all that are referred to."""
    used: set[ObjectId] = set()

    def is_lost(id: ObjectId, name: str) -> bool:
        used.add(id)
        if id in good:
            return False
        report.lost.append(f"{name} @{id.hex()[:12]}")
        return True

    try:
        head = store.head()
    except StoreError as error:
        report.damaged.append(str(error))
        return used
    if head == NO_SNAPSHOT or is_lost(head, "snapshot"):
        return used
    snapshot = store.load(head, Snapshot)
    _check_forgotten(store, snapshot, report)
    shards = [id for id in snapshot.shards.values() if not is_lost(id, "shard")]
    rows = [row for id in shards for row in store.load(id, Shard).rows]
    for row in count_steps(rows, "sessions checked", len(rows), on_step):
        _check_originals(store, row, used, report)
        if is_lost(row.manifest, f"manifest of {row.session.id}"):
            continue
        for number, entry in enumerate(store.manifest(row).entries):
            is_lost(entry.turn, f"turn {row.session.id}:{number}")
    for file in snapshot.hints:
        used |= check_bytes(store, file, report.lost)
    return used


def _check_originals(store: Store, row: Row, used: set[ObjectId], report: FsckReport) -> None:
    """Check the stored bytes of a session's files, and add the objects that hold them to `used`."""
    try:
        files = list_stored_files(row, store.read)
    except StoreError:
        report.lost.append(f"side files of {row.session.id}")
        files = list_stored_files(replace(row, side_files=None), store.read)
    used.update(filter(None, [row.side_files]))
    for file in files:
        used |= check_bytes(store, file, report.lost)


def _check_forgotten(store: Store, snapshot: Snapshot, report: FsckReport) -> None:
    if set(snapshot.forgotten) - set(refs.read_forgotten(store.directory)):
        report.damaged.append("forgotten: lost or damaged")


def repair(store: Store) -> list[str]:
    """Make the store consistent with its readable objects, and return what is lost."""
    store.clean_tmp()
    refs.write_format(store.directory)
    # The store may have what older versions cannot read.
    refs.require_features(store.directory, access.FEATURES)
    _rewrite_damaged(store)
    store.rebuild_pack_indexes()
    _restore_head(store)
    lost: list[str] = []
    with Commit(store) as commit:
        newest = _newest_manifests(store)
        _restore_shards(store, commit, newest)
        for row in list(commit.rows()):
            if not _repair_row(store, commit, row, newest):
                lost.append(f"session {row.session.id}")
        commit.commit(commit.snapshot.created)
        if commit.snapshot.forgotten:
            refs.write_forgotten(store.directory, commit.snapshot.forgotten)
    return lost


def _rewrite_damaged(store: Store) -> None:
    """Replace each damaged pack by one with its good objects."""
    opened = {pack.name: pack for pack in store.packs(refresh=True)}
    damaged = [name for name in store.pack_names() if name not in opened]
    for name, pack in opened.items():
        if not pack.is_intact() or any(frame is None for frame, _ in _read_frames(pack)):
            damaged.append(name)
            store.write_pack(frame for frame, _ in _read_frames(pack) if frame is not None)
    store.drop_packs(damaged)


def _restore_head(store: Store) -> None:
    """Point HEAD to the newest readable snapshot, unless the current one is readable."""
    try:
        store.snapshot()
    except StoreError:
        snapshots = [(decode(raw, Snapshot), id) for id, raw in _read_objects(store, "snapshot")]
        best = max(snapshots, key=lambda snapshot: snapshot[0].revision, default=None)
        refs.write_head(store.directory, best[1] if best else NO_SNAPSHOT)


def _read_objects(store: Store, kind: str) -> Iterator[tuple[ObjectId, bytes]]:
    """Yield every good object of a kind."""
    for pack in store.packs():
        for frame, _ in _read_frames(pack):
            if frame is not None and frame.kind == kind:
                yield frame.id, unpack_frame(frame)


def _restore_shards(store: Store, commit: Commit, newest: Newest) -> None:
    """Rebuild lost shards from the newest manifest of each of their sessions."""
    has_snapshot = store.head() != NO_SNAPSHOT
    lost = {n for n, id in commit.snapshot.shards.items() if id not in store}
    if not has_snapshot and store.pack_names():
        lost = {f"{number:02x}" for number in range(256)}
    if not lost:
        return
    shards = {n: id for n, id in commit.snapshot.shards.items() if n not in lost}
    commit.snapshot = replace(commit.snapshot, shards=shards)
    for session_id, (id, manifest) in newest.items():
        if shard_of(session_id) in lost:
            commit.set_row(make_row(id, manifest))


def _newest_manifests(store: Store) -> Newest:
    newest: Newest = {}
    for id, raw in _read_objects(store, "manifest"):
        manifest = decode(raw, Manifest)
        known = newest.get(manifest.session.id)
        if known is None or known[1].revision < manifest.revision:
            newest[manifest.session.id] = (id, manifest)
    return newest


def make_row(id: ObjectId, manifest: Manifest) -> Row:
    """Return the row of a session that is known from its manifest alone."""
    stored, side_files = manifest.stored, manifest.side_files
    return Row(manifest.session, id, is_gone=True, versions=stored, side_files=side_files)


def newest_rows(store: Store) -> list[Row]:
    """Return the sessions of a store whose snapshot is lost, rebuilt from their manifests."""
    try:
        newest = _newest_manifests(store)
    except StoreError:
        return []
    return [make_row(id, manifest) for id, manifest in newest.values()]


def _repair_row(store: Store, commit: Commit, row: Row, newest: Newest) -> bool:
    """Mark an incomplete session to be read again. Return False if nothing of it is left."""
    # Files with these watermarks are read from the start by the next ingest.
    fresh = {"size": -1, "resume": 0, "resume_crc": 0, "end": 0, "end_crc": 0, "parts": ()}
    row = drop_lost_bytes(store, row)
    unread = replace(row, files=tuple(replace(file, **fresh) for file in row.files))
    if row.manifest not in store:
        older = newest.get(row.session.id)
        if older is None:
            commit.drop_row(row.session.id)
            return False
        commit.set_row(replace(unread, manifest=older[0]))
    elif any(entry.turn not in store for entry in store.manifest(row).entries):
        commit.set_row(unread)
    else:
        commit.set_row(row)
    return True
