"""One ingest: plan, read what changed, merge it into the sessions, commit every ten seconds.

Runs under the writer lock. A kill at any point leaves the snapshot of the last commit; objects
written after it are found again by the next ingest.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ccgrep.fulltext import expand
from ccgrep.fulltext.discussion_index import DiscussionIndex
from ccgrep.fulltext.document import Content
from ccgrep.ingest.batch import Batch, is_large, read_files
from ccgrep.ingest.exclude import drop_excluded, drop_forgotten, excluded_paths, known_files
from ccgrep.ingest.file_reader import FileResult, Task
from ccgrep.ingest.merge import Merge
from ccgrep.ingest.plan import Plan, may_have_changed, plan
from ccgrep.ingest.report import IndexReport, Options, Progress
from ccgrep.ingest.retitle import retitle
from ccgrep.model import ObjectId
from ccgrep.sources.identity import is_agent_transcript
from ccgrep.sources.readers import identify
from ccgrep.sources.reading import Checkpoint, Reading
from ccgrep.sources.scan import TITLE_KINDS, FoundFile, Scan
from ccgrep.store import refs
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Row, SideFiles, SourceFile


def find_grown_rows(commit: Commit, found: Scan) -> list[Row] | None:
    """Return the session of each file, or None if a file may do more than extend its session."""
    rows = []
    for file in found.files.values():
        if file.kind in TITLE_KINDS:
            continue
        if file.kind == "document":
            return None
        row = commit.row(identify(file.source, file.path).id)
        if row is None or [known.path for known in row.files] != [file.path]:
            return None
        is_special = row.is_gone or row.is_superseded or not row.session.has_transcript
        if is_special or commit.row(f"{row.session.id}~2") is not None:
            return None
        rows.append(row)
    return rows


class IngestRun:
    """Ingests the files of one scan into one commit."""

    def __init__(
        self,
        commit: Commit,
        scan: Scan,
        options: Options,
        on_progress: Callable[[Progress], None] = lambda _: None,
        rows: list[Row] | None = None,
    ) -> None:
        """Prepare the run; `rows` are the sessions concerned, by default all of the store."""
        self._store = commit.store
        self._options = options
        self._on_progress = on_progress
        self._commit = commit
        self._rows = list(self._store.rows(commit.snapshot)) if rows is None else rows
        found = drop_forgotten(scan, set(commit.snapshot.forgotten))
        self._excluded = excluded_paths(found, self._rows, options.exclude)
        self._excluded_ids = {identify(found.files[p].source, p).id for p in self._excluded}
        self.scan = drop_excluded(found, self._rows, self._excluded)
        self.scanned_ns = time.time_ns()
        self.is_forgotten_found = False
        self.projects: set[str] = set()  # of the sessions that were read
        self._merge = Merge(self._commit, self._rows, self.scan.files.keys())
        self.report = IndexReport(files_seen=len(self.scan.files), troubles=scan.errors)
        self._before = self._commit.snapshot
        self._contents: dict[ObjectId, Content] = {}
        self._discussion: DiscussionIndex | None = None
        self._is_large = False
        self._earlier: dict[str, tuple[FoundFile, ...]] = {}

    @property
    def _is_upgrade(self) -> bool:
        """Whether to store the bytes of files that were read before bytes were stored.

        A search does not take the time for that, `ccgrep index` does.
        """
        options = self._options
        is_missing = not self._before.is_archived
        return options.is_archived and options.budget_s is None and is_missing

    @property
    def is_store_changed(self) -> bool:
        return self._commit.snapshot != self._before

    def ingest(self) -> IndexReport:
        """Bring the store to what the scan found, and commit."""
        now_ns = time.time_ns()
        known = known_files(self._rows, self._commit.snapshot.hints)
        todo = plan(known, self.scan, now_ns, self._options.is_full, self._is_upgrade)
        with self._commit:
            self._merge.mark_restored(self._rows)
            for path in todo.gone:
                self._merge.mark_gone(path)
            self._read_sessions(todo)
            self._ingest_side_files(todo, now_ns)
        self.is_forgotten_found = self._merge.is_forgotten_seen
        return self.report

    def ingest_grown(self) -> bool:
        """Ingest files that extend one session each; return False if one turns out to do more."""
        todo = plan(known_files(self._rows, ()), self.scan, time.time_ns())
        ids = {row.session.id for row in self._rows}
        with self._commit:
            self._read_sessions(todo)
            touched = {row.session.id for row in self._commit.touched_rows()}
            if touched - ids or self._merge.is_forgotten_seen or self.report.troubles:
                return False
            retitle(self._commit, self.scan.files.values())
            self._publish()
        return True

    def release_contents(self) -> dict[ObjectId, Content]:
        """Return what was prepared for the full-text index, and free the rest after a large run.

        The full-text index of a large run needs the memory: it is built from objects instead.
        """
        if not self._is_large:
            return self._contents
        self._rows = []
        self._contents = {}
        self._merge = Merge(self._commit, (), ())
        self._commit.drop_caches()
        expand.clear_caches()
        gc.collect()
        return {}

    def _ingest_side_files(self, todo: Plan, now_ns: int) -> None:
        from ccgrep.ingest.recover import Exclusions  # noqa: PLC0415 - only for a whole scan
        from ccgrep.ingest.side_files import ingest_side_files  # noqa: PLC0415

        exclusions = Exclusions(self._excluded_ids, self._options.exclude)
        self.report.new_sessions += self._merge.new_sessions
        hints = ingest_side_files(
            self._merge,
            self.scan,
            todo,
            now_ns,
            exclusions,
            self.report,
            is_archived=self._options.is_archived,
        )
        is_archived = self._options.is_archived and (self._is_upgrade or self._before.is_archived)
        self._publish(hints=hints, is_archived=is_archived)

    def _read_sessions(self, todo: Plan) -> None:
        if self._options.is_archived and not self._before.is_archived:
            refs.require_features(self._store.directory)
        tasks = sorted(self._tasks(todo), key=lambda task: task.found.mtime_ns, reverse=True)
        sizes = {task.found.path: task.found.size for task in tasks}
        total, done, files_done = sum(sizes.values()), 0, 0
        committed = time.monotonic()
        suspects = set(todo.suspect)
        known = {task.found.path for task in tasks if task.known is not None}
        self._is_large = is_large(tasks)
        new: list[FileResult] = []
        # CPU time, so that a busy machine does not leave out transcripts.
        deadline = time.process_time() + (self._options.budget_s or float("inf"))
        for reply in read_files(self._order_tasks(tasks), self._options.workers):
            if isinstance(reply, Batch):
                self.report.new_objects += self._add_frames(reply)
                self._keep_contents(reply)
                continue
            # A new file may be a copy of a known one, so known files are merged first.
            known.discard(reply.path)
            new.append(reply)
            while new and (not known or self._merge.files.get(new[-1].path)):
                self._merge_result(new.pop(), suspects)
            self._index_discussion(reply)
            files_done += 1
            done += sizes[reply.path]
            self._on_progress(Progress(reply.path, files_done, len(tasks), done, total))
            deadline -= reply.worker_s
            if time.process_time() > deadline:
                break
            if time.monotonic() - committed > self._options.commit_every_s:
                self._publish()
                committed = time.monotonic()
        self.report.behind_files = len(tasks) - files_done
        self.report.behind_bytes = total - done

    def _merge_result(self, result: FileResult, suspects: set[str]) -> None:
        if result.outcome == "failed":
            self.report.troubles.append(f"{result.path}: {result.reason}")
            return
        if result.outcome == "unchanged" and result.path in suspects and _is_still_racy(result):
            return
        if result.reading is not None:
            self._count(result.reading, self._merge.owners(result.path))
        self._merge.merge(result)

    def _order_tasks(self, tasks: list[Task]) -> list[Task]:
        """Return the tasks in reading order, each with what to prepare for the full-text index.

        A small run prepares everything. A large first run reads people's sessions first and
        prepares their discussion, so that it can be searched soon; sub-agents follow.
        """
        if not self._is_large:
            return [replace(task, level="whole") for task in tasks]
        if self._before.shards:
            return tasks
        people = [task for task in tasks if not is_agent_transcript(task.found.path)]
        agents = [task for task in tasks if is_agent_transcript(task.found.path)]
        if people:
            self._discussion = DiscussionIndex(self._store, {task.found.path for task in people})
        return [*(replace(task, level="discussion") for task in people), *agents]

    def _add_frames(self, batch: Batch) -> int:
        """Store objects, and return how many turns were new."""
        return sum(self._commit.add(frame) and frame.kind == "turn" for frame in batch.frames)

    def _keep_contents(self, batch: Batch) -> None:
        if self._discussion is None:
            self._contents.update(batch.contents)
        else:
            self._discussion.add_contents(batch.path, batch.contents)

    def _index_discussion(self, result: FileResult) -> None:
        """Make the discussion searchable once all of it has been read."""
        if self._discussion is not None and self._discussion.add_file(result.path, result.reading):
            self._publish()
            self._discussion.finish()
            self._discussion = None

    def _count(self, reading: Reading, before: Sequence[Row]) -> None:
        """Add what was found after `reading.start`; the rest was counted by an earlier ingest."""
        report = self.report
        report.files_parsed += 1
        report.bytes_parsed += reading.bytes_read
        known = {row.session.id: row.session.unknown_types for row in before}
        for part in reading.sessions:
            if part.is_inherited:
                continue  # a copy, which the merge may drop
            self.projects.add(part.session.project)
            report.turns += sum(entry.start >= reading.start for entry in part.entries)
            report.bad_lines += sum(spot.offset >= reading.start for spot in part.bad)
            counted = known.get(part.session.id, {}) if reading.start else {}
            for name, number in part.session.unknown_types.items():
                new = max(number - counted.get(name, 0), 0)
                if new:
                    report.unknown_types[name] = report.unknown_types.get(name, 0) + new

    def _tasks(self, todo: Plan) -> Iterator[Task]:
        touched = (*todo.new, *todo.changed, *todo.suspect)
        self._earlier = _find_earlier_files(self.scan, touched)
        newest = {earlier.path: path for path, files in self._earlier.items() for earlier in files}
        for path in dict.fromkeys(newest.get(path, path) for path in touched):
            found = self.scan.files[path]
            if found.kind == "session" and path not in self._excluded:
                yield self._task(found)

    def _task(self, found: FoundFile) -> Task:
        known = self._merge.files.get(found.path)
        own = [row for row in self._merge.owners(found.path) if row.files[0].path == found.path]
        before = None
        if known is not None and len(own) == 1 and known.resume:
            manifest = self._commit.manifest(own[0])
            closed = tuple(entry for entry in manifest.entries if entry.start < known.resume)
            bad = tuple(spot for spot in manifest.bad if spot.offset < known.resume)
            before = Checkpoint(closed, bad, manifest.state)
        options = self._options
        is_stored = known is None or not known.size or bool(known.parts)
        is_archived = options.is_archived and (is_stored or options.budget_s is None)
        return Task(
            found,
            known,
            before,
            options.is_full,
            earlier=self._earlier.get(found.path, ()),
            temp_dirs=options.temp_dirs,
            store_dir=self._store.directory if is_archived else "",
            side_files=self._load_side_files(own) if is_archived else (),
        )

    def _load_side_files(self, rows: Sequence[Row]) -> tuple[SourceFile, ...]:
        """Return the stored side files of a transcript's session."""
        ids = [row.side_files for row in rows if row.side_files is not None]
        return self._commit.load(ids[0], SideFiles).files if ids else ()

    def _publish(self, **changes: object) -> None:
        self._commit.commit(
            time.time_ns() // 1_000_000,
            garbage_bytes=self._before.garbage_bytes + self._merge.garbage_bytes,
            forgotten=tuple(sorted(self._merge.forgotten)),
            **changes,
        )


def _find_earlier_files(scan: Scan, touched: Sequence[str]) -> dict[str, tuple[FoundFile, ...]]:
    """Map the newest file of a session that has several to the earlier ones."""
    earlier: dict[str, tuple[FoundFile, ...]] = {}
    files = scan.files.values()
    if any(found.source == "codex" and "_" in os.path.basename(found.path) for found in files):
        from ccgrep.sources.segments import group_segments  # noqa: PLC0415 - rewinds are rare

        earlier |= group_segments(scan.files)
    names = {os.path.basename(path) for path in touched if _is_claude_session(scan.files[path])}
    namesakes = [found for found in files if os.path.basename(found.path) in names]
    if len(namesakes) > len(names):
        from ccgrep.sources.continued_files import group_continued  # noqa: PLC0415 - rare

        earlier |= group_continued(filter(_is_claude_session, namesakes))
    return earlier


def _is_claude_session(found: FoundFile) -> bool:
    is_claude = found.source == "claude_code" and found.kind == "session"
    return is_claude and not is_agent_transcript(found.path)


def _is_still_racy(result: FileResult) -> bool:
    """Return whether a file must be checked again next time, so that recording it is useless."""
    return result.file is None or may_have_changed(result.file, result.file.read_ns)
