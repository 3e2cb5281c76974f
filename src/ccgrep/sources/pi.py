"""Reads the sessions of Pi and of oh-my-pi, which share a format: JSON lines that form a tree.

A record names the record that it follows. If that is not the one before it, the user went back to
an earlier point of the session and continued from there (`/tree`). The turns that the session's
last branch leaves out then count as rolled back.

Oh-my-pi writes the title into the first line, which it overwrites in place. Its sub-agents have
files of their own, in a folder with the name of their parent's file.
"""

import os
from typing import Any

from msgspec.structs import replace

from ccgrep.kinds import FileKind
from ccgrep.model import Session, Text, Thinking, ToolResult
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.pi_records import (
    CONTEXT_ROLES,
    IGNORED_ROLES,
    IGNORED_TYPES,
    SUMMARY_ROLES,
    USER_COMMANDS,
    Record,
    State,
    extract_images,
    extract_text,
    parse_origin,
    parse_stem,
    parse_usage,
    split_prompt,
)
from ccgrep.sources.reading import Input, Reading, SessionIdentity, SessionReading, make_reading
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_string,
    count_type,
    find_project,
    parse_time,
    uuid_bytes,
)

_MAX_ROOTS = 64


def list_files(listing: Listing) -> None:
    """Add every session below the root."""
    listing.add_tree(os.path.join(listing.root.path, "sessions"), _kind_of)


def _kind_of(name: str) -> FileKind | None:
    return "session" if name.endswith(".jsonl") else None


def identify(path: str) -> SessionIdentity:
    """Return the session's id from its file's name, and its parent from the folder's."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".jsonl")
    parent = parse_stem(os.path.basename(folder))
    if parent:
        return SessionIdentity(safe_id(f"{parent}-{stem}"), "subagent", safe_id(parent), stem)
    return SessionIdentity(safe_id(parse_stem(stem) or stem))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a session to the end of the stream."""
    return _PiReader(input, found).read()


