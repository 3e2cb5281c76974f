"""Brings the text index to the current snapshot: only places that differ are written.

`changes` finds the difference, or a commit that is about to be published says it. A
generation that is damaged, or whose snapshot can no longer be read, is replaced by a new one
that is built from objects alone. Runs under the writer's lock; HEAD does not wait for it, since
the index says which snapshot it reflects.
"""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ccgrep.fulltext import generations, recent_commits
from ccgrep.fulltext.document import (
    Content,
    Document,
    fields_of,
    limited,
    turn_content,
    turn_document,
)
from ccgrep.fulltext.document_id import place_of
from ccgrep.fulltext.generations import Generation
from ccgrep.fulltext.snapshot_diff import changed_rows, indexed_entries, is_same_place
from ccgrep.fulltext.writer import CHANGE, NEW, NEW_LARGE, TextWriter
from ccgrep.hashing import load_openssl
from ccgrep.kinds import Level
from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.sources.reading import Reading
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum
from ccgrep.store.manifest import Row, Snapshot
from ccgrep.store.store import Store

if TYPE_CHECKING:
    from ccgrep.fulltext.reader import TextReader

_LARGE_BYTES = 16 * 1024 * 1024  # of packs

Prepared = Mapping[ObjectId, Content]
"""What readers have made ready of turns that were just read; the rest comes from objects."""


def sync(store: Store, prepared: Prepared | None = None) -> int:
    """Bring the full-text index to HEAD, and return the number of documents written."""
    head = store.head()
    found = generations.current(store.directory)
    if found is not None:
        _drop_others(store, found)
    if found is not None and (found.snapshot, found.level) == (head.hex(), "whole"):
        return 0 if _is_usable(store, found) else rebuild(store, prepared)
    old = _comparable(store, found)
    if found is None or old is None:
        return rebuild(store, prepared)
    try:
        return _Sync(store, found.path, TextWriter(found.path, CHANGE), prepared).run(old)
    except (CorruptError, TextIndexError):
        return rebuild(store, prepared)  # What it reflects is no longer there to compare with.


def rebuild(store: Store, prepared: Prepared | None = None) -> int:
    """Builds a new generation from the objects; the old ones go when it is finished."""
    load_openssl()  # Every object is read.
    path = _new_generation(store)
    size = sum(pack.size for pack in store.packs())
    budget = NEW_LARGE if size > _LARGE_BYTES else NEW
    old = [other for other in generations.all_paths(store.directory) if other != path]
    with _given_up_if_refused(path), _no_gc():
        written = _Sync(store, path, TextWriter(path, budget), prepared, True).run(Snapshot())
    for gone in old:
        fsio.remove_tree(gone)
    return written


@contextmanager
def _given_up_if_refused(path: str) -> Iterator[None]:
    """Half a generation takes up space that there may be none of."""
    try:
        yield
    except WriteError:
        with suppress(WriteError, FileNotFoundError):
            fsio.remove_tree(path)
        raise


def _drop_others(store: Store, found: Generation) -> None:
    """Removes generations that a kill left, unfinished or replaced."""
    for path in generations.generation_paths(store.directory):
        if path != found.path:
            fsio.remove_tree(path)


