"""Writes the transcript of a session for Claude Code.

The chain of `parentUuid` holds the turns that count. An undone turn is a branch beside it. A
summary begins a new chain, so that Claude Code sends only what follows.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from ccgrep.kinds import NoteKind
from ccgrep.model import Blob, Entry, Message, Note, Part, Session, Text, ToolCall, ToolResult, Turn
from ccgrep.rebuild.form import is_compaction, make_form
from ccgrep.rebuild.record_values import (
    IMAGE_TYPES,
    Media,
    ReadBlob,
    format_time,
    join_lines,
    make_id,
    make_uuid,
    read_media,
    turn_times,
)
from ccgrep.sources.marker import FIELD, Marker
from ccgrep.text import folder_name

_VERSION = "2.1.197"
_MODEL = "claude"
_PDF = "application/pdf"


def write_claude(
    session: Session,
    entries: Sequence[Entry],
    turns: Sequence[Turn],
    read_blob: ReadBlob,
    origin: str = "",
) -> bytes:
    """Return a transcript with these turns.

    `origin` is the session from which this one is handed over.
    """
    writer = _Writer(session, read_blob)
    for entry, turn in zip(entries, turns, strict=True):
        writer.add_turn(entry, turn, origin)
        origin = ""
    return join_lines(writer.records)


def claude_path(session: Session) -> str:
    """Return where below its root Claude Code expects the transcript."""
    folder = f"projects/{folder_name(session.current_cwd or session.cwd)}"
    if session.kind == "subagent":
        return f"{folder}/{session.parent}/subagents/{session.id}.jsonl"
    return f"{folder}/{session.id}.jsonl"


class _Writer:
    """The records so far, and the last one that the conversation continues."""

    def __init__(self, session: Session, read_blob: ReadBlob) -> None:
        self._session = session
        self._read_blob = read_blob
        self._chain: str | None = None
        self._last: str | None = None
        self.records: list[dict[str, Any]] = []
        if session.title_origin == "client" and session.title and session.kind == "main":
            title = {"type": "custom-title", "customTitle": session.title, "sessionId": session.id}
            self.records.append(title)

    def add_turn(self, entry: Entry, turn: Turn, origin: str) -> None:
        started, ended = turn_times(self._session, entry)
        self._entry, self._time = entry, started
        self._last = self._chain
        form = make_form(turn, "claude_code")
        marker = Marker(entry.turn.hex(), None, origin, entry.is_rolled_back)
        self._add_user(self._make_blocks(form.prompt, form.attached), marker)
        self._time = ended
        for step in form.steps:
            if isinstance(step, Message):
                self._add_message(step)
            elif is_compaction(step) and not entry.is_rolled_back:
                self._add_compaction(step)
            else:
                self._add_note(step.kind, step.text)
        if not entry.is_rolled_back:
            self._chain = self._last

    def _add_message(self, message: Message) -> None:
        """Add a message, divided after each group of calls, since their results must follow."""
        for blocks, calls in self._split_parts(message.parts):
            position = len(self.records)
            body = {
                "id": make_id("msg_", self._session.id, position),
                "type": "message",
                "role": "assistant",
                "model": message.model or (*self._session.models, _MODEL)[0],
                "content": blocks,
            }
            self._add("assistant", message=body)
            if calls:
                self._add_user([self._make_result(id, result) for id, result in calls])

    def _split_parts(
        self, parts: Sequence[Part]
    ) -> list[tuple[list[dict[str, Any]], list[tuple[str, ToolResult]]]]:
        groups: list[tuple[list[dict[str, Any]], list[tuple[str, ToolResult]]]] = [([], [])]
        for number, part in enumerate(parts):
            if isinstance(part, ToolCall):
                id = make_id("toolu_", self._session.id, len(self.records), number)
                groups[-1][0].append(
                    {"type": "tool_use", "id": id, "name": part.name, "input": part.input}
                )
                groups[-1][1].append((id, part.result or ToolResult()))
            elif isinstance(part, Text):
                if groups[-1][1]:
                    groups.append(([], []))
                groups[-1][0].append({"type": "text", "text": part.text})
        return groups

    def _make_result(self, id: str, result: ToolResult) -> dict[str, Any]:
        content: Any = result.text
        if result.blobs:
            content = self._make_blocks(result.text, result.blobs)
        block = {"type": "tool_result", "tool_use_id": id, "content": content}
        return {**block, "is_error": True} if result.is_error else block

    def _make_blocks(self, text: str, blobs: Sequence[Blob]) -> list[dict[str, Any]]:
        media, others = read_media(blobs, (*IMAGE_TYPES, _PDF), self._read_blob)
        return [*_to_blocks(text, others), *map(_to_block, media)]

    def _add_compaction(self, note: Note) -> None:
        before, self._last = self._last, None
        self._add(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            level="info",
            isMeta=False,
            logicalParentUuid=before,
            compactMetadata={"trigger": "auto", "preTokens": 0},
        )
        body = {"role": "user", "content": note.text}
        self._add("user", message=body, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def _add_note(self, kind: NoteKind, text: str) -> None:
        self._add_user(_to_blocks(text), Marker(note=kind), isMeta=True)

    def _add_user(
        self, blocks: list[dict[str, Any]], marker: Marker | None = None, **fields: Any
    ) -> None:
        if marker is not None:
            fields[FIELD] = to_builtins(marker)
        self._add("user", message={"role": "user", "content": blocks}, **fields)

    def _add(self, kind: str, **fields: Any) -> None:
        session, entry = self._session, self._entry
        is_agent = session.kind == "subagent"
        uuid = make_uuid(session.id, len(self.records))
        record = {
            "parentUuid": self._last,
            "isSidechain": is_agent,
            **({"agentId": session.id.removeprefix("agent-")} if is_agent else {}),
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": format_time(self._time),
            "userType": "external",
            "cwd": entry.cwd or session.cwd,
            "sessionId": session.parent if is_agent else session.id,
            "version": (_VERSION, *session.versions)[-1],
            "gitBranch": entry.branch or session.branch,
        }
        self.records.append(record)
        self._last = uuid


def _to_blocks(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if text]


def _to_block(media: Media) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media.type, "data": media.base64}
    return {"type": "document" if media.type == _PDF else "image", "source": source}
