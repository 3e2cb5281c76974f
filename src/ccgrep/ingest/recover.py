"""Recovers sessions of which only the prompts are left, from history and index files.

Such a session is marked prompt-only, and any transcript replaces it. It is built from whole files,
so the order in which they appear does not matter. Usually a history only grows by prompts of
sessions that have a transcript; then there is nothing to build.
"""

import zlib
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.ingest.archive_history import store_history
from ccgrep.ingest.exclude import is_project_excluded
from ccgrep.ingest.merge import Merge
from ccgrep.ingest.report import IndexReport
from ccgrep.kinds import SourceName
from ccgrep.model import Entry, Session, Turn
from ccgrep.sources.files import open_side_file
from ccgrep.sources.history import (
    IndexedSession,
    TypedPrompt,
    count_unknown_pastes,
    read_history,
    read_sessions_index,
)
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.reading import add_totals
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.values import find_project
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import Manifest, Row, SourceFile, forgotten_key
from ccgrep.store.objects import make_frame

_MIN_TRUNCATED = 40
"""The shortest truncated prompt; shorter ones may share a prefix by chance."""


class Exclusions(Struct, frozen=True):
    """Sessions with an excluded transcript, and the patterns for sessions without one."""

    ids: set[str] = set()
    patterns: tuple[str, ...] = ()

    def match(self, prompts: Sequence[TypedPrompt]) -> bool:
        if prompts[0].session_id in self.ids:
            return True
        return any(is_project_excluded(prompt.project, self.patterns) for prompt in prompts)

    def has(self, id: str, cwd: str) -> bool:
        """Return whether a session is excluded. With patterns, one without a directory is."""
        if not cwd and self.patterns:
            return True
        return id in self.ids or is_project_excluded(cwd, self.patterns)


def recover(
    merge: Merge,
    hints: Sequence[FoundFile],
    changed: set[str],
    now_ns: int,
    exclusions: Exclusions,
    report: IndexReport,
    is_archived: bool,
) -> tuple[SourceFile, ...]:
    """Read the hint files in `changed`, and create prompt-only sessions if there are new ones.

    Return what is known of all hint files from now on. If `is_archived`, store histories too.
    """
    known = {file.path: file for file in merge.commit.snapshot.hints}
    has_news = False
    for found in hints:
        if found.path in changed:
            start = _find_start(known.get(found.path), found)
            prompts, end, bytes_read = _read_prompts(found, start)
            stat = (found.path, found.root, found.size, found.mtime_ns, found.inode, now_ns)
            file = SourceFile(*stat, end=end.offset, end_crc=end.crc, ctime_ns=found.ctime_ns)
            if found.kind == "history" and is_archived:
                file = store_history(merge.commit, file, known.get(found.path), merge.forgotten)
            known[found.path] = file
            report.bytes_parsed += bytes_read
            is_new = any(not merge.has_session(prompt.session_id) for prompt in prompts)
            is_rewritten = start.offset == 0 and found.kind in ("history", "sessions_index")
            has_news = has_news or is_new or is_rewritten
    if has_news:
        _create_sessions(merge, hints, exclusions, report)
    return tuple(known[path] for path in sorted(known))


def _read_prompts(found: FoundFile, start: Mark) -> tuple[list[TypedPrompt], Mark, int]:
    file = open_side_file(found.path, found.root) if found.kind == "history" else None
    if file is None:
        return [], Mark(0, 0), 0
    with file:
        file.seek(start.offset)
        return read_history(file, start, found.root)


def _find_start(known: SourceFile | None, found: FoundFile) -> Mark:
    """Return where to start reading a history: at its watermark if it only grew, else at 0."""
    if known is None or not known.end or found.size < known.end:
        return Mark(0, 0)
    file = open_side_file(found.path, found.root)
    if file is None:
        return Mark(0, 0)
    with file:
        crc = zlib.crc32(file.read(known.end))
    return Mark(known.end, known.end_crc) if crc == known.end_crc else Mark(0, 0)