@contextmanager
def _no_gc() -> Iterator[None]:
    """Without the search for cycles, of which turns have none: it took a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _new_generation(store: Store) -> str:
    """The directory of the next generation; what a killed run left there is thrown away."""
    found = generations.current(store.directory)
    for path in generations.generation_paths(store.directory):
        if found is None or path > found.path:
            fsio.remove_tree(path)
    last = int(found.path.rpartition("-")[2]) if found else 0
    name = f"{generations.VERSION}-{last + 1:06d}"
    path = os.path.join(generations.text_dir(store.directory), name)
    with _given_up_if_refused(path):
        if not fsio.make_dir(path):
            raise LostRaceError  # Somebody else is writing it, whom no lock kept out.
        kinds = f"{generations.wanted_kinds(store.directory)}\n"
        fsio.publish(store.tmp_dir, os.path.join(path, "KINDS"), kinds.encode(), is_hint=True)
    return path


def purge(store: Store) -> int:
    """Rebuilds an index that holds words of what was replaced or removed, or is in pieces.

    So that the same snapshot gives the same scores, to the last digit, however it came about.
    """
    written = sync(store)
    found = generations.current(store.directory)
    names = list(generations.file_stamps(found.path)) if found else []
    is_in_pieces = found is not None and bool(recent_commits.read(found.path))
    if is_in_pieces or any(name.endswith(".del") for name in names):
        written = rebuild(store)
    return written


def choose_kinds(store: Store, kinds: Sequence[str]) -> None:
    """Says which kinds of text are to be indexed besides what was said, from the next run on."""
    wanted = ",".join(sorted({"tool", "thinking"} & set(kinds)))
    if wanted != generations.wanted_kinds(store.directory):
        path = os.path.join(store.directory, "kinds")
        fsio.publish(store.tmp_dir, path, f"{wanted}\n".encode())


def _has_wanted_kinds(store: Store, found: Generation | None) -> bool:
    wanted = generations.wanted_kinds(store.directory)
    return found is not None and generations.made_kinds(found.path) == wanted


def _is_usable(store: Store, found: Generation) -> bool:
    """Whether a search can be answered by a generation as it is."""
    try:
        generations.open_reader(found.path)
        is_right = generations.is_as_left(found.path) and not generations.hints_damaged(found.path)
        return is_right and _has_wanted_kinds(store, found)
    except TextIndexError:
        return False


def _comparable(store: Store, found: Generation | None) -> Snapshot | None:
    """The snapshot that a generation reflects, if it can be brought from there to HEAD."""
    try:
        if found is None or not _is_comparable(store, found):
            return None
        return store.load(ObjectId(bytes.fromhex(found.snapshot)), Snapshot)
    except StoreError:
        return None


def _is_comparable(store: Store, found: Generation) -> bool:
    """Raises StoreError if a generation is damaged."""
    if found.level != "whole" or not _has_wanted_kinds(store, found):
        return False
    generations.check(found.path)
    return True


class _Sync:
    """Writes to one generation, and at the end says which snapshot it reflects."""

    def __init__(
        self,
        store: Store,
        path: str | None,
        writer: TextWriter,
        prepared: Prepared | None = None,
        is_new: bool = False,
    ) -> None:
        self._store = store
        self._path = path or ""
        self._prepared = prepared or {}
        self._is_new = is_new
        kinds = generations.made_kinds(path) if path else None
        self._kinds = (generations.ALL_KINDS if kinds is None else kinds).split(",")
        self._written: recent_commits.Piece = []
        self._missing: list[ObjectId] = []
        self._pieces: list[recent_commits.Piece] = []
        self._added = 0
        self.writer = writer

    def run(self, old: Snapshot) -> int:
        """Writes what differs between `old` and HEAD."""
        head = self._store.head()
        for before, after in changed_rows(self._store, old, self._store.snapshot(head)):
            if after is not None:
                self._update(before, after)
            elif before is not None:
                self.writer.delete_session(before.session.id)
        self._write_again()
        return self._end(head)

    def _end(self, head: ObjectId) -> int:
        """Publish what was written, which is all that differs from `head`; return the count."""
        self.finish("whole", head)
        try:
            self._store.check_head(head)
            self._must_be_lost()
        except LostRaceError:
            fsio.remove_tree(self._path)  # Two have written to it: neither knows what it holds.
            raise
        return self._added

    def _must_be_lost(self) -> None:
        """What could not be read was not just in another's hands: it will never be indexed."""
        self._store.packs(refresh=bool(self._missing))
        if any(id in self._store for id in self._missing):
            raise LostRaceError

    def _write_again(self) -> None:
        """Adds the last small pieces to this one, so that tantivy has none to merge."""
        self._added = self.writer.added
        if self._is_new:
            return
        kept, last = recent_commits.folded(recent_commits.read(self._path), self._written)
        places: dict[str, list[str]] = {}
        for place in sorted({*last} - {*self._written}):
            session, _, turn = place.rpartition(":")
            places.setdefault(session, []).append(turn)
        for session, turns in places.items():
            row = self._store.row(session)
            entries = self._store.manifest(row).entries if row else ()
            for number in (int(turn) for turn in turns if turn.isdigit()):
                if row is not None and number < len(entries):
                    self._put(row, number, entries[number])
        self._pieces = [*kept, last] if last else kept

    def fill(self) -> None:
        """Writes every turn of HEAD."""
        for _, row in changed_rows(self._store, Snapshot(), self._store.snapshot()):
            if row is not None:
                self._update(None, row)
        self.writer.commit()

    def finish(self, level: Level, head: ObjectId) -> None:
        """Commits, and notes what there is then: CHECKED first, since what was synced is right.

        Tantivy does not sync the directory after its last rename. Without that, a power loss could
        leave the note of a commit whose documents are not there.
        """
        self.writer.commit()
        generation = Generation(self._path, head.hex(), level, self._newest())
        fsio.sync_dir(self._path)
        stamps = "".join(sorted(generations.file_stamps(self._path).values()))
        notes = {
            "PIECES": recent_commits.described(self._pieces),
            "CHECKED": add_checksum(stamps.encode()),
            "SYNCED": generations.synced_text(generation).encode(),
        }
        for name, data in notes.items():
            path = os.path.join(self._path, name)
            fsio.publish(self._store.tmp_dir, path, data, is_hint=True)

    def _newest(self) -> int:
        """When the newest turn began."""
        before = generations.current(self._store.directory)
        is_known = before is not None and before.path == self._path
        return self.writer.newest(before.newest if before and is_known else None)

    def document(self, row: Row, number: int, entry: Entry, prepared: Prepared) -> Document | None:
        """The document of a turn, from what is made ready or stored."""
        content = prepared.get(entry.turn)
        if content is None:
            try:
                content = turn_content(self._store.load(entry.turn, Turn))
            except MissingObjectError:
                self._missing.append(entry.turn)
                return None
            except StoreError:
                return None  # fsck names it; a lost turn has no text to be found by.
        content = limited(content, self._kinds)
        return turn_document(row.session, number, entry, content, row.is_superseded)

    def _put(self, row: Row, number: int, entry: Entry) -> None:
        if document := self.document(row, number, entry, self._prepared):
            self.writer.put(fields_of(document))
            if not self._is_new:
                self._written.append(place_of(row.session.id, number))

    def _update(self, before: Row | None, after: Row) -> None:
        """Writes the places of a session that are new or differ."""
        entries = self._store.manifest(after).entries
        known = indexed_entries(self._store, before, after)
        is_retitled = before is not None and before.session.title != after.session.title
        for number, entry in enumerate(entries):
            is_same = number < len(known) and is_same_place(known[number], entry)
            if is_same and not (is_retitled and number == 0):
                continue
            self._put(after, number, entry)
        was = len(known) or (before.session.turns if before is not None else 0)
        for number in range(len(entries), was):
            self.writer.delete(place_of(after.session.id, number))


