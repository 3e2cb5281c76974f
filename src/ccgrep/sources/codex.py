"""Reads the rollouts of Codex CLI: the current format, the bare one of 2025-08, paginated ones.

Codex writes most messages twice, as a `response_item` and as an event. Either side may be
missing, so the reader accepts both and drops the second of a pair. The first `session_meta`
belongs to the session itself. One with another id shows that the parent's history was copied in.
"""

import json
from typing import Any, Literal

from msgspec.structs import replace

from ccgrep.model import Blob, Session, Text, Thinking, ToolResult, Usage
from ccgrep.sources.codex_records import (
    BARE_ITEMS,
    CWD,
    EXIT_CODE,
    IGNORED_TYPES,
    INJECTED_TEXTS,
    Record,
    State,
    extract_branch,
    extract_images,
    extract_texts,
    is_same_text,
    parse_json,
    parse_lineage,
    strip_ide_context,
    subtract,
)
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import Input, Reading, SessionReading, make_reading
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_count,
    as_string,
    count_type,
    data_url_blob,
    find_project,
    parse_time,
    usage_key,
)

Side = Literal["item", "event"]
Role = Literal["user", "assistant", "thinking"]

_MAX_UNPAIRED = 64
_MAX_TITLE_CHARS = 400
_EXIT_CODE_CHARS = 400
_TOKEN_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")


