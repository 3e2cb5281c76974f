"""Recovers sessions from Codex's database of threads if their rollout is gone.

Such a session is marked as recovered, and any transcript replaces it.
"""

from collections.abc import Sequence

from ccgrep.ingest.merge import Merge
from ccgrep.ingest.recover import Exclusions
from ccgrep.ingest.report import IndexReport
from ccgrep.model import Entry, Session
from ccgrep.sources.identity import safe_id
from ccgrep.sources.reading import add_totals
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.sqlite_file import open_database
from ccgrep.sources.thread_history import (
    ThreadFacts,
    ThreadTurn,
    read_thread,
    read_thread_facts,
    read_thread_ids,
)
from ccgrep.sources.values import find_project
from ccgrep.store.manifest import Manifest, Row, forgotten_key
from ccgrep.store.objects import make_frame

_MAX_TITLE_CHARS = 400


def recover_threads(
    merge: Merge, files: Sequence[FoundFile], exclusions: Exclusions, report: IndexReport
) -> None:
    """Create a session for each thread in `files` that has no transcript.

    After a rewind, the database names the new rollout instead of its thread.
    """
    paths = (file.path for row in merge.commit.rows() for file in row.files)
    rollouts = {path.rpartition("_")[2].partition(".")[0] for path in paths}
    facts: dict[str, ThreadFacts] = {}
    for path, root in _databases(files, "codex_state"):
        with open_database(path, root) as state:
            facts |= read_thread_facts(state)
    for path, root in _databases(files, "codex_history"):
        with open_database(path, root) as history:
            for thread in read_thread_ids(history):
                id, known = safe_id(thread), facts.get(thread, ThreadFacts())
                is_allowed = id not in rollouts and forgotten_key(id) not in merge.forgotten
                if is_allowed and not merge.has_session(id) and not exclusions.has(id, known.cwd):
                    _create_session(merge, id, known, read_thread(history, thread), report)


def _databases(files: Sequence[FoundFile], kind: str) -> list[tuple[str, str]]:
    """Return the path and root of each database of a kind; its WAL is not one."""
    return sorted(
        (file.path, file.root)
        for file in files
        if file.kind == kind and not file.path.endswith("-wal")
    )


def _create_session(
    merge: Merge, id: str, known: ThreadFacts, turns: list[ThreadTurn], report: IndexReport
) -> None:
    old = merge.commit.row(id)
    if len(turns) < (old.session.turns if old is not None else 1):
        return
    entries: list[Entry] = []
    for one in turns:
        turn = one.to_turn(known.model)
        frame = make_frame("turn", turn)
        report.new_objects += merge.commit.add(frame)
        messages = bool(one.prompt) + len(turn.messages())
        entry = Entry(
            frame.id, 0, 0, one.started, one.ended, messages=messages, tools=len(turn.calls())
        )
        entries.append(entry)
    session = Session(
        id=id,
        source="codex",
        kind=known.kind,
        cwd=known.cwd,
        project=find_project(known.cwd),
        branch=known.branch,
        title=next((one.prompt for one in turns if one.prompt), "")[:_MAX_TITLE_CHARS],
        title_origin="prompt",
        models=(known.model,) if known.model else (),
        is_recovered=True,
    )
    report.new_sessions += old is None
    session = add_totals(session, entries)
    merge.put(Row(session, b"", is_gone=True), Manifest(session, tuple(entries)))  # type: ignore[arg-type]
