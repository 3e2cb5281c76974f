"""One indexing run: look at the roots, read what changed, commit as it goes.

Everything is written under the writer's lock. A kill at any point leaves the snapshot of
the last commit; the objects that had been written by then are found again next time.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.fulltext import expand
from ccgrep.fulltext.document import Content
from ccgrep.fulltext.sync import FirstText, begin_sync, choose_kinds, end_sync, purge, sync
from ccgrep.fulltext.writer import Writer
from ccgrep.ingest.batch import Batch, is_much, read_files
from ccgrep.ingest.exclude import excluded_paths, session_ids
from ccgrep.ingest.file_reader import FileResult, Task
from ccgrep.ingest.merge import Merge
from ccgrep.ingest.plan import Plan, may_have_changed, plan
from ccgrep.model import ObjectId
from ccgrep.refresh.look import is_same, last_seen, where_lines
from ccgrep.refresh.seen_file import described_anew, description
from ccgrep.sources.identity import claude_file, codex_file, is_of_agent
from ccgrep.sources.reading import Before, Reading
from ccgrep.sources.scan import FoundFile, Root, Scan
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row, SourceFile, forgotten_key
from ccgrep.store.store import Store

COMMIT_EVERY_S = 10.0
_GARBAGE_SHARE = 0.25
_GARBAGE_ALWAYS_BYTES = 16 * 1024 * 1024
_MANY_PACKS = 8  # So many are read as quickly as one, and to fold them takes a while.


class IndexReport(Struct):
    """What an indexing run did."""

    files_seen: int = 0
    files_parsed: int = 0
    bytes_parsed: int = 0
    turns: int = 0
    new_objects: int = 0
    new_sessions: int = 0
    documents: int = 0
    behind_files: int = 0
    behind_bytes: int = 0
    bad_lines: int = 0
    unknown_types: dict[str, int] = {}
    seconds: float = 0.0
    troubles: list[str] = []


class Progress(Struct, frozen=True):
    path: str
    files_done: int
    files: int
    bytes_done: int
    bytes: int


class Options(Struct, frozen=True):
    wait_s: float = 10.0
    is_full: bool = False
    cores: int = os.cpu_count() or 1
    commit_every_s: float = COMMIT_EVERY_S
    roots: tuple[Root, ...] = ()
    exclude: tuple[str, ...] = ()
    budget_s: float | None = None  # reading ends then; the rest is for another run
    kinds: tuple[str, ...] | None = None  # to be indexed besides what was said; as before if `None`

    @property
    def where(self) -> bytes:
        return where_lines([root.path for root in self.roots], self.exclude)


def build(
    store: Store,
    scan: Callable[[], Scan],
    options: Options,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> IndexReport:
    """Brings the store up to date with what `scan` finds."""
    started = time.monotonic()
    with store.lock(options.wait_s):
        store.clean_tmp()
        store.rebuild_pack_indexes()
        if options.kinds is not None:
            choose_kinds(store, options.kinds)
        if store.snapshot().must_collect:
            purge(store)
            _collect_garbage(store)
        files = None if options.is_full else _files_at_rest(store, options)
        if files is not None:
            report = IndexReport(files_seen=files, documents=sync(store))
        else:
            report = _Run(Commit(store), scan(), options, on_progress).run()
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _files_at_rest(store: Store, options: Options) -> int | None:
    """How many source files there are, if all of them are as the last run saw them."""
    seen = last_seen(store.directory)
    if seen is None or seen.where != options.where or not is_same(seen):
        return None
    hints = store.snapshot().hints
    return len(seen.files.paths) + len(hints) if all(map(_is_at_rest, hints)) else None


def _is_at_rest(before: SourceFile) -> bool:
    """Whether a file is as it was when it was read, and surely so."""
    try:
        info = os.lstat(before.path)
    except OSError:
        return False
    found = (info.st_size, info.st_mtime_ns, info.st_ino)
    is_as_read = found == (before.size, before.mtime_ns, before.inode)
    return is_as_read and not may_have_changed(before, time.time_ns())


def _collect_garbage(store: Store) -> None:
    from ccgrep.store.gc import collect_garbage  # noqa: PLC0415 - seldom, and a search may wait

    collect_garbage(store)


class Asker:
    """Who waits for what an append takes in."""

    def writer(self) -> Writer | None:
        """Who writes to the text index, if not the append itself; asked for when it is locked."""
        return None

    def ready(self) -> None:
        """All can be searched; the store is put in order after that."""


def append(store: Store, found: Scan, options: Options, asker: Asker) -> bool:
    """Takes in transcripts that only grew, without looking at any other.

    Says whether it did; anything less plain, such as copies of the session, is left to `build`.
    """
    with store.lock(options.wait_s):
        store.clean_tmp()
        commit = Commit(store)
        if commit.snapshot.must_collect:
            return False
        rows = [commit.row(_session_id(file)) for file in found.files.values()]
        plain = [row for row in rows if row is not None and _is_plain(commit, row)]
        if len(plain) < len(rows) or {row.files[0].path for row in plain} != {*found.files}:
            return False
        return _Run(commit, found, options, lambda _: None, plain).append(asker)


def _session_id(found: FoundFile) -> str:
    return (claude_file if found.source == "claude_code" else codex_file)(found.path).id


def _is_plain(commit: Commit, row: Row) -> bool:
    """Whether a session has one file, and no other session its name."""
    is_alone = len(row.files) == 1 and not (row.is_superseded or row.session.is_prompt_only)
    return is_alone and not row.is_gone and commit.row(f"{row.session.id}~2") is None


def known_files(rows: Sequence[Row], hints: Sequence[SourceFile]) -> dict[str, SourceFile]:
    files = {file.path: file for row in rows for file in row.files}
    return files | {file.path: file for file in hints}


def remembered(scan: Scan, forgotten: set[bytes]) -> Scan:
    """`scan` without the files and folders of sessions that are to be forgotten."""
    if not forgotten:
        return scan
    files = {path: f for path, f in scan.files.items() if not _names_of(f) & forgotten}
    folders = {
        path: time
        for path, time in scan.folders.items()
        if not any(forgotten_key(name) in forgotten for name in path.split(os.sep))
    }
    return scan._replace(files=files, folders=folders)


def without(scan: Scan, rows: Sequence[Row], excluded: set[str]) -> Scan:
    """`scan` without what is excluded; what was taken in before is not gone."""
    unknown = excluded.difference(*({file.path for file in row.files} for row in rows))
    return scan._replace(files={p: f for p, f in scan.files.items() if p not in unknown})


def _names_of(found: FoundFile) -> set[bytes]:
    """The names under which a file may have been forgotten."""
    names = {found.path}
    if found.kind == "session":
        file = (claude_file if found.source == "claude_code" else codex_file)(found.path)
        names |= {file.id, file.parent or found.path}
    return set(map(forgotten_key, names))


def _is_restless(result: FileResult) -> bool:
    """Whether a file will have to be suspected next time too; else that is worth a note."""
    return result.file is None or may_have_changed(result.file, result.file.read_ns)


class _Run:
    def __init__(
        self,
        commit: Commit,
        scan: Scan,
        options: Options,
        on_progress: Callable[[Progress], None],
        rows: list[Row] | None = None,
    ) -> None:
        self._store = commit.store
        self._options = options
        self._on_progress = on_progress
        self._commit = commit
        self._rows = list(self._store.rows(commit.snapshot)) if rows is None else rows
        found = remembered(scan, set(commit.snapshot.forgotten))
        self._excluded = excluded_paths(found, self._rows, options.exclude)
        self._excluded_ids = session_ids(self._excluded, found)
        self._scan = without(found, self._rows, self._excluded)
        self._merge = Merge(self._commit, self._rows, self._scan.files.keys())
        self._scanned_ns = time.time_ns()
        self._report = IndexReport(files_seen=len(self._scan.files), troubles=scan.troubles)
        self._before = self._commit.snapshot
        self._prepared: dict[ObjectId, Content] = {}
        self._first: FirstText | None = None
        self._is_much = False

    def run(self) -> IndexReport:
        now_ns = time.time_ns()
        known = known_files(self._rows, self._commit.snapshot.hints)
        todo = plan(known, self._scan, now_ns, self._options.is_full)
        with self._commit:
            self._mark(todo)
            self._read_sessions(todo)
            hints = [f for f in self._scan.files.values() if f.kind != "session"]
            changed = {f.path for f in hints} & {*todo.new, *todo.changed}
            from ccgrep.ingest.recover import LeftOut, recover  # noqa: PLC0415 - not needed for an append

            left_out = LeftOut(self._excluded_ids, self._options.exclude)
            found = recover(self._commit, self._merge, hints, changed, now_ns, left_out)
            self._report.bytes_parsed += found.bytes_parsed
            self._report.new_sessions += found.new_sessions + self._merge.new_sessions
            self._report.new_objects += found.new_objects
            self._publish(hints=found.hints)
        is_forgotten_seen = self._merge.is_forgotten_seen
        self._index_text()
        if self._commit.snapshot != self._before or is_forgotten_seen:
            self._tidy(is_forgotten_seen)
        self._remember()
        return self._report

    def append(self, asker: Asker) -> bool:
        """The same for files that are known to belong to one session each."""
        known = known_files(self._rows, ())
        todo = plan(known, self._scan, time.time_ns())
        writer = asker.writer() if todo.changed else None  # Suspects are mostly as they were.
        ids = {row.session.id for row in self._rows}
        with self._commit:
            self._read_sessions(todo)
            is_plain = {row.session.id for row in self._commit.touched_rows()} <= ids
            if not is_plain or self._merge.is_forgotten_seen or self._report.troubles:
                return False
            text = writer and begin_sync(self._commit, self._rows, self._prepared, writer)
            self._publish()
        if text:
            end_sync(self._store, text, self._remember_anew)
            asker.ready()
        else:
            self._index_text(writer)
            asker.ready()
            self._remember_anew()
        if self._commit.snapshot != self._before and len(self._store.packs()) > _MANY_PACKS:
            self._tidy(is_forgotten_seen=False)
            self._remember_anew()  # Garbage that is collected makes a new HEAD.
        return True

    def _remember_anew(self) -> None:
        """Says that the files that grew are taken in."""
        directory, head = self._store.directory, self._store.head().hex()
        seen = described_anew(directory, head, self._scan, self._scanned_ns)
        if seen is not None:
            self._store.write_seen(seen)

    def _remember(self) -> None:
        """Says that nothing is left to do, if so: the next search need not look again."""
        if self._report.troubles or self._report.behind_files:
            return
        head = self._store.head().hex()
        text = description(head, self._options.where, self._scan, self._scanned_ns)
        if text is not None:
            self._store.write_seen(text)

    def _index_text(self, writer: Writer | None = None) -> None:
        """Brings the text index to what was committed."""
        if self._is_much:
            self._let_go()
        self._report.documents = sync(self._store, self._prepared, writer)

    def _let_go(self) -> None:
        """Makes room for the text index of many sessions: all of them are committed.

        A few small things that are left here and there would keep most of it from being free.
        """
        from ccgrep.refresh.mapped import give_back  # noqa: PLC0415 - only after a large first run

        self._rows = []
        self._prepared = {}
        self._merge = Merge(self._commit, (), ())
        self._commit.drop_caches()
        expand.let_go()
        gc.collect()
        give_back()

    def _mark(self, todo: Plan) -> None:
        self._merge.mark_back(self._rows)
        for path in todo.gone:
            self._merge.mark_gone(path)

    def _read_sessions(self, todo: Plan) -> None:
        tasks = list(self._tasks(todo))
        tasks.sort(key=lambda task: task.found.mtime_ns, reverse=True)
        sizes = {task.found.path: task.found.size for task in tasks}
        total, done, files_done = sum(sizes.values()), 0, 0
        committed = time.monotonic()
        suspects = set(todo.suspect)
        known = {task.found.path for task in tasks if task.known is not None}
        self._is_much = is_much(tasks)
        tasks = self._leveled(tasks)
        new: list[FileResult] = []
        deadline = committed + (self._options.budget_s or float("inf"))
        for reply in read_files(tasks, self._options.cores):
            if isinstance(reply, Batch):
                self._report.new_objects += sum(map(self._commit.add, reply.frames))
                self._prepare(reply)
                continue
            # A new file may be a copy of a known one, so it is compared with what that is now.
            known.discard(reply.path)
            new.append(reply)
            while new and (not known or self._merge.files.get(new[-1].path)):
                self._take(new.pop(), suspects)
            self._take_said(reply)
            files_done += 1
            done += sizes[reply.path]
            self._on_progress(Progress(reply.path, files_done, len(tasks), done, total))
            if time.monotonic() > deadline:
                break
            if time.monotonic() - committed > self._options.commit_every_s:
                self._publish()
                committed = time.monotonic()
        self._report.behind_files = len(tasks) - files_done
        self._report.behind_bytes = total - done

    def _take(self, result: FileResult, suspects: set[str]) -> None:
        if result.outcome == "failed":
            self._report.troubles.append(f"{result.path}: {result.reason}")
            return
        if result.outcome == "unchanged" and result.path in suspects and _is_restless(result):
            return
        if result.reading is not None:
            self._count(result.reading, self._merge.owners(result.path))
        self._merge.take(result)

    def _leveled(self, tasks: list[Task]) -> list[Task]:
        """Tasks with what each is to make ready for the text index: of little, everything. Of much,
        on a first run, what was said in people's sessions, which come first, to be searchable soon;
        what agents said to each other follows with what tools did."""
        if not self._is_much:
            return [replace(task, level="whole") for task in tasks]
        if self._before.shards:
            return tasks
        said = [task for task in tasks if not is_of_agent(task.found.path)]
        rest = [task for task in tasks if is_of_agent(task.found.path)]
        self._first = FirstText(self._store, {task.found.path for task in said}) if said else None
        return [*(replace(task, level="discussion") for task in said), *rest]

    def _prepare(self, batch: Batch) -> None:
        if self._first is None:
            self._prepared.update(batch.contents)
        else:
            self._first.prepare(batch.path, batch.contents)

    def _take_said(self, result: FileResult) -> None:
        """Makes what was said searchable, when it has all been read; what is found can be shown."""
        if self._first is not None and self._first.take(result.path, result.reading):
            self._publish()
            self._first.finish()
            self._first = None

    def _count(self, reading: Reading, before: Sequence[Row]) -> None:
        """Adds what was found behind `reading.start`: the rest was counted earlier."""
        report = self._report
        report.files_parsed += 1
        report.bytes_parsed += reading.bytes_read
        known = {row.session.id: row.session.unknown_types for row in before}
        for part in reading.sessions:
            report.turns += sum(entry.start >= reading.start for entry in part.entries)
            report.bad_lines += sum(spot.offset >= reading.start for spot in part.bad)
            counted = known.get(part.session.id, {}) if reading.start else {}
            for name, number in part.session.unknown_types.items():
                fresh = max(number - counted.get(name, 0), 0)
                if fresh:
                    report.unknown_types[name] = report.unknown_types.get(name, 0) + fresh

    def _tasks(self, todo: Plan) -> Iterator[Task]:
        for path in todo.to_read:
            found = self._scan.files[path]
            if found.kind == "session" and path not in self._excluded:
                yield self._task(found)

    def _task(self, found: FoundFile) -> Task:
        known = self._merge.files.get(found.path)
        owners = self._merge.owners(found.path)
        own = [row for row in owners if row.files[0].path == found.path]
        before = None
        if known is not None and len(own) == 1 and known.resume:
            manifest = self._commit.manifest(own[0])
            closed = tuple(entry for entry in manifest.entries if entry.start < known.resume)
            bad = tuple(spot for spot in manifest.bad if spot.offset < known.resume)
            before = Before(closed, bad, manifest.state)
        return Task(found, known, before, self._options.is_full)

    def _publish(self, **changes: object) -> None:
        self._commit.commit(
            time.time_ns() // 1_000_000,
            garbage_bytes=self._before.garbage_bytes + self._merge.garbage_bytes,
            forgotten=tuple(sorted(self._merge.forgotten)),
            **changes,
        )

    def _tidy(self, is_forgotten_seen: bool) -> None:
        """Folds small packs, and collects garbage when there is much of it."""
        garbage = self._commit.snapshot.garbage_bytes
        packed = sum(pack.size for pack in self._store.packs())
        is_much = garbage > max(_GARBAGE_ALWAYS_BYTES, _GARBAGE_SHARE * packed)
        if is_much or is_forgotten_seen:
            _collect_garbage(self._store)
        elif len(self._store.packs()) > _MANY_PACKS:
            self._store.fold()
