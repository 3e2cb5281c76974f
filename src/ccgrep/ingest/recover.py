"""Recovers sessions of which only the prompts are left, from history and index files.

Such a session is marked prompt-only, and any transcript replaces it. It is built from whole files,
so the order in which they appear does not matter. Usually a history only grows by prompts of
sessions that have a transcript; then there is nothing to build.
"""

import zlib
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.ingest.exclude import is_project_excluded
from ccgrep.ingest.merge import Merge
from ccgrep.kinds import SourceName
from ccgrep.model import Entry, Session, Turn
from ccgrep.sources.files import open_side_file
from ccgrep.sources.history import History, IndexedSession, TypedPrompt, read_sessions_index
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.project import find_project
from ccgrep.sources.reading import add_totals
from ccgrep.sources.scan import FoundFile
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


class Recovered(Struct):
    """What `recover` read and created."""

    hints: tuple[SourceFile, ...]
    bytes_parsed: int = 0
    new_sessions: int = 0
    new_objects: int = 0


def recover(
    commit: Commit,
    merge: Merge,
    hints: Sequence[FoundFile],
    changed: set[str],
    now_ns: int,
    exclusions: Exclusions,
) -> Recovered:
    """Read the hint files in `changed`, and create prompt-only sessions if there are new ones."""
    known = {file.path: file for file in commit.snapshot.hints}
    result = Recovered(commit.snapshot.hints)
    if not changed:
        return result
    appended: list[TypedPrompt] = []
    has_news = False
    for found in hints:
        if found.path in changed:
            start = _find_start(known.get(found.path), found)
            prompts, known[found.path] = _read(found, start, now_ns, result)
            appended += prompts
            has_news |= start.offset == 0
    has_news |= any(not merge.has_session(prompt.session_id) for prompt in appended)
    result.hints = tuple(known[path] for path in sorted(known))
    if has_news:
        _create_sessions(commit, merge, hints, now_ns, exclusions, result)
    return result


def _read(
    found: FoundFile, start: Mark, now_ns: int, result: Recovered
) -> tuple[list[TypedPrompt], SourceFile]:
    """Return the prompts of a history from `start` on, and the file's new watermark."""
    stat = SourceFile(
        found.path, found.root, found.size, found.mtime_ns, found.inode, read_ns=now_ns
    )
    file = open_side_file(found.path, found.root) if found.kind == "history" else None
    if file is None:
        return [], stat
    with file:
        file.seek(start.offset)
        history = History(file, start)
        prompts = list(history)
    result.bytes_parsed += history.bytes_read
    return prompts, replace(stat, end=history.end.offset, end_crc=history.end.crc)


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
    commit: Commit,
    merge: Merge,
    hints: Sequence[FoundFile],
    now_ns: int,
    exclusions: Exclusions,
    result: Recovered,
) -> None:
    typed: dict[tuple[SourceName, str], list[TypedPrompt]] = {}
    indexed: dict[str, IndexedSession] = {}
    for found in sorted(hints, key=lambda hint: hint.path):
        if found.kind == "history":
            for prompt in _read(found, Mark(0, 0), now_ns, Recovered(()))[0]:
                typed.setdefault((found.source, prompt.session_id), []).append(prompt)
        else:
            for entry in read_sessions_index(found.path, found.root):
                indexed[entry.session_id] = entry
    for id, entry in indexed.items():
        if entry.first_prompt:
            first = TypedPrompt(id, entry.first_prompt, entry.created, entry.project)
            typed.setdefault(("claude_code", id), [first])
    for (source, id), prompts in typed.items():
        is_allowed = forgotten_key(id) not in merge.forgotten and not exclusions.match(prompts)
        if is_allowed and not merge.has_session(id):
            _create_session(commit, merge, source, prompts, indexed.get(id), result)


def _create_session(
    commit: Commit,
    merge: Merge,
    source: SourceName,
    prompts: Sequence[TypedPrompt],
    indexed: IndexedSession | None,
    result: Recovered,
) -> None:
    id = prompts[0].session_id
    old = commit.row(id)
    if old is not None:
        prompts = _union(_known_prompts(commit, old), prompts)
    entries = tuple(_entries(commit, prompts, result))
    cwd = next((prompt.project for prompt in prompts if prompt.project), "")
    session = Session(
        id=id,
        source=source,
        cwd=cwd,
        project=find_project(cwd),
        branch=indexed.branch if indexed else "",
        title=(indexed.title if indexed else "") or prompts[0].text[:400],
        is_prompt_only=True,
    )
    session = add_totals(session, entries)
    if indexed and indexed.modified is not None:
        session = replace(session, ended=max(session.ended or 0, indexed.modified))
    result.new_sessions += old is None
    merge.put(
        Row(session, manifest=b"", is_gone=True),  # type: ignore[arg-type]
        Manifest(session, entries),
    )


def _known_prompts(commit: Commit, row: Row) -> list[TypedPrompt]:
    return [
        TypedPrompt(
            row.session.id, commit.load_turn(entry.turn).prompt, entry.started, row.session.cwd
        )
        for entry in commit.manifest(row).entries
    ]


def _union(known: Sequence[TypedPrompt], found: Sequence[TypedPrompt]) -> list[TypedPrompt]:
    """Return the prompts of both in order of time, each once.

    `sessions-index.json` truncates prompts; a complete one replaces its truncated form.
    """
    seen = {(prompt.time, prompt.text): prompt for prompt in [*known, *found]}
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


def _entries(commit: Commit, prompts: Iterable[TypedPrompt], result: Recovered) -> Iterable[Entry]:
    for prompt in prompts:
        frame = make_frame("turn", Turn(prompt=prompt.text))
        result.new_objects += commit.add(frame)
        yield Entry(
            turn=frame.id, start=0, end=0, started=prompt.time, ended=prompt.time, messages=1
        )
