"""Bring the full-text index to HEAD by writing only the places that differ.

A generation that is damaged, or whose snapshot cannot be read any more, is replaced by one that is
built from objects. Runs under the writer lock. A commit of the store does not wait for it: the
index names the snapshot that it reflects.
"""

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ccgrep.errors import (
    CorruptError,
    LostRaceError,
    MissingObjectError,
    StoreError,
    TextIndexError,
    WriteError,
)
from ccgrep.fulltext import generations, recent_commits, verification
from ccgrep.fulltext.document import Content, document_fields, restrict_kinds, turn_content
from ccgrep.fulltext.document_id import format_place
from ccgrep.fulltext.generations import Generation
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.snapshot_diff import changed_rows, indexed_entries, is_same_document
from ccgrep.fulltext.writer import CHANGE, NEW, TextWriter, large_budget
from ccgrep.hashing import load_openssl
from ccgrep.kinds import Level
from ccgrep.model import Entry, ObjectId, Turn
from ccgrep.steps import OnStep
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum
from ccgrep.store.manifest import Row, Snapshot
from ccgrep.store.store import Store

if TYPE_CHECKING:
    from ccgrep.fulltext.document_pool import Task

_LARGE_BYTES = 16 * 1024 * 1024  # of packs
_MAX_WORKERS = 2  # They make documents faster than Tantivy indexes them.
_TASK_BYTES = 1024 * 1024
"""The size of the turns from which documents are made at a time."""

Contents = Mapping[ObjectId, Content]
"""Contents that ingest has prepared from the turns it read. Others are loaded from the store."""


def sync(
    store: Store,
    contents: Contents | None = None,
    workers: int = 0,
    on_step: OnStep | None = None,
) -> int:
    """Bring the full-text index to HEAD, and return the number of documents written.

    A large build uses `workers` processes, 0 for one per core.
    """
    head = store.head()
    found = generations.current(store.directory)
    if found is None:
        return rebuild(store, contents, workers, on_step)
    for path in generations.generation_paths(store.directory):
        if path != found.path:  # A killed process left it, unfinished or replaced.
            fsio.remove_tree(path)
    if (found.snapshot, found.level) == (head.hex(), "whole"):
        return 0 if _is_usable(store, found) else rebuild(store, contents, workers, on_step)
    old = _load_base(store, found)
    if old is None:
        return rebuild(store, contents, workers, on_step)
    try:
        writer = TextWriter(found.path, CHANGE)
        return IndexSync(store, found.path, writer, contents, on_step).run(old)
    except (CorruptError, TextIndexError):
        return rebuild(store, contents, workers, on_step)


def is_synced(store: Store) -> bool:
    """Return whether the full-text index reflects all of HEAD."""
    found = generations.current(store.directory)
    return found is not None and (found.snapshot, found.level) == (store.head().hex(), "whole")


def rebuild(
    store: Store,
    contents: Contents | None = None,
    workers: int = 0,
    on_step: OnStep | None = None,
) -> int:
    """Build a new generation from objects, then remove the old ones."""
    load_openssl()  # to hash every object
    path = new_generation(store)
    is_large = sum(pack.size for pack in store.packs()) > _LARGE_BYTES
    old = [other for other in generations.all_paths(store.directory) if other != path]
    with _removed_on_write_error(path), _no_gc():
        if is_large:
            written = _build_with_workers(store, path, workers, on_step)
        else:
            build = IndexSync(store, path, TextWriter(path, NEW), contents, on_step)
            written = build.run(Snapshot())
    for other in old:
        fsio.remove_tree(other)
    return written


def _build_with_workers(store: Store, path: str, workers: int, on_step: OnStep | None) -> int:
    from ccgrep.worker_pool import count_cores  # noqa: PLC0415 - slow to import

    cores = workers or count_cores()
    writer = TextWriter(path, large_budget(cores))
    build = IndexSync(store, path, writer, on_step=on_step)
    return build.build_with_workers(min(cores, _MAX_WORKERS))


@contextmanager
def _removed_on_write_error(path: str) -> Iterator[None]:
    """Remove an unfinished generation if the disk is full: it takes up space."""
    try:
        yield
    except WriteError:
        with suppress(WriteError, FileNotFoundError):
            fsio.remove_tree(path)
        raise


