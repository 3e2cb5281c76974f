"""Reads Claude Code's transcripts.

A file is one session, except for sidechains: versions up to 2.0.22 wrote sub-agents into the main
file. The meaning of a record follows from its type and from `prompts`. The chain of `parentUuid`
only marks the turns that the user rolled back: following it would lose a third of the records.
"""

from typing import Any, cast

from msgspec.structs import replace

from ccgrep.kinds import NoteKind
from ccgrep.model import Blob, Entry, Session, Text, Thinking, ToolResult
from ccgrep.sources.claude_records import (
    Record,
    extract_prompt,
    extract_text,
    parse_usage,
    to_blocks,
)
from ccgrep.sources.claude_state import PromptForm, State
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.marker import Marker, parse_marker
from ccgrep.sources.prompts import (
    Segment,
    extract_call_id,
    is_machine_prompt,
    split_meta_text,
    split_user_text,
)
from ccgrep.sources.reading import Input, Reading, SessionReading, make_reading
from ccgrep.sources.spills import Spills, is_background
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title, take_sentence
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    as_amount,
    as_string,
    block_blob,
    parse_time,
    uuid_bytes,
)

_KEPT_ATTACHMENTS = frozenset(["file", "directory", "selected_lines_in_ide"])
_NO_ANSWER = "No response requested."


