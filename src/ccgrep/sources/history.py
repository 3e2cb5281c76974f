"""Reads what is left of sessions whose transcript was deleted before ccgrep saw it.

`history.jsonl` holds every typed prompt. `sessions-index.json` holds a title and the first
prompt. A transcript is always more complete and takes precedence over both.
"""

import os
import re
from typing import Any

from msgspec import Struct

from ccgrep.sources.files import read_side_file, read_side_json
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Readable, Records
from ccgrep.sources.values import as_string, parse_time

_BARE_COMMAND = re.compile(r"/[\w:-]*")
_PASTED = re.compile(r"\[Pasted text #(\d+)[^\]]*\]")
_CONTENT_HASH = re.compile(r"[0-9a-f]{8,64}")
_MAX_PASTED_BYTES = 1024 * 1024


class TypedPrompt(Struct, frozen=True):
    """A prompt in `history.jsonl`."""

    session_id: str
    text: str
    time: int | None
    project: str


class IndexedSession(Struct, frozen=True):
    """A session in `sessions-index.json`."""

    session_id: str
    title: str
    first_prompt: str
    project: str
    branch: str
    created: int | None
    modified: int | None


class HistoryRecord(Struct):
    """A line of the `history.jsonl` of Claude Code or Codex."""

    display: Any = None
    pastedContents: Any = None
    timestamp: Any = None
    project: Any = None
    sessionId: Any = None
    session_id: Any = None
    ts: Any = None
    text: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        return "sessionId" in value or "session_id" in value


def read_history(stream: Readable, start: Mark, root: str) -> tuple[list[TypedPrompt], Mark, int]:
    """Return the prompts of a `history.jsonl` from `start` on, their end and the bytes read.

    Pasted text may be in the `paste-cache` of `root`.
    """
    records = Records(stream, start, HistoryRecord)
    prompts: list[TypedPrompt] = []
    for _, _, record in records:
        session_id = as_string(record.sessionId) or as_string(record.session_id)
        text = as_string(record.text) or _expand_pasted(record, root)
        if session_id and text.strip() and not _BARE_COMMAND.fullmatch(text.strip()):
            time = parse_time(record.timestamp if record.ts is None else record.ts)
            project = as_string(record.project)
            prompts.append(TypedPrompt(safe_id(session_id), text, time, project))
    return prompts, records.end, records.bytes_read


def count_unknown_pastes(text: str) -> int:
    """Return the number of placeholders whose pasted text was not kept."""
    return len(_PASTED.findall(text))


def _expand_pasted(record: HistoryRecord, root: str) -> str:
    """Return the typed text, with placeholders replaced by the pasted text if it was kept."""
    pasted = record.pastedContents if isinstance(record.pastedContents, dict) else {}

    def expand(match: re.Match[str]) -> str:
        item = pasted.get(match.group(1))
        text = _read_pasted(item, root) if isinstance(item, dict) else ""
        return text or match.group()

    return _PASTED.sub(expand, as_string(record.display))


def _read_pasted(item: dict[str, Any], root: str) -> str:
    content, hash = as_string(item.get("content")), as_string(item.get("contentHash"))
    if content or not _CONTENT_HASH.fullmatch(hash):
        return content
    path = os.path.join(root, "paste-cache", f"{hash}.txt")
    return (read_side_file(path, root, _MAX_PASTED_BYTES) or b"").decode("utf-8", "replace")


def read_sessions_index(path: str, root: str = "") -> list[IndexedSession]:
    """Return the sessions of a `sessions-index.json`, or none if the file is malformed."""
    entries = read_side_json(path, root).get("entries")
    sessions: list[IndexedSession] = []
    for entry in entries if isinstance(entries, list) else []:
        id = as_string(entry.get("sessionId")) if isinstance(entry, dict) else ""
        if not id or entry.get("isSidechain") is True:
            continue
        prompt = as_string(entry.get("firstPrompt"))
        session = IndexedSession(
            session_id=safe_id(id),
            title=as_string(entry.get("summary")),
            first_prompt="" if prompt == "No prompt" else prompt,
            project=as_string(entry.get("projectPath")),
            branch=as_string(entry.get("gitBranch")),
            created=parse_time(entry.get("created")),
            modified=parse_time(entry.get("modified")),
        )
        sessions.append(session)
    return sessions
