"""Reads Codex CLI's rollouts: the current form, the bare one of 2025-08, paginated ones.

Codex writes most messages twice, as a `response_item` and as an event. Either side may
be the only one, so both are taken and the second of a pair is dropped. The first
`session_meta` is the file's own; one with another id means that the parent's history was
copied in.
"""

import json
from typing import Any

import msgspec
from msgspec.structs import replace

from ccgrep.model import Blob, Entry, Session, ToolResult, Usage
from ccgrep.sources.codex_records import (
    BARE_ITEMS,
    CWD,
    EXIT_CODE,
    INJECTED,
    MAX_UNPAIRED,
    NOISE,
    Record,
    State,
    branch_of,
    images_of,
    is_record,
    is_same_text,
    lineage_of,
    minus,
    parsed,
    request_of,
    texts_of,
)
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Readable, Records
from ccgrep.sources.payload import data_url_blob
from ccgrep.sources.project import project_of
from ccgrep.sources.reading import Before, File, Reading, SessionReading, describe, read_to
from ccgrep.sources.turns import Sink, TurnBuilder
from ccgrep.sources.values import added, count, one_more, parse_time, string, usage_key


def read(
    stream: Readable,
    start: Mark,
    file: File,
    before: Before | None,
    sink: Sink,
) -> Reading:
    """Reads `stream`, which stands at `start`, to its end."""
    records = Records(stream, start, Record, is_record)
    return _Reader(file, before, sink, records).read(start)