class _PiReader:
    """Reads one session."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._input = input
        self._source = found.source
        self._records = Records(input.stream, input.start, Record)
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._state = input.decode_state(State())

    def read(self) -> Reading:
        for mark, end, record in self._records:
            self._read_record(mark, end, record)
        entries, resume = self._turns.finish()
        bad = (*self._input.checkpoint.bad, *self._records.bad)
        reading = SessionReading(self._make_session(), tuple(entries), bad)
        resume = resume or (Mark(0, 0), State())
        return make_reading(self._input, self._records, [reading], *resume)

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _read_record(self, mark: Mark, end: int, record: Record) -> None:
        state = self._state
        is_message = record.type == "message"
        time = parse_time(record.timestamp) if is_message else None
        uuid = self._uuid(as_string(record.id))
        self._turns.record = RecordInfo(mark, end, state, time, state.cwd, "", uuid)
        self._follow_tree(record)
        if is_message and isinstance(record.message, dict):
            self._read_message(record.message)
        else:
            self._read_other(record)
        self._count_turns()

    def _uuid(self, id: str) -> bytes:
        """Return a record's UUID. Its id alone has 32 bits, so other sessions may have it too."""
        return uuid_bytes(f"{self._state.tree}/{id}") if id else b""

    # The tree.

    def _follow_tree(self, record: Record) -> None:
        """Move to another branch if the record does not follow the one before it."""
        id, state = as_string(record.id), self._state
        if not id or record.type == "session":
            return
        if not state.tree:
            self._update(tree=f"{id} {record.timestamp}")
            uuid = self._uuid(id)
            self._turns.record = self._turns.record._replace(uuid=uuid, state=self._state)
        elif record.parent_id != state.leaf:
            self._move_to(record.parent_id)
        if not self._turns.count and len(state.roots) < _MAX_ROOTS:
            self._update(roots=(*state.roots, id))
        self._update(leaf=id)

    def _move_to(self, parent: Any) -> None:
        """Continue after another record, unless that one was not read: its line is damaged."""
        turn = self._turns.turn_by_uuid.get(self._uuid(as_string(parent)))
        if turn is None and (parent is None or parent in self._state.roots):
            turn = -1
        if turn is None or turn >= len(self._state.follows):
            return
        self._update(current=turn)
        path = set()
        while turn >= 0:
            path.add(turn)
            turn = self._state.follows[turn]
        self._turns.keep_path(path)

    def _count_turns(self) -> None:
        """Record which turn each new turn follows."""
        for number in range(len(self._state.follows), self._turns.count):
            follows = (*self._state.follows, self._state.current)
            self._update(follows=follows, current=number)

    # Records other than messages.

    def _read_other(self, record: Record) -> None:
        match record.type:
            case "compaction":
                self._add_note("summary", as_string(record.summary))
            case "branch_summary":
                self._update(left_branch=as_string(record.summary))
            case "custom_message":
                self._add_note("context", extract_text(record.content))
            case "usage" | "model_usage":
                self._add_usage(record.usage, as_string(record.model), record.timestamp)
            case _:
                self._read_fact(record)
        self._turns.touch()

    def _read_fact(self, record: Record) -> None:
        """Read a record that tells something about the session."""
        match record.type:
            case "session":
                self._read_header(record)
            case "title" | "title_change":
                self._update(title=as_string(record.title))
            case "session_info":
                self._update(name=as_string(record.name))
            case "session_init":
                self._update(agent=as_string(record.agent))
            case "model_change":
                model = as_string(record.model_id) or as_string(record.model).partition("/")[2]
                self._update(model=model)
            case kind if as_string(kind) not in IGNORED_TYPES:
                self._count_unknown(as_string(kind))

    def _count_unknown(self, kind: str) -> None:
        self._update(unknown_types=count_type(self._state.unknown_types, kind))

    def _read_header(self, record: Record) -> None:
        state = self._state
        if state.id:
            return
        origin = record.parent_session or record.branched_from
        is_subagent = self._input.identity.kind == "subagent"
        cwd = as_string(record.cwd)
        self._update(
            id=as_string(record.id),
            cwd=cwd,
            title=state.title or as_string(record.title),
            forked_from="" if is_subagent else parse_origin(origin),
            model=as_string(record.model_id),
        )

    # Messages.

    def _read_message(self, message: dict[str, Any]) -> None:
        role = as_string(message.get("role"))
        content = message.get("content")
        match role:
            case "user":
                self._read_prompt(content)
            case "assistant":
                self._read_answer(message)
            case "toolResult":
                is_error = message.get("isError") is True
                result = ToolResult(extract_text(content), is_error, extract_images(content))
                self._turns.add_result(as_string(message.get("toolCallId")), result)
            case _ if role in USER_COMMANDS:
                self._begin_turn(as_string(message.get(USER_COMMANDS[role])))
                self._add_note("command", as_string(message.get("output")))
            case _ if role in SUMMARY_ROLES:
                self._add_note("summary", as_string(message.get("summary")))
            case _ if role in CONTEXT_ROLES:
                self._add_note("context", extract_text(content))
            case _ if role not in IGNORED_ROLES:
                self._count_unknown(f"message/{role}")
        self._turns.touch()

    def _read_prompt(self, content: Any) -> None:
        typed, images = split_prompt(extract_text(content)), extract_images(content)
        self._turns.begin_turn(typed.prompt, images)
        self._note_prompt(typed.prompt)
        for text in typed.context:
            self._add_note("context", text)

    def _begin_turn(self, prompt: str) -> None:
        self._turns.begin_turn(prompt)
        self._note_prompt(prompt)

    def _note_prompt(self, prompt: str) -> None:
        self._add_note("summary", self._state.left_branch)
        first = self._state.first_prompt or prompt[:MAX_TITLE_CHARS]
        self._update(first_prompt=first, left_branch="")

    def _add_note(self, kind: Any, text: str) -> None:
        if text.strip():
            self._turns.add_note(kind, text)

    def _read_answer(self, message: dict[str, Any]) -> None:
        model = as_string(message.get("model")) or self._state.model
        self._turns.begin_message(str(self._turns.record.mark.offset), model)
        self._update(model=model, models=append_unique(self._state.models, model))
        blocks = message.get("content")
        for number, block in enumerate(blocks if isinstance(blocks, list) else []):
            if isinstance(block, dict):
                self._read_block(block, number)
        self._add_usage(message.get("usage"), model, message.get("timestamp"))
        error = as_string(message.get("errorMessage"))
        match message.get("stopReason"):
            case "aborted":
                self._add_note("interrupted", error or "Request was aborted")
            case "error":
                self._add_note("error", error)

    def _read_block(self, block: dict[str, Any], number: int) -> None:
        match block.get("type"):
            case "text" if text := as_string(block.get("text")):
                self._turns.add_part(Text(text))
            case "thinking" if thought := as_string(block.get("thinking")):
                self._turns.add_part(Thinking(thought))
            case "toolCall":
                call_id = as_string(block.get("id"))
                call_id = call_id or f"#{self._turns.record.mark.offset}-{number}"
                name = as_string(block.get("name")) or "unknown"
                self._turns.add_call(call_id, name, block.get("arguments"))

    def _add_usage(self, value: Any, model: str, time: Any) -> None:
        """Count the tokens of an answer, whose time forks and migrated files keep."""
        usage = parse_usage(value, model, parse_time(time), model)
        if usage is None or not self._turns.count:
            return
        tokens, usd = usage
        self._turns.add_usage(tokens)
        if usd is not None:
            self._update(cost_usd=(self._state.cost_usd or 0) + usd)

    def _make_session(self) -> Session:
        state, identity = self._state, self._input.identity
        title, is_titled = choose_title([state.name, state.title], state.first_prompt)
        return Session(
            id=identity.id if identity.parent or not state.id else safe_id(state.id),
            source=self._source,
            kind=identity.kind,
            parent=identity.parent,
            forked_from=state.forked_from,
            agent=state.agent,
            project=find_project(state.cwd),
            cwd=state.cwd,
            title=title or identity.description,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            unknown_types=state.unknown_types,
            cost_usd=state.cost_usd,
        )
