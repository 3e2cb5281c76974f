"""Ingests the files beside the transcripts: lost sessions, titles, documents and projects.

Runs after the transcripts are read, because a transcript knows its session best.
"""

from collections.abc import Sequence

from ccgrep.ingest.documents import ingest_documents
from ccgrep.ingest.folder_projects import assign_projects
from ccgrep.ingest.merge import Merge
from ccgrep.ingest.outer_titles import apply_outer_titles
from ccgrep.ingest.plan import Plan
from ccgrep.ingest.recover import Exclusions, recover
from ccgrep.ingest.report import IndexReport
from ccgrep.ingest.retitle import retitle
from ccgrep.sources.registry import is_racy
from ccgrep.sources.scan import FoundFile, Scan
from ccgrep.store.manifest import SourceFile


def ingest_side_files(
    merge: Merge,
    scan: Scan,
    todo: Plan,
    now_ns: int,
    exclusions: Exclusions,
    report: IndexReport,
    is_archived: bool,
) -> tuple[SourceFile, ...]:
    """Ingest new and changed side files, and return the watermarks of all hint files."""
    changed = [scan.files[path] for path in (*todo.new, *todo.changed)]
    suspects = [scan.files[path] for path in todo.suspect]
    hints = [file for file in scan.files.values() if file.kind not in ("session", "document")]
    apply_outer_titles(merge)
    touched = {*todo.new, *todo.changed}
    known = recover(merge, hints, touched, now_ns, exclusions, report, is_archived)
    _recover_threads(merge, hints, changed, exclusions, report)
    # A new session may have a title in a file that did not change.
    retitle(merge.commit, hints if report.new_sessions else (*changed, *suspects))
    # A suspect that may still change unnoticed is read by the next ingest.
    settled = [file for file in suspects if not is_racy(file.mtime_ns, now_ns)]
    documents = [file for file in (*changed, *settled) if file.kind == "document"]
    ingest_documents(merge, documents, bool(exclusions.patterns), is_archived)
    assign_projects(merge)
    roots = set(scan.complete_roots)
    return tuple(
        file for file in known if file.path in scan.files or file.parts or file.root not in roots
    )


def _recover_threads(
    merge: Merge,
    hints: Sequence[FoundFile],
    changed: Sequence[FoundFile],
    exclusions: Exclusions,
    report: IndexReport,
) -> None:
    if any(file.kind == "codex_history" for file in changed):
        from ccgrep.ingest.recover_threads import recover_threads  # noqa: PLC0415 - only for Codex

        recover_threads(merge, hints, exclusions, report)
