"""Stores the lines of the clients' history files, except those of forgotten sessions.

A history has the prompts of all sessions. So its lines are stored without those of sessions that
the user had forgotten, and `ccgrep forget` removes the lines of a session.
"""

from collections.abc import Collection
from io import BytesIO

import msgspec

from ccgrep.ingest.archive import Archiver, Growth
from ccgrep.sources.files import read_side_file
from ccgrep.store.commit import Commit
from ccgrep.store.manifest import SourceFile, forgotten_key
from ccgrep.store.originals import iterate_parts


class _HistoryLine(msgspec.Struct):
    """The session of a line: the first field is Claude Code's, the second one Codex's."""

    sessionId: str = ""
    session_id: str = ""


def store_history(
    commit: Commit, stat: SourceFile, known: SourceFile | None, forgotten: Collection[bytes]
) -> SourceFile:
    """Store a history, and return `stat` with its parts.

    If the client removed lines, those that are stored stay, before all others.
    """
    content = _drop_lines(read_side_file(stat.path, stat.root) or b"", forgotten)
    stored = b"".join(iterate_parts(known.parts, commit.read)) if known is not None else b""
    if known is not None and known.parts and content.startswith(stored):
        return _store(commit, content, stat, Growth(known, known.stored_bytes))
    return _store(commit, _join(stored, content), stat)


def add_history(commit: Commit, history: SourceFile, older: bytes) -> SourceFile:
    """Return a stored history with the lines of an older one that it lacks."""
    content = b"".join(iterate_parts(history.parts, commit.read))
    joined = _join(older, content)
    return history if joined == content else _store(commit, joined, history)


def forget_lines(commit: Commit, forgotten: Collection[bytes]) -> tuple[SourceFile, ...]:
    """Return the hints of a commit without the lines of forgotten sessions."""
    hints = []
    for hint in commit.snapshot.hints:
        stored = b"".join(iterate_parts(hint.parts, commit.read))
        content = _drop_lines(stored, forgotten)
        is_same = len(content) == len(stored)
        hints.append(hint if is_same else _store(commit, content, hint))
    return tuple(hints)


def _store(
    commit: Commit, content: bytes, stat: SourceFile, growth: Growth | None = None
) -> SourceFile:
    return Archiver(commit.add, commit.read).store(BytesIO(content), stat, growth)


def _join(older: bytes, newer: bytes) -> bytes:
    """Return the lines that only `older` has, then `newer`."""
    present = set(newer.splitlines())
    return b"".join(line + b"\n" for line in older.splitlines() if line not in present) + newer


def _drop_lines(content: bytes, forgotten: Collection[bytes]) -> bytes:
    if not forgotten:
        return content
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if forgotten_key(_find_session(line)) not in forgotten)


def _find_session(line: bytes) -> str:
    try:
        found = msgspec.json.decode(line, type=_HistoryLine)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.sessionId or found.session_id
