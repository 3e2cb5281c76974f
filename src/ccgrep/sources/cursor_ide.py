"""Reads the chats in the database of Cursor's IDE: `state.vscdb`.

The row `composerData:<id>` describes a chat and has the order of its messages. A message is in a
row `bubbleId:<id>:<bubble>`, of which Cursor may have emptied some. Whenever it writes a row, the
row gets a new rowid, so the highest one of a chat is its version.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.model import Session, Text, Thinking, ToolResult, Usage
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import Input, NoState, Reading, SessionReading, make_reading
from ccgrep.sources.scan import FoundFile, Listing, split_virtual
from ccgrep.sources.sqlite_file import Database, open_database
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_count,
    as_string,
    find_project,
    parse_time,
    usage_key,
    uuid_bytes,
)

NAME = "state.vscdb"
_USER = 1
_LIST = """
    SELECT SUBSTR(chat.key, 14), MAX(chat.rowid, MAX(bubble.rowid)), COUNT(*)
    FROM cursorDiskKV AS chat
    CROSS JOIN cursorDiskKV AS bubble
        ON bubble.key >= 'bubbleId:' || SUBSTR(chat.key, 14) || ':'
        AND bubble.key < 'bubbleId:' || SUBSTR(chat.key, 14) || ';'
    WHERE chat.key >= 'composerData:' AND chat.key < 'composerData;'
    GROUP BY chat.key