def temporary(store: Store) -> tuple["TextReader", int]:
    """An index for one search, for a store that cannot be written; and its newest turn.

    Where not even a temporary directory can be made, it is in memory.
    """
    try:
        with fsio.temporary_dir() as path:
            return _filled(store, path)
    except (FileNotFoundError, WriteError):
        return _filled(store, None)


def _filled(store: Store, path: str | None) -> tuple["TextReader", int]:
    writer = TextWriter(path, NEW)
    _Sync(store, path, writer, is_new=True).fill()
    reader = writer.reader()
    return reader, reader.newest()


class FirstText:
    """What was said, searchable while a large first run is still reading.

    A generation of its own; a whole one takes its place. Only what was said is indexed twice,
    which is little.
    """

    def __init__(self, store: Store, paths: set[str]) -> None:
        """Of the files `paths`."""
        path = _new_generation(store)
        self._store = store
        self._sync = _Sync(store, path, TextWriter(path, NEW), is_new=True)
        self._turns: dict[str, int] = {}
        self._left = paths
        self._contents: dict[str, dict[ObjectId, Content]] = {}

    def prepare(self, path: str, contents: Iterable[tuple[ObjectId, Content]]) -> None:
        """Keeps what a file gave so far."""
        if path in self._left:
            self._contents.setdefault(path, {}).update(contents)

    def take(self, path: str, reading: Reading | None) -> bool:
        """Adds what was said in a file that was read; says whether it was the last."""
        if path not in self._left:
            return False
        self._left.remove(path)
        contents = self._contents.pop(path, {})
        for part in reading.sessions if reading is not None else ():
            self._put(part.session, part.entries, contents)
        return not self._left

    def _put(self, session: Session, entries: Sequence[Entry], contents: Prepared) -> None:
        """Adds a session; of several files with one, the longest counts."""
        known = self._turns.get(session.id)
        if known is not None and known >= len(entries):
            return
        if known is not None:
            self._sync.writer.delete_session(session.id)
        self._turns[session.id] = len(entries)
        for number, entry in enumerate(entries):
            document = turn_document(session, number, entry, contents[entry.turn])
            self._sync.writer.put(fields_of(document))

    def finish(self) -> None:
        """Makes it searchable."""
        self._sync.finish("discussion", self._store.head())