class ClaudeReader:
    """Reads one transcript."""

    def __init__(self, input: Input, spills: Spills) -> None:
        self._input = input
        self._identity = input.identity
        self._records = Records(input.stream, input.start, Record)
        self._spills = spills
        self._state = input.decode_state(State(parent=input.identity.parent))
        self._main = TurnBuilder(input.sink, input.checkpoint.entries)
        self._turns = self._main  # of the sidechain while one of its records is read
        self._sidechains: dict[bytes, TurnBuilder] = {}
        self._sidechain_by_uuid: dict[bytes, bytes] = {}
        self._envelope: tuple[Any, ...] = ()
        self._machine_turns: set[int] = set()  # of a worker; the last turn is its own
        self._first_prompt_turn = 0

    def read(self) -> Reading:
        """Read to the end of the stream."""
        records = self._records
        for mark, end, record in records:
            self._read_record(mark, end, record)
        self._begin_injected(None)
        if self._is_worker:
            self._main.mark_last_as_machine()
        entries, resume = self._main.finish()
        bad = (*self._input.checkpoint.bad, *records.bad)
        own = entries[-1:] if self._is_worker else entries
        session = replace(self._make_session(), forked_at=self._state.find_fork_time(entries))
        lacks_output = self._spills.lacks_output
        claims = () if self._is_worker else tuple(self._main.claims)
        sessions = [SessionReading(session, tuple(own), bad, False, lacks_output, claims)]
        sessions += [self._finish_sidechain(*item) for item in self._sidechains.items()]
        sessions += self._finish_inherited(entries[:-1]) if self._is_worker else []
        if resume is None or len(sessions) > 1:
            # The state covers only one session, so the next run reads the whole file.
            resume = (Mark(0, 0), State(parent=self._identity.parent))
        return make_reading(self._input, records, sessions, *resume)

    @property
    def _is_worker(self) -> bool:
        return self._identity.kind == "worker"

    def _read_record(self, mark: Mark, end: int, record: Record) -> None:
        kind = record.type
        if kind in ("user", "assistant", "system", "attachment"):
            uuid = uuid_bytes(record.uuid)
            if uuid in self._main.turn_by_uuid or uuid in self._sidechain_by_uuid:
                return
            if record.isSidechain is True and self._identity.kind == "main":
                self._turns = self._find_sidechain(uuid, record)
            time, cwd = parse_time(record.timestamp), as_string(record.cwd)
            branch = as_string(record.gitBranch)
            parent = uuid_bytes(record.parentUuid)
            self._turns.record = RecordInfo(mark, end, self._state, time, cwd, branch, uuid, parent)
            self._read_envelope(record)
            if kind == "assistant":
                self._read_assistant(record)
            elif kind == "user":
                self._read_user(record)
            elif kind == "attachment":
                self._read_attachment(record)
            else:
                self._read_system(record)
            self._turns = self._main
        elif kind == "queue-operation":
            time = parse_time(record.timestamp)
            self._turns.record = RecordInfo(mark, end, self._state, time)
            self._state = self._state.apply_queue_operation(record)
            if not self._main.count and self._state.begun is None:
                self._state = replace(self._state, begun=time)
        else:
            self._state = self._state.apply_metadata(record)

    def _read_envelope(self, record: Record) -> None:
        envelope = (record.cwd, record.gitBranch, record.slug, record.sessionId, record.version)
        if envelope != self._envelope or record.forkedFrom:
            self._envelope = envelope
            self._state = self._state.apply_envelope(record, self._identity.kind)

    # The agent's messages, calls and results.

    def _read_assistant(self, record: Record) -> None:
        message = record.api_message()
        model = as_string(message.get("model"))
        blocks = to_blocks(message.get("content"))
        if model == "<synthetic>" or record.isApiErrorMessage is True:
            self._read_synthetic(record, extract_text(blocks))
            return
        key = as_string(message.get("id")) or as_string(record.uuid) or "?"
        if not self._turns.has_message(key):
            if self._state.injected:
                self._begin_injected(parse_time(record.timestamp))
            self._state = self._state.age_seen_prompts().add_cost(as_amount(record.costUSD))
        self._turns.begin_message(key, model)
        self._set_first_prompt()
        for block in blocks:
            self._read_agent_block(block)
        if usage := parse_usage(record, key, model):
            self._turns.add_usage(usage)
        self._state = self._state.add_model(model)

    def _read_synthetic(self, record: Record, text: str) -> None:
        """Read a message that the client wrote: an error, or what an interrupted agent said."""
        if text.strip() == _NO_ANSWER:
            self._turns.touch()
        elif record.isApiErrorMessage is False and text:
            self._turns.begin_message(as_string(record.uuid) or "?", "")
            self._turns.add_part(Text(text))
        else:
            self._turns.add_note("error", text)

    def _read_agent_block(self, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind in ("text", "thinking"):
            if text := as_string(block.get(kind)):
                self._turns.add_part(Text(text) if kind == "text" else Thinking(text))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            name, call_id = as_string(block.get("name")), as_string(block.get("id"))
            self._turns.add_call(call_id, name, block.get("input"))
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            self._read_result(block)

    def _read_result(self, block: dict[str, Any]) -> None:
        call_id = as_string(block.get("tool_use_id"))
        texts: list[str] = []
        blobs: list[Blob] = []
        for part in to_blocks(block.get("content")):
            if blob := block_blob(part):
                blobs.append(blob)
            elif part.get("type") == "tool_reference":
                texts.append(as_string(part.get("tool_name")))
            else:
                texts.append(as_string(part.get("text")))
        text = "\n".join(filter(None, texts))
        text, spilled = self._spills.resolve(text, call_id)
        blobs += spilled
        is_error = block.get("is_error") is True or text.startswith("<tool_use_error>")
        result = ToolResult(text, is_error, tuple(blobs))
        self._turns.add_result(call_id, result, is_background(text))

    # User records: prompts, results and text that the client added.

    def _read_user(self, record: Record) -> None:
        marker = parse_marker(record.ccgrep)
        if marker is not None and self._read_rebuilt(record, marker):
            return
        texts: list[str] = []
        blobs: list[Blob] = []
        has_result = False
        for block in to_blocks(record.api_message().get("content")):
            kind = block.get("type")
            if kind == "tool_result":
                has_result = True
                self._read_result(block)
            elif kind == "text":
                texts.append(as_string(block.get("text")))
            elif blob := block_blob(block):
                blobs.append(blob)
        if record.isCompactSummary is True:
            self._turns.add_note("summary", "\n".join(texts))
        elif texts or (blobs and not has_result):
            self._add_user_texts(record, texts, tuple(blobs))

    def _read_rebuilt(self, record: Record, marker: Marker) -> bool:
        """Read a prompt or note that ccgrep wrote as it is; return whether it is one."""
        blocks = to_blocks(record.api_message().get("content"))
        text = as_string(blocks[0].get("text")) if blocks else ""
        if marker.origin and not self._state.forked_from:
            self._state = replace(self._state, forked_from=safe_id(marker.origin))
        if marker.turn_id is not None:
            self._turns.begin_rebuilt_turn(text, marker.turn_id, marker.is_undone)
            self._set_first_prompt()
        elif marker.note is not None:
            self._turns.add_note(marker.note, text)
        else:
            return False
        return True

    def _add_user_texts(self, record: Record, texts: list[str], blobs: tuple[Blob, ...]) -> None:
        if not record.is_typed():
            self._add_notification("\n".join(texts))
            return
        is_meta = record.isMeta is True
        split = split_meta_text if is_meta else split_user_text
        segments = [segment for text in texts for segment in split(text)]
        prompt = "\n".join(segment.text for segment in segments if segment.kind == "prompt")
        if prompt and is_machine_prompt(prompt):
            if self._is_worker:
                self._machine_turns.add(self._turns.count)
            elif self._identity.kind == "subagent" or self._turns is not self._main:
                self._turns.add_note("machine", prompt)
                return
        if prompt or (blobs and not is_meta):
            self._add_prompt("user", prompt, blobs)
        self._add_notes(segments)

    def _add_notes(self, segments: list[Segment]) -> None:
        for kind, text in segments:
            if kind == "output":
                self._turns.release_held()
            if kind == "command" and text.startswith("/"):
                self._turns.hold_command(text)
            elif kind in ("prompt", "drop") or not text:
                self._turns.touch()
            elif kind == "notification":
                self._add_notification(text)
            else:
                note_kind = "command" if kind == "output" else kind
                self._turns.add_note(cast(NoteKind, note_kind), text)

    def _add_notification(self, text: str) -> None:
        """Add a note, and end the background command that it reports on."""
        self._turns.end_call(extract_call_id(text))
        self._turns.add_note("notification", text)

    def _add_prompt(self, form: PromptForm, text: str, blobs: tuple[Blob, ...]) -> None:
        """Begin a turn, unless the prompt has already begun one in another form."""
        before, waiting = self._state.split_injected(text)
        self._state, forms = self._state.remove_waiting(form, text)
        if self._is_repeated(form, text):
            self._turns.touch()
            return
        if form == "user":
            self._mark_rolled_back()
        self._state = replace(self._state, injected=before)
        self._begin_injected(None)
        self._begin_turn(text, blobs, forms)
        self._state = replace(self._state, injected=waiting)

    def _begin_turn(self, text: str, blobs: tuple[Blob, ...], forms: tuple[str, ...]) -> None:
        self._turns.begin_turn(text, blobs)
        self._state = self._state.add_seen_prompt(text, forms)
        self._set_first_prompt()

    def _set_first_prompt(self) -> None:
        last = self._main.count - 1
        if last in self._machine_turns:
            return
        if not self._state.first_prompt and self._main.current_prompt:
            self._first_prompt_turn = last
            first_prompt = self._main.current_prompt[:MAX_TITLE_CHARS]
            self._state = replace(self._state, first_prompt=first_prompt)

    def _begin_injected(self, time: int | None) -> None:
        """Begin the turns of prompts that were injected before `time`.

        A message that the agent began before the injection may be written after it.
        """
        later: list[tuple[str, int | None]] = []
        for text, injected_at in self._state.injected:
            if time is not None and injected_at is not None and time < injected_at:
                later.append((text, injected_at))
            elif not self._is_repeated("queue", text):
                self._begin_turn(text, (), ("queue",))
        if self._state.injected:
            self._state = replace(self._state, injected=tuple(later))

    def _is_repeated(self, form: PromptForm, text: str) -> bool:
        state = self._state.match_seen_prompt(form, text)
        self._state = state or self._state
        return state is not None

    def _mark_rolled_back(self) -> None:
        """Roll back the turns after the one that a prompt continues."""
        parent = self._turns.turn_by_uuid.get(self._turns.record.parent)
        if parent is not None and parent < self._turns.count - 1:
            self._turns.roll_back(parent + 1)

    def _read_attachment(self, record: Record) -> None:
        attachment = record.decode_attachment()
        if attachment.type == "queued_command":
            text = extract_text(attachment.prompt)
            blobs = tuple(filter(None, map(block_blob, to_blocks(attachment.prompt))))
            if not attachment.is_typed():
                self._add_notification(text)
            elif (prompt := extract_prompt(text)) or blobs:
                self._add_prompt("attachment", prompt, blobs)
            else:
                self._add_notes(split_user_text(text))
        elif as_string(attachment.type) in _KEPT_ATTACHMENTS:
            name = as_string(attachment.filename) or as_string(attachment.path)
            self._turns.add_note("context", f"{name}\n{attachment.file_text()}".strip())
        else:
            self._turns.touch()

    def _read_system(self, record: Record) -> None:
        text = as_string(record.content)
        if record.subtype == "away_summary":
            self._turns.add_note("summary", text)
        elif record.subtype == "local_command":
            segments = split_user_text(text)
            self._add_notes(
                [
                    part._replace(kind="output") if part.kind == "prompt" else part
                    for part in segments
                ]
            )
        else:
            self._turns.touch()

    # Sidechains in a main file.

    def _find_sidechain(self, uuid: bytes, record: Record) -> TurnBuilder:
        root = self._sidechain_by_uuid.get(uuid_bytes(record.parentUuid), uuid)
        self._sidechain_by_uuid[uuid] = root
        return self._sidechains.setdefault(root, TurnBuilder(self._input.sink))

    def _finish_sidechain(self, root: bytes, turns: TurnBuilder) -> SessionReading:
        entries, _ = turns.finish()
        name = root.hex()[:8] or f"{entries[0].start if entries else 0:08x}"
        session = self._state.make_session(f"agent-{name}", "subagent")
        return SessionReading(replace(session, parent=self._identity.id), tuple(entries))

    # Turns that a worker copied from its parent.

    def _finish_inherited(self, entries: list[Entry]) -> list[SessionReading]:
        copied = [e for number, e in enumerate(entries) if number not in self._machine_turns]
        if not copied or not self._state.parent:
            return []
        prompt = self._state.first_prompt
        session = replace(
            self._state.make_session(safe_id(self._state.parent), "main"),
            title=take_sentence(prompt if self._first_prompt_turn < len(entries) else ""),
            is_recovered=True,
        )
        return [SessionReading(session, tuple(copied), is_inherited=True)]

    def _make_session(self) -> Session:
        state, identity = self._state, self._identity
        own_uuids = {b"", *self._main.turn_by_uuid}
        own = [text for text, leaf in state.summaries if leaf in own_uuids]
        given = [state.custom_title, identity.description, state.ai_title, *reversed(own)]
        prompt = state.first_prompt if not self._is_worker else ""
        title, is_titled = choose_title(given, prompt)
        return replace(
            self._state.make_session(identity.id, identity.kind),
            parent=state.parent if identity.kind != "main" else "",
            forked_from=state.forked_from,
            continued_in=state.continued_in,
            agent=identity.agent,
            title=title,
            title_origin="client" if is_titled else "prompt",
            summaries=tuple(item for item in state.summaries if item[1] not in own_uuids),
            slug=state.slug,
            cost_usd=state.cost_usd,
            costs=state.costs,
            unknown_types=state.unknown_types,
        )