def _create_sessions(
    merge: Merge, hints: Sequence[FoundFile], exclusions: Exclusions, report: IndexReport
) -> None:
    typed: dict[tuple[SourceName, str], list[TypedPrompt]] = {}
    indexed: dict[str, IndexedSession] = {}
    for found in sorted(hints, key=lambda hint: hint.path):
        for prompt in _read_prompts(found, Mark(0, 0))[0]:
            typed.setdefault((found.source, prompt.session_id), []).append(prompt)
        if found.kind == "sessions_index":
            entries = read_sessions_index(found.path, found.root)
            indexed |= {entry.session_id: entry for entry in entries}
    for id, entry in indexed.items():
        if entry.first_prompt:
            first = TypedPrompt(id, entry.first_prompt, entry.created, entry.project)
            typed.setdefault(("claude_code", id), [first])
    for (source, id), prompts in typed.items():
        is_allowed = forgotten_key(id) not in merge.forgotten and not exclusions.match(prompts)
        if is_allowed and not merge.has_session(id):
            _create_session(merge, source, prompts, indexed.get(id), report)


def _create_session(
    merge: Merge,
    source: SourceName,
    prompts: Sequence[TypedPrompt],
    indexed: IndexedSession | None,
    report: IndexReport,
) -> None:
    id = prompts[0].session_id
    old = merge.commit.row(id)
    if old is not None and old.session.is_recovered:
        return  # It has the answers too.
    if old is not None:
        prompts = _union(_known_prompts(merge.commit, old), prompts)
    entries: list[Entry] = []
    for prompt in prompts:
        frame = make_frame("turn", Turn(prompt=prompt.text))
        report.new_objects += merge.commit.add(frame)
        entries.append(Entry(frame.id, 0, 0, prompt.time, prompt.time, messages=1))
    cwd = next((prompt.project for prompt in prompts if prompt.project), "")
    session = Session(
        id=id,
        source=source,
        cwd=cwd,
        project=find_project(cwd),
        branch=indexed.branch if indexed else "",
        title=(indexed.title if indexed else "") or prompts[0].text[:400],
        title_origin="summary" if indexed and indexed.title else "prompt",
        is_prompt_only=True,
    )
    session = add_totals(session, entries)
    if indexed and indexed.modified is not None:
        session = replace(session, ended=max(session.ended or 0, indexed.modified))
    report.new_sessions += old is None
    merge.put(Row(session, b"", is_gone=True), Manifest(session, tuple(entries)))  # type: ignore[arg-type]


def _known_prompts(commit: Commit, row: Row) -> list[TypedPrompt]:
    id, cwd = row.session.id, row.session.cwd
    entries = commit.manifest(row).entries
    return [TypedPrompt(id, commit.load_turn(e.turn).prompt, e.started, cwd) for e in entries]


def _union(known: Sequence[TypedPrompt], found: Sequence[TypedPrompt]) -> list[TypedPrompt]:
    """Return the prompts of both in order of time, each once.

    `sessions-index.json` truncates prompts; a complete one replaces its truncated form. Claude Code
    deletes pasted text; a prompt that has it stays.
    """
    fewest: dict[int | None, int] = {}
    for prompt in (*known, *found):
        pastes = count_unknown_pastes(prompt.text)
        fewest[prompt.time] = min(fewest.get(prompt.time, pastes), pastes)
    seen = {
        (prompt.time, prompt.text): prompt
        for prompt in (*known, *found)
        if prompt.time is None or count_unknown_pastes(prompt.text) == fewest[prompt.time]
    }
    texts = {prompt.text for prompt in seen.values()}
    complete = [
        prompt
        for prompt in seen.values()
        if not any(_is_truncated(prompt.text, text) for text in texts)
    ]
    return sorted(complete, key=lambda prompt: prompt.time or 0)


def _is_truncated(text: str, whole: str) -> bool:
    start = text.rstrip("…. ")
    return len(start) >= _MIN_TRUNCATED and len(whole) > len(text) and whole.startswith(start)