"""
"""Reads only the index of the keys: the values of a large database are gigabytes."""
_VALUE = "SELECT CAST(value AS TEXT) FROM cursorDiskKV WHERE key = ?"
_TABLE = "SELECT name FROM sqlite_master WHERE name = 'cursorDiskKV'"
_COMPOSER_FIELDS = (
    "name createdAt lastUpdatedAt workspaceIdentifier trackedGitRepos modelConfig subagentInfo"
).split()
_BUBBLE_FIELDS = (
    "bubbleId type text thinking toolFormerData createdAt timingInfo lastTerminalCwd modelInfo"
    " tokenCount errorDetails"
).split()
"""What is kept of a chat and of a message: the rest is context that the client added."""


def list_chats(listing: Listing, database: str) -> None:
    """Add each chat that has messages, with its version."""
    # Cursor creates the table with the first chat.
    if listing.add_database(database) and listing.query(database, _TABLE):
        for id, row, count in listing.query(database, _LIST):
            listing.add_virtual(database, as_string(id), as_count(count) or 0, as_count(row) or 0)


def list_ids(database: str, root: str) -> set[str]:
    """Return the ids of the chats in a database."""
    with open_database(database, root) as opened:
        return {as_string(row[0]) for row in opened.rows(_LIST)}


def export(found: FoundFile) -> Iterator[dict[str, Any]]:
    """Yield what a chat is about, then its messages in their order."""
    container, id = split_virtual(found.path)
    with open_database(container, found.root) as database:
        composer = _load(database, f"composerData:{id}")
        yield {"composer": {name: composer.get(name) for name in _COMPOSER_FIELDS}}
        headers = composer.get("fullConversationHeadersOnly")
        for header in headers if isinstance(headers, list) else []:
            bubble_id = as_string(header.get("bubbleId")) if isinstance(header, dict) else ""
            bubble = _load(database, f"bubbleId:{id}:{bubble_id}") if bubble_id else {}
            if bubble:
                bubble.setdefault("bubbleId", bubble_id)
                bubble.setdefault("type", header.get("type"))
                yield {"bubble": {name: bubble.get(name) for name in _BUBBLE_FIELDS}}


def _load(database: Database, key: str) -> dict[str, Any]:
    """Return the object in a row, empty if there is none."""
    rows = database.rows(_VALUE, key)
    try:
        value = msgspec.json.decode(as_string(rows[0][0]) if rows else "{}")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Row(Struct, gc=False):
    """A row of `export`."""

    composer: Any = None
    bubble: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return "composer" in value or "bubble" in value


def read_chat(input: Input, found: FoundFile) -> Reading:
    """Read a chat. Any message may have changed, so all of it is read each time."""
    chat = _Chat(input, found)
    records = Records(input.stream, input.start, Row)
    for _, end, row in records:
        if isinstance(row.composer, dict):
            chat.read_composer(row.composer)
        elif isinstance(row.bubble, dict):
            chat.read_bubble(row.bubble, end)
    part = chat.finish(tuple(records.bad))
    return make_reading(input, records, [part], Mark(0, 0), NoState(), is_rewritten=True)


class _Chat:
    """The turns of one chat."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._id = split_virtual(found.path)[1]
        self._turns = TurnBuilder(input.sink)
        self._title = self._cwd = self._parent = self._model = self._first_prompt = ""
        self._time: int | None = None  # of the last message that had one
        self._models: tuple[str, ...] = ()

    def read_composer(self, composer: dict[str, Any]) -> None:
        self._title = as_string(composer.get("name"))
        workspace = _get(composer, "workspaceIdentifier", "uri", "fsPath")
        repositories = composer.get("trackedGitRepos")
        first = repositories[0] if isinstance(repositories, list) and repositories else None
        self._cwd = as_string(workspace) or as_string(_get(first, "repoPath"))
        self._time = parse_time(composer.get("createdAt"))
        self._model = _model_name(_get(composer, "modelConfig", "modelName"))
        self._parent = as_string(_get(composer, "subagentInfo", "parentComposerId"))

    def read_bubble(self, bubble: dict[str, Any], end: int) -> None:
        """Read a message. Most of the agent's have one call each, or a part of its answer."""
        id = as_string(bubble.get("bubbleId"))
        # In 2025, messages had no other directory, and no time but that of some requests.
        self._cwd = self._cwd or as_string(bubble.get("lastTerminalCwd"))
        sent = _get(bubble, "timingInfo", "clientRpcSendTime")
        self._time = parse_time(bubble.get("createdAt")) or parse_time(sent) or self._time
        uuid = uuid_bytes(id)
        self._turns.record = RecordInfo(Mark(0, 0), end, None, self._time, self._cwd, uuid=uuid)
        text = as_string(bubble.get("text")).strip()
        self._model = _model_name(_get(bubble, "modelInfo", "modelName")) or self._model
        if bubble.get("type") == _USER:
            if text:
                self._turns.begin_turn(text)
                self._first_prompt = self._first_prompt or text[:MAX_TITLE_CHARS]
            return
        self._models = append_unique(self._models, self._model)
        self._turns.begin_message(id, self._model)
        if thought := as_string(_get(bubble, "thinking", "text")).strip():
            self._turns.add_part(Thinking(thought))
        if text:
            self._turns.add_part(Text(text))
        tool = bubble.get("toolFormerData")
        if isinstance(tool, dict) and (tool.get("name") or tool.get("toolCallId")):
            self._read_call(id, tool)
        if error := as_string(_get(bubble, "errorDetails", "message")):
            self._turns.add_note("error", error)
        self._add_usage(id, bubble.get("tokenCount"))

    def _read_call(self, id: str, tool: dict[str, Any]) -> None:
        call_id = as_string(tool.get("toolCallId")) or id
        call_input = _parse(tool.get("rawArgs"))
        if call_input in (None, "", {}):
            call_input = _parse(tool.get("params"))
        name = as_string(tool.get("name")) or "unknown"
        self._turns.add_call(call_id, name, call_input)
        status, result = as_string(tool.get("status")), tool.get("result")
        is_error = status in ("error", "cancelled")
        if result is not None or is_error or status == "completed":
            text = _flatten(result) or as_string(_get(tool, "error", "message"))
            self._turns.add_result(call_id, ToolResult(text, is_error))

    def _add_usage(self, id: str, tokens: Any) -> None:
        input, output = (as_count(_get(tokens, name)) for name in ("inputTokens", "outputTokens"))
        if input or output:
            self._turns.add_usage(Usage(usage_key("cursor", id), self._model, input, output))

    def finish(self, bad: Any) -> SessionReading:
        entries, _ = self._turns.finish()
        title, is_titled = choose_title([self._title], self._first_prompt)
        session = Session(
            id=safe_id(self._id),
            source="cursor",
            kind="subagent" if self._parent else "main",
            parent=safe_id(self._parent) if self._parent else "",
            project=find_project(self._cwd),
            cwd=self._cwd,
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=self._models,
        )
        return SessionReading(session, tuple(entries), bad)


def _model_name(name: Any) -> str:
    """Return the name of a model. `default` is none: the client chooses."""
    return "" if name == "default" else as_string(name)


def _get(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _parse(value: Any) -> Any:
    """Return a value that may be in a string of JSON."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return value


def _flatten(result: Any) -> str:
    """Return the text of a result: a string, or an object with the text in a field."""
    value = _parse(result)
    for name in ("output", "contents"):
        if isinstance(text := _get(value, name), str):
            return text
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
