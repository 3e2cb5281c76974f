"""Writes the rollout of a session for Codex, in the format that is not paginated.

In that format a rollout needs no other file, and Codex appends to it when it resumes. A fork
therefore begins with the turns of its original, marked for the client only.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import to_builtins

from ccgrep.model import Blob, Entry, Message, Note, Part, Session, Text, ToolCall, ToolResult, Turn
from ccgrep.rebuild.form import is_compaction, make_form
from ccgrep.rebuild.record_values import (
    IMAGE_TYPES,
    ReadBlob,
    format_time,
    join_lines,
    make_id,
    read_media,
    turn_times,
)
from ccgrep.sources.marker import FIELD, Marker

_VERSION = "0.169.0"
_FOR_CLIENT = Marker(is_for_client=True)


def write_codex(
    session: Session,
    entries: Sequence[Entry],
    turns: Sequence[Turn],
    read_blob: ReadBlob,
    origin: str = "",
    inherited: Sequence[tuple[Entry, Turn]] = (),
) -> bytes:
    """Return a rollout with these turns.

    `origin` is the session from which this one is handed over. `inherited` are the turns of a
    fork's original, which the client needs and ccgrep does not read again.
    """
    writer = _Writer(session, read_blob, origin)
    for entry, turn in inherited:
        writer.add_turn(entry, turn, is_inherited=True)
    for entry, turn in zip(entries, turns, strict=True):
        writer.add_turn(entry, turn)
    return join_lines(writer.records)


def codex_path(session: Session) -> str:
    """Return where below its root Codex expects the rollout."""
    day, _, time = format_time(session.started or 0).partition("T")
    name = f"rollout-{day}T{time[:8].replace(':', '-')}-{session.id}.jsonl"
    return f"sessions/{day.replace('-', '/')}/{name}"


class _Writer:
    """The records so far."""

    def __init__(self, session: Session, read_blob: ReadBlob, origin: str) -> None:
        self._session = session
        self._read_blob = read_blob
        self._time = session.started or 0
        self._is_inherited = False
        self._user_messages = 0
        self.records: list[dict[str, Any]] = []
        meta = {
            "id": session.id,
            "timestamp": format_time(self._time),
            "cwd": session.cwd,
            "originator": "ccgrep",
            "cli_version": (_VERSION, *session.versions)[-1],
            "source": "cli",
            **({"git": {"branch": session.branch}} if session.branch else {}),
        }
        self._add("session_meta", meta, Marker(origin=origin) if origin else None)
        if session.title_origin == "client" and session.title:
            self._add_event("thread_name_updated", thread_name=session.title, thread_id=session.id)

    def add_turn(self, entry: Entry, turn: Turn, is_inherited: bool = False) -> None:
        self._is_inherited = is_inherited
        started, ended = turn_times(self._session, entry)
        self._time, self._user_messages = started, 0
        form = make_form(turn, "codex")
        marker = Marker(entry.turn.hex(), is_undone=entry.is_rolled_back)
        self._add_user(self._make_content(form.prompt, form.attached), marker)
        # Codex shows the events, and takes the title of a session from them.
        self._add_event("user_message", _FOR_CLIENT, message=form.prompt)
        self._time = ended
        for step in form.steps:
            if isinstance(step, Message):
                self._add_parts(step.parts)
            elif is_compaction(step) and not entry.is_rolled_back:
                self._add_compaction(step)
            else:
                self._add_user(self._make_content(step.text), Marker(note=step.kind))
        if entry.is_rolled_back:
            # Codex counts messages of the user, and notes are such messages too.
            self._add_event("thread_rolled_back", _FOR_CLIENT, num_turns=self._user_messages)

    def _add_parts(self, parts: Sequence[Part]) -> None:
        """Add texts and calls, and the results after each group of calls."""
        results: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, ToolCall):
                results.append(self._add_call(part))
            elif isinstance(part, Text):
                results = self._add_results(results)
                content = [{"type": "output_text", "text": part.text}]
                self._add_item({"type": "message", "role": "assistant", "content": content})
                self._add_event("agent_message", _FOR_CLIENT, message=part.text)
        self._add_results(results)

    def _add_call(self, call: ToolCall) -> dict[str, Any]:
        """Add a call, and return its result."""
        id = make_id("call_", self._session.id, len(self.records))
        fields: dict[str, Any] = {"name": call.name, "call_id": id}
        kind = "custom_tool_call" if isinstance(call.input, str) else "function_call"
        if isinstance(call.input, str):
            fields |= {"status": "completed", "input": call.input}
        else:
            fields["arguments"] = msgspec.json.encode(call.input).decode()
        self._add_item({"type": kind, **fields})
        result = call.result or ToolResult()
        output: Any = result.text
        if result.blobs:
            output = self._make_content(result.text, result.blobs)
        return {"type": f"{kind}_output", "call_id": id, "output": output}

    def _add_results(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for result in results:
            self._add_item(result)
        return []

    def _add_compaction(self, note: Note) -> None:
        message = _to_user_message(self._make_content(note.text))
        payload = {"message": note.text, "replacement_history": [message]}
        self._add("compacted", payload, Marker(note=note.kind))

    def _make_content(self, text: str, blobs: Sequence[Blob] = ()) -> list[dict[str, Any]]:
        media, others = read_media(blobs, IMAGE_TYPES, self._read_blob)
        texts = [{"type": "input_text", "text": one} for one in (text, others) if one]
        urls = (f"data:{one.type};base64,{one.base64}" for one in media)
        return [*texts, *({"type": "input_image", "image_url": url} for url in urls)]

    def _add_user(self, content: list[dict[str, Any]], marker: Marker) -> None:
        self._user_messages += 1
        self._add_item(_to_user_message(content), marker)

    def _add_item(self, item: dict[str, Any], marker: Marker | None = None) -> None:
        self._add("response_item", item, marker)

    def _add_event(self, kind: str, marker: Marker | None = None, **fields: Any) -> None:
        self._add("event_msg", {"type": kind, **fields}, marker)

    def _add(self, kind: str, payload: dict[str, Any], marker: Marker | None = None) -> None:
        if self._is_inherited:
            marker = _FOR_CLIENT
        record = {"timestamp": format_time(self._time), "type": kind, "payload": payload}
        if marker is not None:
            record[FIELD] = to_builtins(marker)
        self.records.append(record)


def _to_user_message(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}