class CodexReader:
    """Reads one rollout."""

    def __init__(self, input: Input) -> None:
        self._input = input
        self._records = Records(input.stream, input.start, Record)
        self._state = input.decode_state(State())
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)

    def read(self) -> Reading:
        """Read to the end of the stream."""
        records = self._records
        for mark, end, record in records:
            state = self._state
            time = parse_time(record.timestamp) or state.header_time
            self._turns.record = RecordInfo(mark, end, state, time, state.turn_cwd, state.branch)
            self._read_record(record)
        entries, resume = self._turns.finish()
        bad = (*self._input.checkpoint.bad, *records.bad)
        session = SessionReading(self._make_session(), tuple(entries), bad)
        return make_reading(self._input, records, [session], *(resume or (Mark(0, 0), State())))

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _read_record(self, record: Record) -> None:
        payload = record.payload
        if not isinstance(payload, dict):
            self._read_bare(record)
            return
        match record.type:
            case "response_item":
                self._read_item(payload)
            case "event_msg":
                self._read_event(payload)
            case "message":
                self._read_item({"type": "message", **payload})
            case "session_meta":
                self._read_session_meta(payload)
            case "turn_context":
                self._read_turn_context(payload)
            case "compacted":
                if text := as_string(payload.get("message")):
                    self._turns.add_note("summary", text)
            case kind if as_string(kind) not in IGNORED_TYPES:
                self._count_unknown(kind)

    def _read_bare(self, record: Record) -> None:
        """Read a record in the format of 2025-08, which has no payload."""
        if as_string(record.type) in BARE_ITEMS:
            self._read_item(record.item())
        elif record.type is None and isinstance(record.id, str):
            self._read_header(record)
        elif record.record_type is None:
            self._count_unknown(record.type)

    def _count_unknown(self, kind: Any) -> None:
        self._update(unknown_types=count_type(self._state.unknown_types, kind))

    # The session as a whole.

    def _read_header(self, record: Record) -> None:
        if not self._state.id:
            header_time = parse_time(record.timestamp)
            self._update(id=record.id, branch=extract_branch(record.git), header_time=header_time)

    def _read_session_meta(self, payload: dict[str, Any]) -> None:
        state = self._state
        id = as_string(payload.get("id"))
        versions = append_unique(state.versions, payload.get("cli_version"))
        if state.id:
            forked = state.forked_from
            if id and id not in (state.id, state.parent):
                forked = forked or id
            self._update(versions=versions, forked_from=forked)
            return
        kind, parent, agent = parse_lineage(payload)
        base = payload.get("history_base")
        base_thread = as_string(base.get("thread_id")) if isinstance(base, dict) else ""
        cwd = as_string(payload.get("cwd"))
        self._update(
            id=id,
            kind=kind,
            parent=parent,
            agent=agent,
            forked_from=as_string(payload.get("forked_from_id")) or base_thread,
            cwd=cwd,
            turn_cwd=cwd,
            branch=extract_branch(payload.get("git")),
            versions=versions,
        )

    def _read_turn_context(self, payload: dict[str, Any]) -> None:
        state = self._state
        cwd = as_string(payload.get("cwd"))
        model = as_string(payload.get("model"))
        self._update(
            cwd=state.cwd or cwd,
            turn_cwd=cwd or state.turn_cwd,
            model=model or state.model,
            models=append_unique(state.models, model),
        )

    # Messages, calls and results.

    def _read_item(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "message":
                self._read_message(item)
            case "reasoning":
                for text in extract_texts(item.get("summary")) + extract_texts(item.get("content")):
                    self._add_agent_text("item", "thinking", text)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._read_call(item)
            case "web_search_call" | "tool_search_call":
                name = str(item["type"]).removesuffix("_call")
                arguments = item.get("action") or item.get("arguments")
                call = {"name": name, "arguments": arguments, "call_id": item.get("call_id")}
                self._read_call(call)
            case "function_call_output" | "custom_tool_call_output":
                self._read_output(as_string(item.get("call_id")), item.get("output"))
            case "tool_search_output":
                tools = json.dumps(item.get("tools"), ensure_ascii=False)
                self._read_output(as_string(item.get("call_id")), tools)
            case "agent_message":
                text = "\n".join(extract_texts(item.get("content")))
                self._turns.add_note("notification", text)

    def _read_message(self, item: dict[str, Any]) -> None:
        content = item.get("content")
        texts = extract_texts(content)
        if item.get("role") == "assistant":
            for text in texts:
                self._add_agent_text("item", "assistant", text)
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict) and block.get("type") == "tool_use":
                    call = {"call_id": block.get("id"), "arguments": block.get("input")}
                    self._read_call({"name": block.get("name"), **call})
        elif item.get("role") == "user":
            self._read_user_texts("item", texts, extract_images(content))

    def _read_user_texts(self, side: Side, texts: list[str], blobs: tuple[Blob, ...] = ()) -> None:
        prompts: list[str] = []
        for text in texts:
            start = text.lstrip()
            note = next((note for prefix, note in INJECTED_TEXTS if start.startswith(prefix)), None)
            if note is None:
                if prompt := strip_ide_context(text).strip():
                    prompts.append(prompt)
            elif note == "":
                self._read_environment(text)
            elif side == "item":
                self._turns.add_note(note, text)
        prompt = "\n".join(prompts)
        if not prompt and not blobs:
            return
        if self._remove_pair(side, "user", prompt):
            return
        if side == "event" and self._state.unpaired == ((side, "user", prompt),):
            return  # Codex writes the event twice when it enters review mode.
        self._turns.begin_turn(prompt, blobs)
        self._update(
            first_prompt=self._state.first_prompt or prompt[:_MAX_TITLE_CHARS],
            unpaired=((side, "user", prompt),),  # A pair never spans two prompts.
            answers=self._state.answers + 1,
        )

    def _read_environment(self, text: str) -> None:
        """Set the working directory, which the format of 2025-08 names nowhere else."""
        match = CWD.search(text)
        if match and not self._state.cwd:
            cwd = (match.group(1) or match.group(2)).strip()
            self._update(cwd=cwd, turn_cwd=cwd)

    def _add_agent_text(self, side: Side, role: Role, text: str) -> None:
        """Add a text of the agent, unless it completes a pair."""
        if not text.strip() or self._remove_pair(side, role, text):
            return
        self._begin_message()
        self._turns.add_part(Thinking(text) if role == "thinking" else Text(text))
        self._update(unpaired=(*self._state.unpaired, (side, role, text))[-_MAX_UNPAIRED:])

    def _remove_pair(self, side: Side, role: Role, text: str) -> bool:
        """Return whether the other side wrote the same text, and stop expecting the pair."""
        for known in self._state.unpaired:
            other, other_role, other_text = known
            if other != side and other_role == role and is_same_text(role, text, other_text):
                self._update(unpaired=tuple(x for x in self._state.unpaired if x is not known))
                return True
        return False

    def _begin_message(self) -> str:
        """Return the key of the current message: all texts and calls between two results."""
        key = str(self._state.answers)
        self._turns.begin_message(key, self._state.model)
        return key

    def _read_call(self, item: dict[str, Any]) -> None:
        if item.get("type") == "local_shell_call":
            call_input = item.get("action")
        elif (call_input := item.get("input")) is None:
            call_input = item.get("arguments")
            if isinstance(call_input, str):
                call_input = parse_json(call_input)
        key = self._begin_message()
        name = as_string(item.get("name")) or "shell"
        call_id = as_string(item.get("call_id")) or f"#{len(self._state.unpaired)}-{key}"
        self._turns.add_call(call_id, name, call_input)

    def _read_output(self, call_id: str, output: Any) -> None:
        is_error = False
        blobs = extract_images(output)
        if isinstance(output, dict):
            is_error = output.get("success") is False
            output = output.get("content", output.get("output"))
        text = "\n".join(extract_texts(output))
        if text.startswith('{"output"'):
            wrapped = parse_json(text)
            if isinstance(wrapped, dict) and isinstance(wrapped.get("output"), str):
                metadata = wrapped.get("metadata")
                code = metadata.get("exit_code") if isinstance(metadata, dict) else 0
                text, is_error = wrapped["output"], is_error or code not in (0, None)
        if match := EXIT_CODE.search(text[:_EXIT_CODE_CHARS]):
            is_error = is_error or match.group(1) != "0"
        self._turns.add_result(call_id, ToolResult(text, is_error, blobs))
        self._update(answers=self._state.answers + 1)

    def _read_event(self, payload: dict[str, Any]) -> None:
        match payload.get("type"):
            case "user_message":
                images = payload.get("images")
                urls = images if isinstance(images, list) else []
                blobs = tuple(filter(None, map(data_url_blob, urls)))
                self._read_user_texts("event", [as_string(payload.get("message"))], blobs)
            case "agent_message":
                self._add_agent_text("event", "assistant", as_string(payload.get("message")))
            case "agent_reasoning":
                self._add_agent_text("event", "thinking", as_string(payload.get("text")))
            case "item_completed":
                self._read_item_completed(payload.get("item"))
            case "function_call":
                arguments = payload.get("parameters", payload.get("arguments"))
                self._read_call({**payload, "arguments": arguments})
            case "token_count":
                self._read_token_count(payload.get("info"))
            case "thread_rolled_back":
                self._turns.roll_back_last(as_count(payload.get("num_turns")) or 0)
            case "thread_name_updated":
                self._update(title=as_string(payload.get("thread_name")))
            case "turn_aborted":
                self._turns.touch()

    def _read_item_completed(self, item: Any) -> None:
        """Read an item of a paginated rollout, which replaces the events of other rollouts."""
        if not isinstance(item, dict):
            return
        texts = extract_texts(item.get("content")) or extract_texts(item.get("text"))
        match item.get("type"):
            case "UserMessage":
                self._read_user_texts("event", texts)
            case "AgentMessage" | "Plan":
                for text in texts:
                    self._add_agent_text("event", "assistant", text)

    def _read_token_count(self, info: Any) -> None:
        """Add the tokens since the last report. Counters are cumulative, even in copied history."""
        info = info if isinstance(info, dict) else {}
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        if not isinstance(total, dict):
            return
        totals = tuple(as_count(total.get(name)) for name in _TOKEN_COUNTS)
        known = self._state.total_tokens
        if totals == known:
            return
        self._update(total_tokens=totals)
        if isinstance(last, dict):
            spent = tuple(as_count(last.get(name)) for name in _TOKEN_COUNTS)
        else:
            spent = tuple(map(subtract, totals, known or (0,) * len(_TOKEN_COUNTS)))
        input, cached, output, _ = spent
        key = usage_key("codex", *totals)
        self._turns.add_usage(
            Usage(key, self._state.model, subtract(input, cached), output, cached)
        )

    def _make_session(self) -> Session:
        state = self._state
        return Session(
            id=safe_id(state.id) if state.id else self._input.identity.id,
            source="codex",
            kind=state.kind,
            parent=state.parent,
            forked_from=state.forked_from,
            agent=state.agent,
            project=find_project(state.cwd),
            cwd=state.cwd,
            branch=state.branch,
            title=choose_title([state.title], state.first_prompt)[0],
            models=state.models,
            versions=state.versions,
            unknown_types=state.unknown_types,
        )
