"""Brings the store up to date: ingests what changed, syncs the full-text index, tidies up.

Everything here runs under the writer lock. A kill at any point leaves the snapshot of the last
commit; the next run continues from there.
"""

import os
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ccgrep.config import Config
from ccgrep.errors import LockedError, StoreError, WriteError
from ccgrep.fulltext.sync import configure_kinds, sync
from ccgrep.ingest.plan import has_same_stat, may_have_changed
from ccgrep.ingest.report import IndexReport, Options, Progress
from ccgrep.ingest.run import IngestRun, find_grown_rows
from ccgrep.refresh.background import Feedback, Refreshed
from ccgrep.refresh.change_detector import detect_changes
from ccgrep.refresh.seen_file import describe_locations, describe_scan, read_seen, update_seen
from ccgrep.sources.registry import Root
from ccgrep.sources.scan import Scan, scan, scan_paths
from ccgrep.store.commit import Commit
from ccgrep.store.gc import collect_garbage
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.lock import lock_vectors
from ccgrep.store.manifest import SourceFile
from ccgrep.store.store import Store

WAS_OPEN = "the store's directory was open to other users: it is private now (0700)"

_WAIT_S = 0.2
_FIRST_WAIT_S = 600.0
_MAX_GROWN_BYTES = 64 * 1024 * 1024  # verifying the checksum of the part already read: 20 ms
_GARBAGE_SHARE = 0.25
_GARBAGE_ALWAYS_BYTES = 16 * 1024 * 1024
_MANY_PACKS = 8  # as quick to read as one; folding them takes a while


def update(
    config: Config,
    changed: list[str] | None,
    feedback: Feedback,
    report: Callable[[Refreshed], object],
    is_always_bounded: bool = False,
) -> None:
    """Ingest the changed transcripts, and report as soon as they can be searched.

    If `changed` is None, or holds a transcript that did more than grow, scan all roots.
    """
    if not changed or not ingest_grown(config, changed, report, feedback.warn):
        report(refresh(config, feedback, is_always_bounded))


def refresh(config: Config, feedback: Feedback, is_always_bounded: bool = False) -> Refreshed:
    """Scan the roots and ingest what changed, within the time budget; the first time, everything.

    With `is_always_bounded`, the first time keeps to the time budget too.
    If another process holds the lock or the disk is full, warn and leave the store as it is.
    """
    is_first = not os.path.exists(os.path.join(config.store_dir, "FORMAT"))
    if is_first and not has_roots(config):
        raise StoreError(
            "no transcripts found: no agent has a directory such as ~/.claude or ~/.codex; "
            "run `ccgrep index --root DIR` to ingest another directory"
        )
    # The first time there is nothing to answer from: wait for a process that builds the store,
    # unless the answer has to come in time.
    is_patient = is_first and not is_always_bounded
    options = make_options(config, _FIRST_WAIT_S if is_patient else _WAIT_S)
    if not is_first:
        options = replace(options, kinds=None)
    if not is_first or is_always_bounded:
        options = replace(options, budget_s=config.refresh_budget_s)
    try:
        store = create_store(config.store_dir)
        if store.was_exposed:
            feedback.warn(WAS_OPEN)
        report = build(store, options, feedback.on_progress, feedback.warn)
    except (LockedError, WriteError) as error:
        if is_first:
            raise
        feedback.warn(f"using what is indexed so far: {error}")
        return Refreshed(is_changed=True, is_fresh=False)
    _warn_of_damage(report, feedback.warn)
    if report.behind_files:
        feedback.warn(
            f"{report.behind_files:,} files ({report.behind_bytes / 1e6:,.1f} MB) are not indexed "
            "yet, the oldest ones: run `ccgrep index`"
        )
    return Refreshed(True, not report.behind_files, report.behind_files, report.behind_bytes)


def _warn_of_damage(report: IndexReport, warn: Callable[[str], None]) -> None:
    """Warn of transcripts that could not be read, and of damaged spots in others."""
    # A client's directory may lack the folder for transcripts. Only `ccgrep index` reports that.
    for problem in report.plugin_problems:
        warn(problem)
    troubles = [trouble for trouble in report.troubles if not trouble.endswith(": not found")]
    if troubles:
        others = len(troubles) - 1
        more = f" (and {others:,} other{'s' if others > 1 else ''})" if others else ""
        warn(f"cannot read {troubles[0]}{more}: the answer may lack turns")
    if report.bad_lines:
        spots = "1 damaged spot" if report.bad_lines == 1 else f"{report.bad_lines:,} damaged spots"
        warn(f"skipped {spots} in transcripts: run `ccgrep status -v`")


def has_roots(config: Config) -> bool:
    """Return whether an agent has a directory here, or a plug-in may find one."""
    if config.roots or not config.plugin_variables:
        return bool(config.roots)
    from ccgrep.sources.plugins import is_any_installed  # noqa: PLC0415 - rare

    return is_any_installed()


def make_options(config: Config, wait_s: float) -> Options:
    return Options(
        wait_s=wait_s,
        roots=config.roots,
        exclude=config.exclude,
        temp_dirs=config.temp_dirs,
        kinds=config.index_kinds,
        is_archived=config.keep == "all",
        plugin_variables=config.plugin_variables,
        project_sources=config.project_sources,
    )


def scan_all(options: Options, projects: Sequence[Root]) -> tuple[Scan, list[str]]:
    """List the files of all roots, projects and plug-ins; return what is wrong with plug-ins."""
    roots = [*options.roots, *projects]
    if not options.plugin_variables:
        return scan(roots), []
    from ccgrep.sources.plugins import load_plugins  # noqa: PLC0415 - an append needs none

    plugins = load_plugins()
    return scan([*roots, *plugins.find_roots(options.plugin_variables)]), plugins.problems


