"""Ingests project memory and plans. A rewritten document replaces its former text."""

import time
from collections.abc import Sequence

from ccgrep.ingest.archive import Archiver
from ccgrep.ingest.file_reader import FileResult
from ccgrep.ingest.folder_projects import plan_slug
from ccgrep.ingest.merge import Merge
from ccgrep.model import Turn
from ccgrep.sources.documents import describe_document, read_document
from ccgrep.sources.files import open_side_file
from ccgrep.sources.reading import Reading
from ccgrep.sources.scan import FoundFile
from ccgrep.store import refs
from ccgrep.store.manifest import SourceFile
from ccgrep.store.objects import Frame, make_frame


def ingest_documents(
    merge: Merge, files: Sequence[FoundFile], has_exclusions: bool, is_archived: bool
) -> None:
    """Ingest documents that are new or changed.

    A plan names its session, not its directory. If some projects are excluded, plans of unknown
    sessions are skipped.
    """
    if not files:
        return
    refs.require_features(merge.commit.store.directory)
    slugs = {row.session.slug for row in merge.rows()} if has_exclusions else set()
    for found in files:
        slug = plan_slug(found.path)
        if has_exclusions and slug and slug not in slugs:
            continue
        turn = read_document(found)
        if turn is None:
            continue
        frame = make_frame("turn", turn)
        merge.commit.add(frame)
        stat = (found.path, found.root, found.size, found.mtime_ns, found.inode, time.time_ns())
        reading = Reading((describe_document(found, turn, frame.id),), 0, 0, 0, found.size, 0)
        file = SourceFile(*stat, end=found.size, ctime_ns=found.ctime_ns)
        if is_archived:
            file = _store_bytes(merge, file, turn, frame)
        merge.merge(FileResult(found.path, "read", file, reading))


def _store_bytes(merge: Merge, stat: SourceFile, turn: Turn, frame: Frame) -> SourceFile:
    """Store the bytes of a document against its turn."""
    archiver = Archiver(merge.commit.add, merge.commit.read)
    archiver.add_turn(turn, frame)
    file = open_side_file(stat.path, stat.root)
    if file is None:
        return stat
    with file:
        return archiver.store_text(file, stat, frame.id)
