"""Reads the transcripts of Qwen Code: `projects/<project>/chats/<id>.jsonl`.

The records follow each other by `parentUuid`. After a rewind, the next one follows the record
before the prompt that was taken back. Sub-agents have files of their own, in `subagents/<id>/`.
Versions before 0.6 recorded like Gemini CLI, in `tmp/<hash>/chats/`.
"""

import os
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.model import Session, Text, Thinking
from ccgrep.sources.files import read_side_json
from ccgrep.sources.gemini import identify as identify_recording
from ccgrep.sources.gemini import list_recordings, read_recording
from ccgrep.sources.google_parts import (
    SNAPSHOT_ANSWER,
    Outputs,
    read_usage,
    split_content,
    split_prompt,
)
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
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
    usage_key,
    uuid_bytes,
)

_MAX_META_BYTES = 64 * 1024
_IGNORED_SUBTYPES = frozenset(
    """
    ui_telemetry attribution_snapshot at_command file_history_snapshot session_model
    session_source session_sources_snapshot session_artifact_event session_artifact_snapshot
    session_recording_degraded branch_checkpoint turn_result user_text_elements goal_state
    goal_runtime goal_turn_end omni_recall background_task_completed
    """.split()
)
"""System records that say nothing about the conversation."""


def list_files(listing: Listing) -> None:
    """Add the transcripts of each project, and the recordings of early versions."""
    for project in listing.list_folder(os.path.join(listing.root.path, "projects")):
        if not project.is_dir(follow_symlinks=False):
            continue
        _add_transcripts(listing, os.path.join(project.path, "chats"))
        for session in listing.list_folder(os.path.join(project.path, "subagents")):
            if session.is_dir(follow_symlinks=False):
                _add_transcripts(listing, session.path)
    list_recordings(listing)


def _add_transcripts(listing: Listing, directory: str) -> None:
    for entry in listing.list_folder(directory):
        if entry.name.endswith(".jsonl"):
            listing.add_entry(entry, "session")


def list_side_files(path: str) -> list[str]:
    """Return the description of a sub-agent."""
    return [_meta_path(path)] if _is_agent(path) else []


def _is_agent(path: str) -> bool:
    return os.path.basename(os.path.dirname(os.path.dirname(path))) == "subagents"


def _meta_path(path: str) -> str:
    return path.removesuffix(".jsonl") + ".meta.json"


def _read_meta(path: str) -> dict[str, Any]:
    return read_side_json(_meta_path(path), max_bytes=_MAX_META_BYTES)


