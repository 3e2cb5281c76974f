"""Sessions of which only the prompts are left: marked so, and replaced by any transcript.

They are made from whole files, so that it does not matter in which order the hints came.
When a history has only grown by prompts of sessions that have a transcript, which is the
usual case, nothing has to be made.
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

_MIN_CUT = 40
"""A prompt that is cut is at least this long; two short ones may begin alike."""


class LeftOut(Struct, frozen=True):
    """What is excluded: sessions that have a transcript, and where others were."""

    ids: set[str] = set()
    patterns: tuple[str, ...] = ()

    def has(self, prompts: Sequence[TypedPrompt]) -> bool:
        if prompts[0].session_id in self.ids:
            return True
        return any(is_project_excluded(prompt.project, self.patterns) for prompt in prompts)


class Recovered(Struct):
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
    left_out: LeftOut,
) -> Recovered:
    """Takes the hint files in, of which `changed` differ from what is known."""
    known = {file.path: file for file in commit.snapshot.hints}
    result = Recovered(commit.snapshot.hints)
    if not changed:
        return result
    appended: list[TypedPrompt] = []
    is_news = False
    for found in hints:
        if found.path in changed:
            start = _grown_from(known.get(found.path), found)
            prompts, known[found.path] = _read(found, start, now_ns, result)
            appended += prompts
            is_news |= start.offset == 0
    is_news |= any(not merge.has_session(prompt.session_id) for prompt in appended)
    result.hints = tuple(known[path] for path in sorted(known))
    if is_news:
        _make_sessions(commit, merge, hints, now_ns, left_out, result)
    return result


def _read(
    found: FoundFile, start: Mark, now_ns: int, result: Recovered
) -> tuple[list[TypedPrompt], SourceFile]:
    """The prompts of a history from `start` on, and the file's new watermark."""
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


def _grown_from(known: SourceFile | None, found: FoundFile) -> Mark:
    """Where a history has to be read from: its beginning, unless it has only grown."""
    if known is None or not known.end or found.size < known.end:
        return Mark(0, 0)
    file = open_side_file(found.path, found.root)
    if file is None:
        return Mark(0, 0)
    with file:
        crc = zlib.crc32(file.read(known.end))
    return Mark(known.end, known.end_crc) if crc == known.end_crc else Mark(0, 0)


def _make_sessions(
    commit: Commit,
    merge: Merge,
    hints: Sequence[FoundFile],
    now_ns: int,
    left_out: LeftOut,
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
        is_wanted = forgotten_key(id) not in merge.forgotten and not left_out.has(prompts)
        if is_wanted and not merge.has_session(id):
            _make_session(commit, merge, source, prompts, indexed.get(id), result)


def _make_session(
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
    """The prompts of both in the order of time, each once.

    What `sessions-index.json` knows of a prompt may be cut; then the whole one counts.
    """
    seen = {(prompt.time, prompt.text): prompt for prompt in [*known, *found]}
    texts = {prompt.text for prompt in seen.values()}
    whole = [
        prompt for prompt in seen.values() if not any(_is_cut(prompt.text, text) for text in texts)
    ]
    return sorted(whole, key=lambda prompt: prompt.time or 0)


def _is_cut(text: str, whole: str) -> bool:
    start = text.rstrip("…. ")
    return len(start) >= _MIN_CUT and len(whole) > len(text) and whole.startswith(start)


def _entries(commit: Commit, prompts: Iterable[TypedPrompt], result: Recovered) -> Iterable[Entry]:
    for prompt in prompts:
        frame = make_frame("turn", Turn(prompt=prompt.text))
        result.new_objects += commit.add(frame)
        yield Entry(
            turn=frame.id, start=0, end=0, started=prompt.time, ended=prompt.time, messages=1
        )