def build(
    store: Store,
    options: Options,
    on_progress: Callable[[Progress], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> IndexReport:
    """Ingest every transcript that differs from the store, and report what was done."""
    started = time.monotonic()
    with store.lock(options.wait_s, warn):
        store.clean_tmp()
        store.rebuild_pack_indexes()
        if options.kinds is not None:
            configure_kinds(store, options.kinds)
        if store.snapshot().must_collect:
            _finish_forgetting(store, options, warn)
        is_scanning = options.is_full or options.is_scanning
        files = None if is_scanning else _count_unchanged(store, options)
        if files is not None:
            report = IndexReport(files_seen=files, documents=sync(store))
        else:
            report = _scan_and_ingest(store, options, on_progress)
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _finish_forgetting(store: Store, options: Options, warn: Callable[[str], None]) -> None:
    """Delete what a killed process has left of forgotten sessions."""
    from ccgrep.refresh import collect  # noqa: PLC0415 - rare

    with lock_vectors(store.directory, options.wait_s, warn):
        collect.collect_garbage(store)


def _count_unchanged(store: Store, options: Options) -> int | None:
    """Return the number of source files if none has changed since the last ingest, else None."""
    if options.is_archived != store.snapshot().is_archived:
        return None
    seen = read_seen(store.directory)
    roots = [root.path for root in options.roots]
    if seen is None or detect_changes(store.directory, roots, options.exclude) != []:
        return None
    listed = set(seen.paths)
    hints = [one for one in store.snapshot().hints if os.fsencode(one.path) not in listed]
    return len(seen.paths) + len(hints) if all(map(_is_unchanged, hints)) else None


def _is_unchanged(before: SourceFile) -> bool:
    try:
        info = os.lstat(before.path)
    except OSError:
        return False
    stat = (info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)
    return has_same_stat(before, stat) and not may_have_changed(before, time.time_ns())


def _scan_and_ingest(
    store: Store, options: Options, on_progress: Callable[[Progress], None]
) -> IndexReport:
    """Ingest what changed below the roots, then histories in projects that this brought up."""
    from ccgrep.refresh.project_roots import (  # noqa: PLC0415 - an append needs none
        find_project_roots,
        select_roots,
    )

    commit = Commit(store)
    rows = list(store.rows(commit.snapshot))
    projects = find_project_roots(rows, options)
    found, problems = scan_all(options, projects)
    run = IngestRun(commit, found, options, on_progress, rows)
    report = _ingest(store, run, options)
    covered = {*projects, *options.roots}
    new = [root for root in select_roots(run.projects, options) if root not in covered]
    if new and not report.behind_files:
        found, _ = scan_all(options, [*projects, *new])
        report = report.add(_ingest(store, IngestRun(Commit(store), found, options), options))
    report.plugin_problems = problems
    return report


def _ingest(store: Store, run: IngestRun, options: Options) -> IndexReport:
    report = run.ingest()
    report.documents = sync(store, run.release_contents(), options.workers)
    if run.is_store_changed or run.is_forgotten_found:
        _tidy(store, run.is_forgotten_found)
    if not report.troubles and not report.behind_files:
        locations = describe_locations([root.path for root in options.roots], options.exclude)
        seen = describe_scan(store.head().hex(), locations, run.scan, run.scanned_ns)
        if seen is not None:
            store.write_seen(seen)
    return report


def ingest_grown(
    config: Config,
    paths: list[str],
    report: Callable[[Refreshed], object] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> bool:
    """Ingest transcripts that only grew, without scanning the roots; return whether that worked.

    Report as soon as they can be searched, and tidy up after that. Anything else, such as a copied
    or rewritten transcript, is left to `refresh`.
    """
    found = scan_paths(list(config.roots), paths)
    if found is None or sum(file.size for file in found.files.values()) > _MAX_GROWN_BYTES:
        return False
    try:
        store = open_store(config.store_dir)
        with store.lock(_WAIT_S):
            return _ingest_grown(store, found, make_options(config, _WAIT_S), report, warn)
    except StoreError:
        return False


def _ingest_grown(
    store: Store,
    found: Scan,
    options: Options,
    report: Callable[[Refreshed], object],
    warn: Callable[[str], None],
) -> bool:
    store.clean_tmp()
    commit = Commit(store)
    rows = find_grown_rows(commit, found)
    if rows is None or commit.snapshot.must_collect:
        return False
    run = IngestRun(commit, found, options, rows=rows)
    if not run.ingest_grown():
        return False
    sync(store, run.release_contents())
    _warn_of_damage(run.report, warn)
    report(Refreshed(is_changed=run.is_store_changed))
    if run.is_store_changed and len(store.packs()) > _MANY_PACKS:
        _tidy(store)
    seen = update_seen(store.directory, store.head().hex(), run.scan, run.scanned_ns)
    if seen is not None:
        store.write_seen(seen)
    return True


def _tidy(store: Store, is_forgotten_found: bool = False) -> None:
    """Fold small packs, and collect garbage if there is much of it."""
    packed = sum(pack.size for pack in store.packs())
    garbage = store.snapshot().garbage_bytes
    is_much = garbage > max(_GARBAGE_ALWAYS_BYTES, _GARBAGE_SHARE * packed)
    if is_much or is_forgotten_found:
        collect_garbage(store)
    elif len(store.packs()) > _MANY_PACKS:
        store.fold()
