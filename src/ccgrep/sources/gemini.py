"""Reads the chat recordings of Gemini CLI, and those of early versions of Qwen Code.

A recording is a list of messages in one JSON document, or since 0.39 a log of JSON lines. In the
log, a message is written again under its id when its calls or tokens change. `$set` changes the
metadata, and `$rewindTo` removes a message and all after it. `$set.messages` is what the model
sees: a compression replaces the messages there, and the conversation goes on in this file.
"""

import os
import re
from typing import Any

from msgspec.structs import replace

from ccgrep.kinds import SourceName
from ccgrep.model import Session, Text, Thinking
from ccgrep.sources.gemini_records import (
    Record,
    State,
    content_id,
    convert,
    extract_thoughts,
    find_cwd,
    iterate_records,
    make_id,
)
from ccgrep.sources.google_parts import (
    SNAPSHOT_ANSWER,
    Outputs,
    read_usage,
    split_content,
    split_prompt,
)
from ccgrep.sources.identity import safe_id
from ccgrep.sources.json_document import read_document
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import Input, Reading, SessionIdentity, SessionReading, make_reading
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_dicts,
    as_string,
    count_type,
    find_project,
    parse_time,
    usage_key,
    uuid_bytes,
)

_SNAPSHOT = "<state_snapshot>"
_WORKSPACE = re.compile(
    r"\*\*Workspace Directories:\*\*\n\s*- ([^\n]+)"
    r"|currently working in the (?:following )?director(?:y|ies): ?\n?(?:\s*- )?([^\n]+)"
)


def list_files(listing: Listing) -> None:
    """Add the recordings of each project: `tmp/<project>/chats/`, sub-agents one level below."""
    list_recordings(listing)


def list_recordings(listing: Listing) -> None:
    """Add the recordings below `tmp`."""
    for project in listing.list_folder(os.path.join(listing.root.path, "tmp")):
        if not project.is_dir(follow_symlinks=False) or project.name == "bin":
            continue
        for entry in listing.list_folder(os.path.join(project.path, "chats")):
            if entry.is_dir(follow_symlinks=False):
                for agent in listing.list_folder(entry.path):
                    if agent.name.endswith((".json", ".jsonl")):
                        listing.add_entry(agent, "session")
            elif entry.name.startswith("session-") and entry.name.endswith((".json", ".jsonl")):
                listing.add_entry(entry, "session")


