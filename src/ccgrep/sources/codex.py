"""Reads the rollouts of Codex CLI: the current format, the bare one of 2025-08, paginated ones.

`Conversation` reads the messages and calls. The reader itself reads what concerns the session as a
whole. The first `session_meta` belongs to the session itself. One with another id shows that the
parent's history was copied in. One with the same id and a `history_base` follows a rewind.
"""

from typing import Any

from ccgrep.model import Session, Usage
from ccgrep.sources.codex_conversation import Conversation
from ccgrep.sources.codex_records import (
    BARE_ITEMS,
    IGNORED_TYPES,
    Record,
    State,
    extract_branch,
    extract_error,
    extract_texts,
    parse_agent_name,
    parse_history_base,
    parse_lineage,
)
from ccgrep.sources.codex_usage import Totals, read_token_count, read_usage_record
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.marker import Marker, parse_marker
from ccgrep.sources.reading import Input, Reading, SessionReading, make_reading
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import append_unique, as_count, as_string, find_project, parse_time


class CodexReader:
    """Reads one rollout."""

    def __init__(self, input: Input) -> None:
        self._input = input
        self._records = Records(input.stream, input.start, Record)
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._conversation = Conversation(input.decode_state(State()), self._turns)

    @property
    def _state(self) -> State:
        return self._conversation.state

    def read(self) -> Reading:
        """Read to the end of the stream."""
        records = self._records
        for mark, end, record in records:
            state = self._state
            ordinal = as_count(record.ordinal)
            if ordinal is not None and ordinal < state.own_ordinal:
                continue  # A sub-agent's rollout begins with its parent's records.
            time = parse_time(record.timestamp) or state.header_time
            self._turns.record = RecordInfo(mark, end, state, time, state.turn_cwd, state.branch)
            marker = parse_marker(record.ccgrep)
            if marker is None or not self._read_rebuilt(record.payload, marker):
                self._read_record(record)
            if ordinal is not None:
                self._set_ordinals(ordinal)
        entries, resume = self._turns.finish()
        bad = (*self._input.checkpoint.bad, *records.bad)
        claims = tuple(self._turns.claims)
        session = SessionReading(self._make_session(), tuple(entries), bad, claims=claims)
        return make_reading(self._input, records, [session], *(resume or (Mark(0, 0), State())))

    def _read_rebuilt(self, payload: Any, marker: Marker) -> bool:
        """Read a prompt or note that ccgrep wrote as it is; return whether nothing is left."""
        if marker.origin:
            self._conversation.update(forked_from=safe_id(marker.origin))
        if marker.is_for_client:
            return True
        fields = payload if isinstance(payload, dict) else {}
        texts = extract_texts(fields.get("content")) or extract_texts(fields.get("message"))
        text = texts[0] if texts else ""
        if marker.turn_id is not None:
            self._conversation.begin_rebuilt_turn(text, marker.turn_id, marker.is_undone)
        elif marker.note is not None:
            self._conversation.add_rebuilt_note(marker.note, text)
        else:
            return False
        return True

    def _set_ordinals(self, ordinal: int) -> None:
        """Record which record began each turn: a rewind names the first record it undoes."""
        begun = self._turns.count - len(self._state.ordinals)
        if begun > 0:
            self._conversation.update(ordinals=(*self._state.ordinals, *(ordinal,) * begun))

    def _read_record(self, record: Record) -> None:
        payload = record.payload
        if not isinstance(payload, dict):
            self._read_bare(record)
            return
        match record.type:
            case "response_item":
                self._conversation.read_item(payload)
            case "event_msg":
                self._read_event(payload)
            case "message":
                self._conversation.read_item({"type": "message", **payload})
            case "session_meta":
                self._read_session_meta(payload)
            case "turn_context":
                self._read_turn_context(payload)
            case "compacted":
                self._conversation.read_compaction(as_string(payload.get("message")))
            case "token_usage_record":
                self._add_usage(read_usage_record(payload, self._state.model))
            case kind if as_string(kind) not in IGNORED_TYPES:
                self._conversation.count_unknown(kind)

    def _read_bare(self, record: Record) -> None:
        """Read a record in the format of 2025-08, which has no payload."""
        if as_string(record.type) in BARE_ITEMS:
            self._conversation.read_item(record.item())
        elif record.type is None and isinstance(record.id, str):
            self._read_header(record)
        elif record.record_type is None:
            self._conversation.count_unknown(record.type)

    def _read_event(self, payload: dict[str, Any]) -> None:
        match payload.get("type"):
            case "token_count":
                known, model = self._state.total_tokens, self._state.model
                self._add_usage(read_token_count(payload.get("info"), known, model))
            case "thread_rolled_back":
                self._turns.roll_back_last(as_count(payload.get("num_turns")) or 0)
            case "thread_name_updated":
                self._conversation.update(title=as_string(payload.get("thread_name")))
            case "turn_aborted":
                self._read_interruption(as_string(payload.get("reason")))
            case "task_complete":
                if error := extract_error(payload.get("error")):
                    self._turns.add_note("error", error)
            case _:
                self._conversation.read_event(payload)

    def _read_interruption(self, reason: str) -> None:
        """Note an interruption, unless a message before the event did."""
        if self._turns.has_note("interrupted"):
            self._turns.touch()
        else:
            self._turns.add_note("interrupted", f"Turn aborted: {reason or 'unknown'}")

    def _read_header(self, record: Record) -> None:
        if not self._state.id:
            time, branch = parse_time(record.timestamp), extract_branch(record.git)
            self._conversation.update(id=record.id, branch=branch, header_time=time)

    def _read_session_meta(self, payload: dict[str, Any]) -> None:
        state = self._state
        id = as_string(payload.get("id"))
        versions = append_unique(state.versions, payload.get("cli_version"))
        base, end_ordinal = parse_history_base(payload)
        if state.id:
            if id == state.id and end_ordinal is not None:
                self._roll_back_from(end_ordinal)
            forked = state.forked_from
            if id and id not in (state.id, state.parent):
                forked = forked or id
            self._conversation.update(versions=versions, forked_from=forked)
            return
        kind, parent, agent = parse_lineage(payload)
        cwd = as_string(payload.get("cwd"))
        self._conversation.update(
            id=id,
            kind=kind,
            parent=parent,
            agent=agent,
            agent_name=parse_agent_name(payload),
            own_ordinal=as_count(payload.get("subagent_history_start_ordinal")) or 0,
            forked_from=state.forked_from
            or as_string(payload.get("forked_from_id"))
            or (base if base != id else ""),
            cwd=cwd,
            turn_cwd=cwd,
            branch=extract_branch(payload.get("git")),
            versions=versions,
        )

    def _roll_back_from(self, ordinal: int) -> None:
        """Roll back the turns from a record on: the user rewound the session to before it."""
        ordinals = self._state.ordinals
        first = next((n for n, begun in enumerate(ordinals) if begun >= ordinal), len(ordinals))
        self._turns.roll_back(first)

    def _read_turn_context(self, payload: dict[str, Any]) -> None:
        state = self._state
        cwd = as_string(payload.get("cwd"))
        model = as_string(payload.get("model"))
        self._conversation.update(
            cwd=state.cwd or cwd,
            turn_cwd=cwd or state.turn_cwd,
            model=model or state.model,
            models=append_unique(state.models, model),
        )

    def _add_usage(self, report: tuple[Totals, Usage] | None) -> None:
        if report is not None:
            totals, usage = report
            self._conversation.update(total_tokens=totals)
            self._turns.add_usage(usage)

    def _make_session(self) -> Session:
        state = self._state
        title, is_titled = choose_title([state.title, state.agent_name], state.first_prompt)
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
            title=title or state.agent,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            versions=state.versions,
            unknown_types=state.unknown_types,
        )