class _Reader:
    def __init__(
        self, file: File, before: Before | None, sink: Sink, records: Records[Record]
    ) -> None:
        self._file = file
        self._records = records
        self._bad_before = before.bad if before else ()
        self._state = msgspec.msgpack.decode(before.state, type=State) if before else State()
        self._turns = TurnBuilder(sink, records.mark, before.entries if before else ())

    def read(self, start: Mark) -> Reading:
        records = self._records
        for begin, end, record in records:
            state = self._state
            time = parse_time(record.timestamp) or state.header_time
            self._turns.at(begin, end, state, time, state.turn_cwd, state.branch)
            self._record(record)
        entries, resume = self._turns.finish()
        bad = (*self._bad_before, *records.bad)
        session = SessionReading(self._session(entries, len(bad)), tuple(entries), bad)
        return read_to(records, start, [session], *(resume or (Mark(0, 0), State())))

    def _set(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _record(self, record: Record) -> None:
        payload = record.payload
        if not isinstance(payload, dict):
            self._bare(record)
            return
        match record.type:
            case "response_item":
                self._item(payload)
            case "event_msg":
                self._event(payload)
            case "message":
                self._item({"type": "message", **payload})
            case "session_meta":
                self._session_meta(payload)
            case "turn_context":
                self._turn_context(payload)
            case "compacted":
                if text := string(payload.get("message")):
                    self._turns.note("summary", text)
            case kind if string(kind) not in NOISE:
                self._unknown(kind)

    def _bare(self, record: Record) -> None:
        """A line in the form of 2025-08, without payload."""
        if string(record.type) in BARE_ITEMS:
            self._item(record.item())
        elif record.type is None and isinstance(record.id, str):
            self._header(record.item())
        elif record.record_type is None:
            self._unknown(record.type)

    def _unknown(self, kind: Any) -> None:
        self._set(unknown_types=one_more(self._state.unknown_types, kind))

    # What is said of the session as a whole.

    def _header(self, payload: dict[str, Any]) -> None:
        if not self._state.id:
            self._set(
                id=string(payload.get("id")),
                branch=branch_of(payload.get("git")),
                header_time=parse_time(payload.get("timestamp")),
            )

    def _session_meta(self, payload: dict[str, Any]) -> None:
        state = self._state
        id = string(payload.get("id"))
        versions = added(state.versions, payload.get("cli_version"))
        if state.id:
            forked = state.forked_from
            if id and id not in (state.id, state.parent):
                forked = forked or id
            self._set(versions=versions, forked_from=forked)
            return
        kind, parent, agent = lineage_of(payload)
        base = payload.get("history_base")
        base_thread = string(base.get("thread_id")) if isinstance(base, dict) else ""
        cwd = string(payload.get("cwd"))
        self._set(
            id=id,
            kind=kind,
            parent=parent,
            agent=agent,
            forked_from=string(payload.get("forked_from_id")) or base_thread,
            cwd=cwd,
            turn_cwd=cwd,
            branch=branch_of(payload.get("git")),
            versions=versions,
        )

    def _turn_context(self, payload: dict[str, Any]) -> None:
        state = self._state
        cwd = string(payload.get("cwd"))
        model = string(payload.get("model"))
        if (cwd and cwd != state.turn_cwd) or (model and model != state.model):
            self._set(
                cwd=state.cwd or cwd,
                turn_cwd=cwd or state.turn_cwd,
                model=model or state.model,
                models=added(state.models, model),
            )

    # Messages, calls and results.

    def _item(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "message":
                self._message(item)
            case "reasoning":
                for text in texts_of(item.get("summary")) + texts_of(item.get("content")):
                    self._said("item", "thinking", text)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self._call(item)
            case "web_search_call" | "tool_search_call":
                name = str(item["type"]).removesuffix("_call")
                given = item.get("action") or item.get("arguments")
                self._call({"name": name, "arguments": given, "call_id": item.get("call_id")})
            case "function_call_output" | "custom_tool_call_output":
                self._output(string(item.get("call_id")), item.get("output"))
            case "tool_search_output":
                tools = json.dumps(item.get("tools"), ensure_ascii=False)
                self._output(string(item.get("call_id")), tools)
            case "agent_message":
                text = "\n".join(texts_of(item.get("content")))
                self._turns.note("notification", text)

    def _message(self, item: dict[str, Any]) -> None:
        content = item.get("content")
        texts = texts_of(content)
        if item.get("role") == "assistant":
            for text in texts:
                self._said("item", "assistant", text)
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict) and block.get("type") == "tool_use":
                    given = {"call_id": block.get("id"), "arguments": block.get("input")}
                    self._call({"name": block.get("name"), **given})
        elif item.get("role") == "user":
            self._user("item", texts, images_of(content))

    def _user(self, side: str, texts: list[str], blobs: tuple[Blob, ...] = ()) -> None:
        typed: list[str] = []
        for text in texts:
            note = next((note for start, note in INJECTED if text.lstrip().startswith(start)), None)
            if note is None:
                if prompt := request_of(text).strip():
                    typed.append(prompt)
            elif note == "":
                self._environment(text)
            elif side == "item":
                self._turns.note(note, text)
        prompt = "\n".join(typed)
        if not prompt and not blobs:
            return
        if self._is_pair(side, "user", prompt):
            return
        if side == "event" and self._state.unpaired == ((side, "user", prompt),):
            return  # Written twice in one moment, as on entering review mode.
        self._turns.begin(prompt, blobs)
        first = self._state.first_prompt or prompt[:400]
        # A pair never spans two prompts, so what stood unpaired before this one is done.
        answers = self._state.answers + 1
        self._set(first_prompt=first, unpaired=((side, "user", prompt),), answers=answers)

    def _environment(self, text: str) -> None:
        """The form of 2025-08 names the directory nowhere else."""
        found = CWD.search(text)
        if found and not self._state.cwd:
            cwd = (found.group(1) or found.group(2)).strip()
            self._set(cwd=cwd, turn_cwd=cwd)

    def _said(self, side: str, role: str, text: str) -> None:
        """A text of the agent, unless the other side has told it already."""
        if not text.strip() or self._is_pair(side, role, text):
            return
        key = self._message_key()
        if role == "thinking":
            self._turns.thinking(key, text)
        else:
            self._turns.text(key, text)
        self._set(unpaired=(*self._state.unpaired, (side, role, text))[-MAX_UNPAIRED:])

    def _is_pair(self, side: str, role: str, text: str) -> bool:
        """Whether the other side said the same; then both are done with."""
        for known in self._state.unpaired:
            other, other_role, other_text = known
            if other != side and other_role == role and is_same_text(role, text, other_text):
                self._set(unpaired=tuple(x for x in self._state.unpaired if x is not known))
                return True
        return False

    def _message_key(self) -> str:
        """What comes between two results is one message of the agent."""
        key = str(self._state.answers)
        self._turns.message(key, self._state.model)
        return key

    def _call(self, item: dict[str, Any]) -> None:
        given = item.get("arguments", item.get("input"))
        if item.get("type") == "local_shell_call":
            given = item.get("action")
        elif item.get("input") is not None:
            given = item["input"]
        elif isinstance(given, str):
            given = parsed(given)
        key = self._message_key()
        name = string(item.get("name")) or "shell"
        call_id = string(item.get("call_id")) or f"#{len(self._state.unpaired)}-{key}"
        self._turns.call(key, call_id, name, given)

    def _output(self, call_id: str, output: Any) -> None:
        is_error = False
        blobs = images_of(output)
        if isinstance(output, dict):
            is_error = output.get("success") is False
            output = output.get("content", output.get("output"))
        text = "\n".join(texts_of(output))
        if text.startswith('{"output"'):
            wrapped = parsed(text)
            if isinstance(wrapped, dict) and isinstance(wrapped.get("output"), str):
                metadata = wrapped.get("metadata")
                code = metadata.get("exit_code") if isinstance(metadata, dict) else 0
                text, is_error = wrapped["output"], is_error or code not in (0, None)
        if found := EXIT_CODE.search(text[:400]):
            is_error = is_error or found.group(1) != "0"
        self._turns.result(call_id, ToolResult(text, is_error, blobs))
        self._set(answers=self._state.answers + 1)

    def _event(self, payload: dict[str, Any]) -> None:
        match payload.get("type"):
            case "user_message":
                images = payload.get("images")
                urls = images if isinstance(images, list) else []
                blobs = tuple(filter(None, map(data_url_blob, urls)))
                self._user("event", [string(payload.get("message"))], blobs)
            case "agent_message":
                self._said("event", "assistant", string(payload.get("message")))
            case "agent_reasoning":
                self._said("event", "thinking", string(payload.get("text")))
            case "item_completed":
                self._item_completed(payload.get("item"))
            case "function_call":
                given = {"arguments": payload.get("parameters", payload.get("arguments"))}
                self._call({**payload, **given})
            case "token_count":
                self._token_count(payload.get("info"))
            case "thread_rolled_back":
                self._rolled_back(count(payload.get("num_turns")) or 0)
            case "thread_name_updated":
                self._set(title=string(payload.get("thread_name")))
            case "turn_aborted":
                self._turns.touch()

    def _item_completed(self, item: Any) -> None:
        """Paginated rollouts double their items like this instead of by events."""
        if not isinstance(item, dict):
            return
        texts = texts_of(item.get("content")) or texts_of(item.get("text"))
        match item.get("type"):
            case "UserMessage":
                self._user("event", texts)
            case "AgentMessage" | "Plan":
                for text in texts:
                    self._said("event", "assistant", text)

    def _rolled_back(self, turns: int) -> None:
        live = self._turns.live_turns()
        if turns and live:
            self._turns.roll_back(live[-min(turns, len(live))])

    def _token_count(self, info: Any) -> None:
        """The counters are cumulative, and a copied history brings its own along."""
        total = info.get("total_token_usage") if isinstance(info, dict) else None
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if not isinstance(total, dict):
            return
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
        totals = tuple(count(total.get(name)) for name in names)
        known = self._state.total_tokens
        if totals == known:
            return
        self._set(total_tokens=totals)
        if isinstance(last, dict):
            spent = tuple(count(last.get(name)) for name in names)
        else:
            spent = tuple(map(minus, totals, known or (0,) * len(names)))
        key = usage_key("codex", *totals)
        self._turns.usage(
            Usage(key, self._state.model, minus(spent[0], spent[1]), spent[2], spent[1])
        )

    def _session(self, entries: list[Entry], bad_lines: int) -> Session:
        state = self._state
        return describe(
            Session(
                id=safe_id(state.id) if state.id else self._file.id,
                source="codex",
                kind=state.kind,
                parent=state.parent,
                forked_from=state.forked_from,
                agent=state.agent,
                project=project_of(state.cwd),
                cwd=state.cwd,
                branch=state.branch,
                title=state.title or state.first_prompt,
                models=state.models,
                versions=state.versions,
                bad_lines=bad_lines,
                unknown_types=state.unknown_types,
            ),
            entries,
        )