def identify(path: str) -> SessionIdentity:
    """Return what the path says: the whole id of a sub-agent and of its parent, else a part."""
    folder, name = os.path.split(path)
    id = safe_id(name.removesuffix("l").removesuffix(".json"))
    if os.path.basename(folder) == "chats":
        return SessionIdentity(id)
    return SessionIdentity(id, "subagent", safe_id(os.path.basename(folder)))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a recording from `input.start`, or from its beginning if it is one document."""
    return read_recording(input, found, "gemini")


def read_recording(input: Input, found: FoundFile, source: SourceName) -> Reading:
    """Read a recording of Gemini CLI, or of an early version of Qwen Code."""
    recording = _Recording(input, found, source)
    return recording.read_document() if found.path.endswith(".json") else recording.read_log()


class _Recording:
    """Reads one recording."""

    def __init__(self, input: Input, found: FoundFile, source: SourceName) -> None:
        self._input = input
        self._found = found
        self._source = source
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._outputs = Outputs(found.root)
        self._state = input.decode_state(State(kind=input.identity.kind))

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def read_log(self) -> Reading:
        records = Records(self._input.stream, self._input.start, Record)
        for mark, end, record in records:
            self._turns.record = self._info(mark, end, record)
            if isinstance(record.rewind_to, str):
                self._rewind(record.rewind_to)
            elif isinstance(record.id, str):
                self._read_message(record)
            elif isinstance(record.set, dict):
                self._read_metadata(convert(record.set))
            elif isinstance(record.sessionId, str):
                self._read_metadata(record)
            else:
                self._count_unknown(record.type)
        entries, resume = self._turns.finish()
        bad = (*self._input.checkpoint.bad, *records.bad)
        part = self._make_part(tuple(entries), bad)
        return make_reading(self._input, records, [part], *(resume or (Mark(0, 0), State())))

    def read_document(self) -> Reading:
        document = read_document(self._input)
        start, end = Mark(0, 0), document.end.offset
        top = convert(document.value)
        self._turns.record = self._info(start, end, top)
        self._read_metadata(replace(top, messages=None))  # Those are the conversation itself.
        for message in iterate_records(top.messages):
            self._turns.record = self._info(start, end, message)
            self._read_message(message)
        entries, _ = self._turns.finish()
        part = self._make_part(tuple(entries), tuple(document.bad))
        return make_reading(self._input, document, [part], start, State(), is_rewritten=True)

    def _info(self, mark: Mark, end: int, record: Record) -> RecordInfo:
        uuid = uuid_bytes(record.id)
        return RecordInfo(mark, end, self._state, parse_time(record.timestamp), uuid=uuid)

    def _count_unknown(self, kind: Any) -> None:
        self._update(unknown_types=count_type(self._state.unknown_types, kind))

    # The session.

    def _read_metadata(self, record: Record) -> None:
        """Read the first line of a run, or the fields that `$set` changes."""
        self._update(
            id=self._state.id or as_string(record.sessionId),
            project_hash=self._state.project_hash or as_string(record.projectHash),
            title=as_string(record.summary) or self._state.title,
        )
        if record.kind == "subagent":
            self._update(kind="subagent")
        self._read_context(record.messages)

    def _read_context(self, messages: Any) -> None:
        """Read what the model sees, for what is in no record of its own.

        After a compression, the messages that stay have new ids.
        """
        aliases: dict[str, bytes] = {}
        info = self._turns.record
        for message in iterate_records(messages):
            known = self._turns.turn_by_uuid
            uuid, content = uuid_bytes(message.id), content_id(message)
            if uuid in known:
                continue
            if content in known:
                if message.type == "user":
                    aliases[as_string(message.id)] = content
                continue
            if message.type == "user" and self._is_setting(message):
                continue
            time = parse_time(message.timestamp)
            self._turns.record = info._replace(time=time, uuid=uuid)
            self._read_message(message)
        self._turns.record = info
        if aliases:
            self._update(aliases=aliases)

    def _is_setting(self, message: Record) -> bool:
        """Return whether a user message has only what the client tells the model at the start."""
        content = split_content(message.content)
        if match := next(filter(None, map(_WORKSPACE.search, content.texts[:1])), None):
            self._update(cwd=self._state.cwd or (match.group(1) or match.group(2)).strip())
        return not split_prompt(content.texts)[0] and not content.blobs

    def _rewind(self, id: str) -> None:
        """Roll back the turn of a prompt and all after it."""
        known = self._turns.turn_by_uuid
        uuid = uuid_bytes(id)
        if uuid not in known:
            uuid = self._state.aliases.get(id, b"")
        if uuid in known:
            self._turns.roll_back(known[uuid])

    # Messages.

    def _read_message(self, record: Record) -> None:
        uuid = self._turns.record.uuid
        is_known = uuid in self._turns.turn_by_uuid
        match record.type:
            case "user":
                if not is_known:
                    self._read_user_message(record)
            case "gemini" | "model" | "qwen" | "assistant":
                # A message is completed under its id, but not after its turn.
                if not is_known or self._turns.has_message(as_string(record.id)):
                    self._read_answer(record)
            case "info" | "warning" | "error" if not is_known:
                self._read_notice(record)
            case "info" | "warning" | "error":
                pass
            case kind:
                self._count_unknown(kind)
        self._turns.touch()
        self._turns.record = self._turns.record._replace(uuid=content_id(record))
        self._turns.touch()

    def _read_user_message(self, record: Record) -> None:
        content = split_content(record.content)
        for call_id, response in content.results:
            if self._turns.has_call(call_id):
                self._turns.add_result(call_id, self._outputs.make_result(response))
        if self._is_setting(record):
            return
        prompt, added = split_prompt(content.texts)
        if prompt.startswith(_SNAPSHOT):
            self._turns.add_note("summary", prompt)
            return
        if record.displayContent is not None:
            shown = "\n".join(split_content(record.displayContent).texts).strip()
            added = ([] if prompt in ("", shown) else [prompt]) + added if shown else added
            prompt = shown or prompt
        if prompt or content.blobs:
            self._turns.begin_turn(prompt, tuple(content.blobs))
            first = self._state.first_prompt or prompt[:MAX_TITLE_CHARS]
            self._update(first_prompt=first)
        for text in added:
            self._turns.add_note("context", text)

    def _read_answer(self, record: Record) -> None:
        content = split_content(record.content)
        if content.texts == [SNAPSHOT_ANSWER]:
            return
        model, id = as_string(record.model), as_string(record.id)
        self._update(models=append_unique(self._state.models, model))
        self._turns.begin_message(id, model)
        for thought in extract_thoughts(record.thoughts) or content.thoughts:
            self._turns.add_part(Thinking(thought))
        for text in content.texts:
            if text.strip():
                self._turns.add_part(Text(text))
        for call in content.calls:
            self._turns.add_call(call.id, call.name, call.input)
        for call_fields in as_dicts(record.toolCalls):
            self._read_call(call_fields)
        tokens = record.tokens if isinstance(record.tokens, dict) else {}
        names = ("input", "cached", "output", "thoughts")
        input, cached, output, thoughts = map(tokens.get, names)
        key = usage_key(self._source, id)
        if usage := read_usage(key, model, (input, cached, output, thoughts)):
            self._turns.add_usage(usage)

    def _read_call(self, call: dict[str, Any]) -> None:
        """Read a call, with its result if it has one already."""
        call_id, status = as_string(call.get("id")), as_string(call.get("status"))
        self._turns.add_call(call_id, as_string(call.get("name")) or "unknown", call.get("args"))
        results = split_content(call.get("result")).results
        display = call.get("resultDisplay")
        if results:
            self._turns.add_result(call_id, self._outputs.make_result(results[0][1], status))
        elif status in ("success", "error", "cancelled") and isinstance(display, str):
            response = {"response": {"output": display}}
            self._turns.add_result(call_id, self._outputs.make_result(response, status))

    def _read_notice(self, record: Record) -> None:
        """Read what the client told the user."""
        text = "\n".join(split_content(record.content).texts).strip()
        if not text:
            return
        if record.type == "error":
            self._turns.add_note("error", text)
        elif record.type == "info" and text.startswith("Request cancelled"):
            self._turns.add_note("interrupted", text)
        else:
            self._turns.add_note("notification", text)

    def _make_part(self, entries: Any, bad: Any) -> SessionReading:
        state, identity = self._state, self._input.identity
        cwd = find_cwd(self._found, state)
        title, is_titled = choose_title([state.title], state.first_prompt)
        session = Session(
            id=make_id(state.id, self._found.path, identity.id),
            source=self._source,
            kind=state.kind,
            parent=identity.parent,
            project=find_project(cwd),
            cwd=cwd,
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            unknown_types=state.unknown_types,
        )
        lacks_output = self._outputs.lacks_output
        return SessionReading(session, entries, bad, lacks_output=lacks_output)
