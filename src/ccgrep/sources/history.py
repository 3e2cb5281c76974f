"""What is left of sessions whose transcript was deleted before ccgrep saw it.

`history.jsonl` has every prompt that was typed, and `sessions-index.json` a title and the
first prompt. Both are hints: a transcript always says more and is always preferred.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.sources.files import read_side_file
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Readable, Records
from ccgrep.sources.values import parse_time, string

_BARE_COMMAND = re.compile(r"/[\w:-]*")
_PASTED = re.compile(r"\[Pasted text #(\d+)[^\]]*\]")
_MAX_INDEX_BYTES = 64 * 1024 * 1024


class TypedPrompt(Struct, frozen=True):
    session_id: str
    text: str
    time: int | None
    project: str


class IndexedSession(Struct, frozen=True):
    session_id: str
    title: str
    first_prompt: str
    project: str
    branch: str
    created: int | None
    modified: int | None


class HistoryRecord(Struct):
    """One line of Claude Code's `history.jsonl`, or of Codex's."""

    display: Any = None
    pastedContents: Any = None
    timestamp: Any = None
    project: Any = None
    sessionId: Any = None
    session_id: Any = None
    ts: Any = None
    text: Any = None


class History:
    """The prompts of a `history.jsonl`, from `start` on; `end` is where it ended."""

    def __init__(self, stream: Readable, start: Mark) -> None:
        self._records = Records(stream, start, HistoryRecord, _is_history)

    @property
    def end(self) -> Mark:
        return self._records.end

    @property
    def bytes_read(self) -> int:
        return self._records.bytes_read

    def __iter__(self) -> Iterator[TypedPrompt]:
        for _, _, record in self._records:
            session_id = string(record.sessionId) or string(record.session_id)
            text = string(record.text) or _with_pasted(record)
            if session_id and text.strip() and not _BARE_COMMAND.fullmatch(text.strip()):
                time = parse_time(record.timestamp if record.ts is None else record.ts)
                yield TypedPrompt(safe_id(session_id), text, time, string(record.project))


def _is_history(value: dict[str, Any]) -> bool:
    return "sessionId" in value or "session_id" in value


def _with_pasted(record: HistoryRecord) -> str:
    """What was typed, with pasted text in its place where it was kept."""
    pasted = record.pastedContents if isinstance(record.pastedContents, dict) else {}

    def content(match: re.Match[str]) -> str:
        item = pasted.get(match.group(1))
        text = string(item.get("content")) if isinstance(item, dict) else ""
        return text or match.group()

    return _PASTED.sub(content, string(record.display))


def read_sessions_index(path: str, root: str = "") -> list[IndexedSession]:
    """The entries of a `sessions-index.json`; none of a file that is not one."""
    content = read_side_file(path, _MAX_INDEX_BYTES, root)
    try:
        index = msgspec.json.decode(content or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    entries = index.get("entries") if isinstance(index, dict) else None
    if not isinstance(entries, list):
        return []
    return [
        _indexed(entry)
        for entry in entries
        if isinstance(entry, dict)
        and string(entry.get("sessionId"))
        and entry.get("isSidechain") is not True
    ]


def _indexed(entry: dict[str, Any]) -> IndexedSession:
    prompt = string(entry.get("firstPrompt"))
    return IndexedSession(
        session_id=safe_id(string(entry.get("sessionId"))),
        title=string(entry.get("summary")),
        first_prompt="" if prompt == "No prompt" else prompt,
        project=string(entry.get("projectPath")),
        branch=string(entry.get("gitBranch")),
        created=parse_time(entry.get("created")),
        modified=parse_time(entry.get("modified")),
    )