def identify(path: str) -> SessionIdentity:
    """Return the id of a transcript, and what the file beside it says of a sub-agent."""
    folder, name = os.path.split(path)
    stem = name.removesuffix(".jsonl")
    if _is_agent(path):
        meta, parent = _read_meta(path), os.path.basename(folder)
        return SessionIdentity(
            id=safe_id(stem),
            kind="subagent",
            parent=safe_id(as_string(meta.get("parentAgentId")) or parent),
            description=as_string(meta.get("description")),
            agent=as_string(meta.get("agentType")),
        )
    return identify_recording(path) if _is_recording(path) else SessionIdentity(safe_id(stem))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a transcript from `input.start` to its end."""
    if _is_recording(found.path):
        return read_recording(input, found, "qwen")
    model = as_string(_read_meta(found.path).get("model")) if _is_agent(found.path) else ""
    return _Transcript(input, found, model).read()


def _is_recording(path: str) -> bool:
    project = os.path.dirname(os.path.dirname(path))
    return os.path.basename(os.path.dirname(project)) == "tmp"


class Record(Struct, gc=False):
    """One line of a transcript."""

    type: Any = None
    uuid: Any = None
    parentUuid: Any = None  # noqa: N815 - the client's names
    timestamp: Any = None
    subtype: Any = None
    cwd: Any = None
    version: Any = None
    gitBranch: Any = None  # noqa: N815
    message: Any = None
    model: Any = None
    usageMetadata: Any = None  # noqa: N815
    toolCallResult: Any = None  # noqa: N815
    systemPayload: Any = None  # noqa: N815
    provenance: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return "type" in value and "uuid" in value

    def content(self) -> Any:
        """Return the parts of the message."""
        return self.message.get("parts") if isinstance(self.message, dict) else None

    def payload(self) -> dict[str, Any]:
        return self.systemPayload if isinstance(self.systemPayload, dict) else {}


class State(Struct, frozen=True, omit_defaults=True):
    """What earlier records said that later ones depend on."""

    kind: SessionKind = "main"
    parent: str = ""
    title: str = ""
    first_prompt: str = ""
    cwd: str = ""
    branch: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    unknown_types: dict[str, int] = {}


class _Transcript:
    """Reads one transcript."""

    def __init__(self, input: Input, found: FoundFile, model: str) -> None:
        self._input = input
        self._model = model
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._outputs = Outputs(found.root)
        identity = input.identity
        self._state = input.decode_state(State(kind=identity.kind, parent=identity.parent))

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def read(self) -> Reading:
        """Read to the end of the stream."""
        records = Records(self._input.stream, self._input.start, Record)
        for mark, end, record in records:
            self._turns.record = RecordInfo(
                mark,
                end,
                self._state,
                parse_time(record.timestamp),
                as_string(record.cwd),
                as_string(record.gitBranch),
                uuid_bytes(record.uuid),
            )
            self._update(
                cwd=self._state.cwd or as_string(record.cwd),
                branch=as_string(record.gitBranch) or self._state.branch,
                versions=append_unique(self._state.versions, record.version),
            )
            self._read_record(record)
            self._turns.touch()
        entries, resume = self._turns.finish()
        part = SessionReading(
            self._make_session(),
            tuple(entries),
            (*self._input.checkpoint.bad, *records.bad),
            lacks_output=self._outputs.lacks_output,
        )
        return make_reading(self._input, records, [part], *(resume or (Mark(0, 0), State())))

    def _read_record(self, record: Record) -> None:
        match record.type:
            case "user":
                self._read_user_message(record)
            case "assistant":
                self._read_answer(record)
            case "tool_result":
                self._read_results(record)
            case "system":
                self._read_system(record)
            case kind:
                self._count_unknown(kind)

    def _count_unknown(self, kind: Any) -> None:
        self._update(unknown_types=count_type(self._state.unknown_types, kind))

    def _read_user_message(self, record: Record) -> None:
        content = split_content(record.content())
        prompt, added = split_prompt(content.texts)
        if record.subtype == "notification" or record.provenance == "system":
            self._turns.add_note("notification", "\n".join(content.texts))
            return
        # Since 0.21, the parts may have a text that the client made of what the user typed.
        shown = as_string(record.payload().get("displayText")).strip()
        if shown and prompt not in ("", shown) and record.subtype != "mid_turn_user_message":
            added = [prompt, *added]
        prompt = shown or prompt
        if prompt or content.blobs:
            self._turns.begin_turn(prompt, tuple(content.blobs))
            first = self._state.first_prompt or prompt[:MAX_TITLE_CHARS]
            self._update(first_prompt=first)
        for text in added:
            self._turns.add_note("context", text)

    def _read_answer(self, record: Record) -> None:
        model, uuid = as_string(record.model) or self._model, as_string(record.uuid)
        self._update(models=append_unique(self._state.models, model))
        self._turns.begin_message(uuid, model)
        content = split_content(record.content())
        for thought in content.thoughts:
            self._turns.add_part(Thinking(thought))
        for text in content.texts:
            if text.strip():
                self._turns.add_part(Text(text))
        for call in content.calls:
            self._turns.add_call(call.id, call.name, call.input)
        counts = record.usageMetadata if isinstance(record.usageMetadata, dict) else {}
        names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount")
        input, cached, output = map(counts.get, names)  # The output includes the thoughts.
        key = usage_key("qwen", uuid)
        if usage := read_usage(key, model, (input, cached, output, None)):
            self._turns.add_usage(usage)

    def _read_results(self, record: Record) -> None:
        outcome = record.toolCallResult if isinstance(record.toolCallResult, dict) else {}
        for call_id, response in split_content(record.content()).results:
            result = self._outputs.make_result(response, as_string(outcome.get("status")))
            self._turns.add_result(call_id, result)

    def _read_system(self, record: Record) -> None:
        payload = record.payload()
        match record.subtype:
            case "rewind":
                self._rewind(record.parentUuid)
            case "custom_title":
                self._update(title=as_string(payload.get("customTitle")))
            case "parent_session":
                parent = safe_id(as_string(payload.get("parentSessionId")))
                self._update(kind="subagent", parent=parent)
            case "slash_command":
                if payload.get("phase") == "invocation":
                    self._turns.add_note("command", as_string(payload.get("rawCommand")))
            case "chat_compression":
                self._read_compression(payload.get("compressedHistory"))
            case kind if as_string(kind) not in _IGNORED_SUBTYPES:
                self._count_unknown(f"system/{kind}")

    def _rewind(self, parent: Any) -> None:
        """Roll back the turns after the record that the next one follows."""
        if parent is None:
            self._turns.roll_back(0)
        elif (turn := self._turns.turn_by_uuid.get(uuid_bytes(parent))) is not None:
            self._turns.roll_back(turn + 1)

    def _read_compression(self, history: Any) -> None:
        """Note the summary: the message before the agent's thanks in what the model sees now."""
        said: list[str] = []
        for message in history if isinstance(history, list) else []:
            parts = message.get("parts") if isinstance(message, dict) else None
            texts = split_content(parts).texts
            if texts[:1] == [SNAPSHOT_ANSWER] and said:
                self._turns.add_note("summary", "\n".join(said))
                return
            said = texts

    def _make_session(self) -> Session:
        state, identity = self._state, self._input.identity
        title, is_titled = choose_title([state.title, identity.description], state.first_prompt)
        return Session(
            id=identity.id,
            source="qwen",
            kind=state.kind,
            parent=state.parent,
            agent=identity.agent,
            project=find_project(state.cwd),
            cwd=state.cwd,
            branch=state.branch,
            title=title or identity.agent,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            versions=state.versions,
            unknown_types=state.unknown_types,
        )
