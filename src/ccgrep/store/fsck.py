"""Checks every byte of a store, and repairs what can be repaired from the store itself.

*Lost* is what the snapshot refers to and no intact pack holds. *Dangling* is what nothing
refers to: waste, not damage. Repair keeps every good object of a damaged pack, makes
indexes anew, and goes back to the best snapshot or manifests that are left; what it
cannot restore it leaves marked for reading the transcripts again.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.errors import CorruptError, FormatError, StoreError
from ccgrep.model import ObjectId
from ccgrep.store import access, refs
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import NO_SNAPSHOT, Manifest, Row, Shard, Snapshot, SourceFile, shard_of
from ccgrep.store.objects import Frame, decode, unpack_frame
from ccgrep.store.pack import Pack, PackWriter
from ccgrep.store.store import Store


class FsckReport(Struct):
    """`damaged` names files, `lost` what cannot be read; `dangling` counts objects."""

    objects: int = 0
    packs: int = 0
    damaged: list[str] = []
    lost: list[str] = []
    dangling: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.damaged and not self.lost


def check(store: Store) -> FsckReport:
    """Reads everything; changes nothing."""
    report = FsckReport()
    try:
        access.check_format(store.directory)
    except (FormatError, FileNotFoundError):
        report.damaged.append("FORMAT: lost or damaged")
    good: set[ObjectId] = set()
    opened = {pack.name for pack in store.packs(refresh=True)}
    report.damaged += [f"pack-{n}.pack: unreadable" for n in store.pack_names() if n not in opened]
    for pack in store.packs():
        report.packs += 1
        good |= _check_pack(pack, report)
    report.objects = len(good)
    used = _check_links(store, good, report)
    report.dangling = len(good - used)
    return report


def _check_pack(pack: Pack, report: FsckReport) -> set[ObjectId]:
    if pack.is_index_lost:
        report.damaged.append(f"pack-{pack.name}.idx: lost or damaged")
    if not pack.is_intact():
        report.damaged.append(f"pack-{pack.name}.pack: does not match its name")
    good: set[ObjectId] = set()
    for frame, error in _frames(pack):
        if error is None and frame is not None:
            good.add(frame.id)
        else:
            report.damaged.append(f"pack-{pack.name}.pack: {error}")
    return good


def _frames(pack: Pack) -> Iterator[tuple[Frame | None, CorruptError | None]]:
    """Each object of a pack, or why it cannot be read.

    The index finds objects behind a damaged header, where a scan would have to stop.
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


def _check_links(store: Store, good: set[ObjectId], report: FsckReport) -> set[ObjectId]:
    """Follows HEAD to every turn; what is missing on the way is lost."""
    used: set[ObjectId] = set()

    def missing(id: ObjectId, what: str) -> bool:
        used.add(id)
        if id in good:
            return False
        report.lost.append(f"{what} @{id.hex()[:12]}")
        return True

    try:
        head = store.head()
    except StoreError as error:
        report.damaged.append(str(error))
        return used
    if head == NO_SNAPSHOT or missing(head, "snapshot"):
        return used
    snapshot = store.load(head, Snapshot)
    _check_forgotten(store, snapshot, report)
    for shard_id in snapshot.shards.values():
        if missing(shard_id, "a list of sessions"):
            continue
        for row in store.load(shard_id, Shard).rows:
            if missing(row.manifest, f"manifest of {row.session.id}"):
                continue
            for number, entry in enumerate(store.manifest(row).entries):
                missing(entry.turn, f"turn {row.session.id}:{number}")
    return used


def _check_forgotten(store: Store, snapshot: Snapshot, report: FsckReport) -> None:
    if set(snapshot.forgotten) - set(refs.read_forgotten(store.directory)):
        report.damaged.append("forgotten: lost or damaged")


def repair(store: Store) -> list[str]:
    """Makes the store consistent with what can still be read of it; names what is lost."""
    store.clean_tmp()
    refs.write_format(store.directory)
    _rewrite_damaged(store)
    store.rebuild_pack_indexes()
    lost: list[str] = []
    with Commit(_with_best_head(store)) as commit:
        newest = _newest_manifests(store)
        _restore_shards(store, commit, newest)
        for row in list(commit.rows()):
            if not _mend(store, commit, row, newest):
                lost.append(f"session {row.session.id}")
        commit.commit(commit.snapshot.created)
        if commit.snapshot.forgotten:
            refs.write_forgotten(store.directory, commit.snapshot.forgotten)
    return lost


def _rewrite_damaged(store: Store) -> None:
    """Replaces each damaged pack by one that holds its good objects."""
    opened = {pack.name: pack for pack in store.packs(refresh=True)}
    broken = [name for name in store.pack_names() if name not in opened]
    for name, pack in opened.items():
        if pack.is_intact() and all(frame is not None for frame, _ in _frames(pack)):
            continue
        broken.append(name)
        writer = PackWriter(store.pack_dir, store.tmp_dir)
        try:
            for frame, _ in _frames(pack):
                if frame is not None:
                    writer.add(frame)
            if len(writer):
                writer.finish()
        finally:
            writer.discard()
    store.drop_packs(broken)


def _with_best_head(store: Store) -> Store:
    """The store, with HEAD at the newest snapshot that is whole."""
    try:
        store.snapshot()
    except StoreError:
        snapshots = [(decode(raw, Snapshot), id) for id, raw in _objects(store, "snapshot")]
        best = max(snapshots, key=lambda found: found[0].revision, default=None)
        refs.write_head(store.directory, best[1] if best else NO_SNAPSHOT)
    return store


def _objects(store: Store, kind: str) -> Iterator[tuple[ObjectId, bytes]]:
    """Every good object of a kind."""
    for pack in store.packs():
        for frame, _ in _frames(pack):
            if frame is not None and frame.kind == kind:
                yield frame.id, unpack_frame(frame)


Newest = dict[str, tuple[ObjectId, Manifest]]


def _restore_shards(store: Store, commit: Commit, newest: Newest) -> None:
    """Makes lost shards from the newest manifest of each of their sessions."""
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
            commit.set_row(Row(manifest.session, id, is_gone=True))


def _newest_manifests(store: Store) -> Newest:
    """The newest manifest of each session that any pack holds."""
    newest: Newest = {}
    for id, raw in _objects(store, "manifest"):
        manifest = decode(raw, Manifest)
        known = newest.get(manifest.session.id)
        if known is None or known[1].revision < manifest.revision:
            newest[manifest.session.id] = (id, manifest)
    return newest


def newest_rows(store: Store) -> list[Row]:
    """The sessions of a store whose snapshot is lost, as its manifests tell them."""
    try:
        found = _newest_manifests(store)
    except StoreError:
        return []
    return [Row(manifest.session, id, is_gone=True) for id, manifest in found.values()]


def _mend(store: Store, commit: Commit, row: Row, newest: Newest) -> bool:
    """A session with something lost is read anew; `False` if nothing of it is left."""
    if row.manifest not in store:
        older = newest.get(row.session.id)
        if older is None:
            commit.drop_row(row.session.id)
            return False
        commit.set_row(replace(row, manifest=older[0], files=tuple(map(_unread, row.files))))
    elif any(entry.turn not in store for entry in store.manifest(row).entries):
        commit.set_row(replace(row, files=tuple(map(_unread, row.files))))
    return True


def _unread(file: SourceFile) -> SourceFile:
    return replace(file, size=-1, resume=0, resume_crc=0, end=0, end_crc=0)