@contextmanager
def _no_gc() -> Iterator[None]:
    """Pause the collector: turns have no cycles, and it took a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def new_generation(store: Store) -> str:
    """Create the directory of the next generation, without leftovers of a killed process."""
    found = generations.current(store.directory)
    for path in generations.generation_paths(store.directory):
        if found is None or path > found.path:
            fsio.remove_tree(path)
    last = int(found.path.rpartition("-")[2]) if found else 0
    name = f"{generations.VERSION}-{last + 1:06d}"
    path = os.path.join(generations.text_dir(store.directory), name)
    with _removed_on_write_error(path):
        if not fsio.make_dir(path):
            raise LostRaceError  # Another process writes it: the lock does not work here.
        kinds = f"{generations.configured_kinds(store.directory)}\n"
        fsio.publish(store.tmp_dir, os.path.join(path, "KINDS"), kinds.encode(), is_hint=True)
    return path


def purge(store: Store) -> int:
    """Rebuild an index that holds deleted documents or was changed since it was built.

    Deleted documents hold forgotten words. And a snapshot's scores must not depend on its history.
    """
    written = sync(store)
    found = generations.current(store.directory)
    if found is not None:
        has_deleted = any(name.endswith(".del") for name in verification.file_stamps(found.path))
        if has_deleted or recent_commits.read(found.path):
            written = rebuild(store)
    return written


def configure_kinds(store: Store, kinds: Sequence[str]) -> None:
    """Set the text kinds that the next run indexes besides the discussion."""
    names = ",".join(sorted({"tool", "thinking"} & set(kinds)))
    if names != generations.configured_kinds(store.directory):
        path = os.path.join(store.directory, "kinds")
        fsio.publish(store.tmp_dir, path, f"{names}\n".encode())


def _has_configured_kinds(store: Store, found: Generation) -> bool:
    kinds = generations.configured_kinds(store.directory)
    return generations.indexed_kinds(found.path) == kinds


def _is_usable(store: Store, found: Generation) -> bool:
    """Return whether a generation needs no change to answer searches."""
    try:
        generations.open_reader(found.path)
        return (
            verification.is_last_commit_checked(found.path)
            and not verification.damaged_hints(found.path)
            and _has_configured_kinds(store, found)
        )
    except TextIndexError:
        return False


def _load_base(store: Store, found: Generation) -> Snapshot | None:
    """Return the snapshot of a generation, or None if a sync cannot start from it."""
    if found.level != "whole" or not _has_configured_kinds(store, found):
        return None
    try:
        verification.check(found.path)
        return store.load(ObjectId(bytes.fromhex(found.snapshot)), Snapshot)
    except StoreError:
        return None


class IndexSync:
    """Writes documents to one generation, then records the snapshot that it reflects."""

    def __init__(
        self,
        store: Store,
        path: str | None,
        writer: TextWriter,
        contents: Contents | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        self._store = store
        self._on_step = on_step
        self._path = path or ""
        self._contents = contents or {}
        kinds = generations.indexed_kinds(path) if path else None
        self._kinds = (generations.ALL_KINDS if kinds is None else kinds).split(",")
        self._written: recent_commits.CommitPlaces = []
        self._missing: list[ObjectId] = []
        self._commits: list[recent_commits.CommitPlaces] = []
        self.writer = writer

    def run(self, old: Snapshot) -> int:
        """Write what differs between `old` and HEAD, and return the number of documents."""
        head = self._store.head()
        snapshot = self._store.snapshot(head)
        done, total = 0, self._count_turns(old, snapshot)
        for before, after in changed_rows(self._store, old, snapshot):
            if after is not None:
                self._report(done, total)
                self._update(before, after)
                done += after.session.turns
            elif before is not None:
                self.writer.delete_session(before.session.id)
        added = self.writer.added
        if not self.writer.is_new:
            self._fold_commits()
        self._finish_at(head)
        return added

    def build_with_workers(self, workers: int) -> int:
        """Write every turn of HEAD to a new index, and return the number of documents."""
        from ccgrep.fulltext.document_pool import make_documents  # noqa: PLC0415 - slow to import

        head = self._store.head()
        total = self._count_turns(Snapshot(), self._store.snapshot(head))
        documents = make_documents(self._worker_tasks(head), workers)
        for done, (row, number, entry, fields) in enumerate(documents):
            self._report(done, total)
            if fields is None:
                self._put(row, number, entry)
            else:
                self.writer.put(fields)
        self._finish_at(head)
        return self.writer.added

    def _count_turns(self, old: Snapshot, new: Snapshot) -> int:
        """Return how many turns the changed sessions have, or 0 if nobody asks."""
        if self._on_step is None:
            return 0
        return sum(row.session.turns for _, row in changed_rows(self._store, old, new) if row)

    def _report(self, done: int, total: int) -> None:
        if self._on_step is not None:
            self._on_step("turns indexed", done, total)

    def _worker_tasks(self, head: ObjectId) -> Iterator["Task"]:
        from ccgrep.fulltext.document_pool import Task  # noqa: PLC0415 - slow to import

        for row in self._store.rows(self._store.snapshot(head)):
            task, size = Task(row, self._kinds, []), 0
            for number, entry in enumerate(self._store.manifest(row).entries):
                frame = self._store.find_frame(entry.turn)
                if frame is None:
                    self._put(row, number, entry)
                    continue
                task.turns.append((number, entry, frame))
                size += frame.raw_size
                if size > _TASK_BYTES:
                    yield task
                    task, size = Task(row, self._kinds, []), 0
            if task.turns:
                yield task

    def _finish_at(self, head: ObjectId) -> None:
        """Publish the index, unless another process has written to the store."""
        self.finish("whole", head)
        try:
            self._store.check_head(head)
            self._store.packs(refresh=bool(self._missing))
            if any(id in self._store for id in self._missing):
                raise LostRaceError  # Another process moved objects while they were read.
        except LostRaceError:
            fsio.remove_tree(self._path)  # Two processes wrote to it: its content is unknown.
            raise

    def _fold_commits(self) -> None:
        """Write the documents of the last small commits again, so that Tantivy merges nothing."""
        kept, last = recent_commits.fold(recent_commits.read(self._path), self._written)
        turns: dict[str, list[str]] = {}
        for place in sorted({*last} - {*self._written}):
            session, _, turn = place.rpartition(":")
            turns.setdefault(session, []).append(turn)
        for session, numbers in turns.items():
            row = self._store.row(session)
            entries = self._store.manifest(row).entries if row else ()
            for number in (int(number) for number in numbers if number.isdigit()):
                if row is not None and number < len(entries):
                    self._put(row, number, entries[number])
        self._commits = [*kept, last] if last else kept

    def fill(self) -> None:
        """Write every turn of HEAD."""
        for _, row in changed_rows(self._store, Snapshot(), self._store.snapshot()):
            if row is not None:
                self._update(None, row)
        self.writer.commit()

    def finish(self, level: Level, head: ObjectId) -> None:
        """Commit, then publish CHECKED and SYNCED.

        Tantivy does not sync the directory after its last rename. Without that, a power loss could
        leave SYNCED without the documents.
        """
        self.writer.commit()
        before = generations.current(self._store.directory)
        newest = self.writer.newest_start(before.newest if before is not None else 0)
        generation = Generation(self._path, head.hex(), level, newest)
        fsio.sync_dir(self._path)
        stamps = "".join(sorted(verification.file_stamps(self._path).values()))
        files = {
            "PIECES": recent_commits.encode(self._commits),
            "CHECKED": add_checksum(stamps.encode()),
            "SYNCED": generations.encode_synced(generation),
        }
        for name, data in files.items():
            path = os.path.join(self._path, name)
            fsio.publish(self._store.tmp_dir, path, data, is_hint=True)

    def _content(self, id: ObjectId) -> Content | None:
        """Return the content of a turn, or None if it is lost: `fsck` reports it."""
        if id in self._contents:
            return self._contents[id]
        try:
            return turn_content(self._store.load(id, Turn))
        except MissingObjectError:
            self._missing.append(id)
        except StoreError:
            pass
        return None

    def _put(self, row: Row, number: int, entry: Entry) -> None:
        content = self._content(entry.turn)
        if content is None:
            return
        content = restrict_kinds(content, self._kinds)
        fields = document_fields(row.session, number, entry, content, row.is_superseded)
        self.writer.put(fields)
        if not self.writer.is_new:
            self._written.append(format_place(row.session.id, number))

    def _update(self, before: Row | None, after: Row) -> None:
        """Write the places of a session that are new or differ."""
        entries = self._store.manifest(after).entries
        indexed = indexed_entries(self._store, before, after)
        is_retitled = before is not None and before.session.title != after.session.title
        for number, entry in enumerate(entries):
            is_same = number < len(indexed) and is_same_document(indexed[number], entry)
            if not is_same or (is_retitled and number == 0):
                self._put(after, number, entry)
        old_count = len(indexed) or (before.session.turns if before is not None else 0)
        for number in range(len(entries), old_count):
            self.writer.delete(format_place(after.session.id, number))


def build_temporary(store: Store) -> tuple[TextReader, int]:
    """Build an index for one search of a store that cannot be written.

    Return its reader and when its newest turn started. Without a temporary directory it is in
    memory.
    """
    try:
        with fsio.temporary_dir() as path:
            return _fill(store, path)
    except (FileNotFoundError, WriteError):
        return _fill(store, None)


def _fill(store: Store, path: str | None) -> tuple[TextReader, int]:
    writer = TextWriter(path, NEW)
    IndexSync(store, path, writer).fill()
    reader = writer.reader()
    return reader, reader.newest_start()
