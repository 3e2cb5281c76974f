"""Reads the sessions of GitHub Copilot CLI: `session-state/<id>/events.jsonl`.

The events of the sub-agents are between those of the main agent. Each has a session of its own
here. A rewind removes events from the file, so the file is read as rewritten.
"""

import os
from typing import Any

from msgspec.structs import replace

from ccgrep.kinds import SourceName
from ccgrep.model import Session, Text, Thinking
from ccgrep.sources.copilot_cli_records import (
    READ_TYPES,
    UUID,
    Event,
    State,
    classify_message,
    extract_attachments,
    extract_calls,
    extract_result,
    find_origin,
    is_ignored,
    read_metrics,
    read_title,
    read_usage,
)
from ccgrep.sources.files import read_side_file
from ccgrep.sources.identity import safe_id, stable_id
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
    parse_input,
    parse_time,
    uuid_bytes,
)

_MAX_WORKSPACE_BYTES = 64 * 1024


def list_files(listing: Listing) -> None:
    """Add the events of each session: in its folder, or in a file of an early version."""
    for entry in listing.list_folder(os.path.join(listing.root.path, "session-state")):
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            listing.add_path(os.path.join(entry.path, "events.jsonl"), "session")
        elif entry.name.endswith(".jsonl"):
            listing.add_entry(entry, "session")


def list_side_files(path: str) -> list[str]:
    """Return the description of a session, with its title."""
    folder, name = os.path.split(path)
    return [os.path.join(folder, "workspace.yaml")] if name == "events.jsonl" else []


def identify(path: str) -> SessionIdentity:
    """Return the id of a session, which is in the name of its folder, once of its file."""
    folder, name = os.path.split(path)
    stem = os.path.basename(folder) if name == "events.jsonl" else name.removesuffix(".jsonl")
    return SessionIdentity(safe_id(stem))


def read(input: Input, found: FoundFile) -> Reading:
    """Read the events from `input.start` to the end."""
    folder, name = os.path.split(found.path)
    workspace = None
    if name == "events.jsonl":
        path = os.path.join(folder, "workspace.yaml")
        workspace = read_side_file(path, found.root, _MAX_WORKSPACE_BYTES)
    return read_events(input, found.source, read_title(workspace or b""))


def read_events(input: Input, source: SourceName, title: str = "", cwd: str = "") -> Reading:
    """Read the events of a session, of which VS Code's extension writes no title or directory."""
    return _Reader(input, source, title, cwd).read()


class _Agent:
    """The turns of one agent, and the state that its events change."""

    def __init__(self, turns: TurnBuilder, state: State) -> None:
        self.turns = turns
        self.state = state
        self.name = ""
        self.title = ""

    def update(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def read_event(self, event: Event, data: dict[str, Any]) -> None:
        match event.type:
            case "user.message":
                self._read_prompt(data)
            case "assistant.message":
                self._read_message(event, data)
            case "assistant.reasoning" if event.ephemeral is not True:
                self._add_thought(as_string(data.get("content")))
            case "tool.execution_start":
                self._read_start(data)
            case "tool.execution_complete":
                self._read_result(data)
            case "tool.user_requested":
                self._read_typed_command(data)
            case "session.usage_record":
                self._add_usage(event, data.get("usage"))
                self.update(has_records=True)
            case "session.compaction_complete":
                self._read_compaction(event, data)
            case _:
                self._read_note(event, data)

    def _read_note(self, event: Event, data: dict[str, Any]) -> None:
        match event.type:
            case "session.error" | "subagent.failed":
                message = as_string(data.get("message")) or as_string(data.get("error"))
                self.turns.add_note("error", message)
            case "session.handoff" if summary := as_string(data.get("summary")):
                self.turns.add_note("summary", summary)
            case "abort":
                self.turns.add_note("interrupted", f"Aborted: {data.get('reason') or 'unknown'}")
            case "skill.invoked" if content := as_string(data.get("content")):
                self.turns.add_note("context", content)
            case "system.notification" if content := as_string(data.get("content")):
                self.turns.add_note("notification", content)
            case "session.model_change" if model := as_string(data.get("newModel")):
                self.update(model=model)

    def _read_prompt(self, data: dict[str, Any]) -> None:
        """Begin a turn with what the user typed. The content that the model saw has more text."""
        prompt = as_string(data.get("content"))
        note = classify_message(data) if self.state.kind != "subagent" else None
        if note is not None:
            self.turns.add_note(note, prompt)
            return
        blobs, contexts = extract_attachments(data)
        self.turns.begin_turn(prompt, blobs)
        for context in contexts:
            self.turns.add_note("context", context)
        first = self.state.first_prompt or prompt[:MAX_TITLE_CHARS]
        self.update(first_prompt=first, message="", thought="")

    def _read_typed_command(self, data: dict[str, Any]) -> None:
        """Begin a turn with a command that the user ran with `!`."""
        arguments = parse_input(data.get("arguments"))
        command = arguments.get("command") if isinstance(arguments, dict) else arguments
        self.turns.begin_turn(as_string(command))
        self.update(message="", thought="")

    def _read_message(self, event: Event, data: dict[str, Any]) -> None:
        """Read a message. One API call may be split into several, which share its id."""
        key = as_string(data.get("apiCallId")) or as_string(data.get("messageId"))
        model = as_string(data.get("model"))
        known = append_unique(self.state.models, model)
        model = model or self.state.model
        self._begin_message(key or as_string(event.id), model)
        self.update(models=known)
        self._add_thought(as_string(data.get("reasoningText")))
        if (text := as_string(data.get("content"))).strip():
            self.turns.add_part(Text(text))
        for call_id, name, call_input in extract_calls(data):
            self.turns.add_call(call_id, name, call_input)
        if data.get("outputTokens") is not None:
            self.update(has_outputs=True)
            usage = {"outputTokens": data["outputTokens"], "apiCallId": key, "model": model}
            self._add_usage(event, usage)

    def _begin_message(self, key: str, model: str) -> None:
        self.turns.begin_message(key, model)
        if key != self.state.message:
            self.update(message=key)

    def _add_thought(self, text: str) -> None:
        """Add a thought. Some versions write it as an event of its own, before or after."""
        if not text.strip() or text == self.state.thought:
            return
        self._begin_message(self.state.message, self.state.model)
        self.turns.add_part(Thinking(text))
        self.update(thought=text)

    def _read_start(self, data: dict[str, Any]) -> None:
        """Add a call, unless the message before it did."""
        call_id, name = as_string(data.get("toolCallId")), as_string(data.get("toolName"))
        if self.turns.has_call(call_id):
            return
        self._begin_message(self.state.message, as_string(data.get("model")) or self.state.model)
        self.turns.add_call(call_id, name or "unknown", parse_input(data.get("arguments")))

    def _read_result(self, data: dict[str, Any]) -> None:
        result = extract_result(data)
        if data.get("isUserRequested") is True:
            self.turns.add_note("command", result.text)
        else:
            self.turns.add_result(as_string(data.get("toolCallId")), result)

    def _read_compaction(self, event: Event, data: dict[str, Any]) -> None:
        if data.get("success") is not False and (text := as_string(data.get("summaryContent"))):
            self.turns.add_note("summary", text)
        if self.state.has_records:  # else they are among those of the run
            self._add_usage(event, data.get("compactionTokensUsed"))

    def _add_usage(self, event: Event, value: Any) -> None:
        usage = read_usage(value, as_string(event.id), self.state.model)
        if usage is not None:
            self.turns.add_usage(usage)


class _Reader:
    """Reads one file: the main agent, and each of its sub-agents."""

    def __init__(self, input: Input, source: SourceName, title: str, cwd: str) -> None:
        self._input = input
        self._source = source
        self._title = title
        self._records = Records(input.stream, input.start, Event)
        turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._main = _Agent(turns, input.decode_state(State(cwd=cwd, turn_cwd=cwd)))
        self._agents: dict[str, _Agent] = {}
        self._agent_of_call: dict[str, str] = {}
        self._tasks: dict[str, str] = {}  # the sub-agents' prompts that are expected, by call
        self._delegates = False

    def read(self) -> Reading:
        """Read to the end of the stream."""
        for mark, end, event in self._records:
            data = event.fields()
            agent = self._find_agent(event, data)
            state = self._main.state
            agent.turns.record = RecordInfo(
                mark,
                end,
                state,
                parse_time(event.timestamp),
                state.turn_cwd,
                state.branch,
                uuid_bytes(event.id),
            )
            self._read_session_event(event, data, agent)
            agent.read_event(event, data)
        entries, resume = self._main.turns.finish()
        if resume is None or self._delegates:
            # A sub-agent may go on as long as the session: the next run reads all of it again.
            resume = Mark(0, 0), State()
        bad = (*self._input.checkpoint.bad, *self._records.bad)
        main = SessionReading(self._make_session(), tuple(entries), bad)
        return make_reading(self._input, self._records, [main, *self._finish_agents()], *resume)

    def _find_agent(self, event: Event, data: dict[str, Any]) -> _Agent:
        """Return the agent that an event belongs to.

        Older versions name the call that started a sub-agent instead of its id. They name nothing
        in its prompt, which therefore is recognized by its text.
        """
        call_id = as_string(data.get("parentToolCallId"))
        key = as_string(event.agentId)
        is_about_agent = isinstance(event.type, str) and event.type.startswith("subagent.")
        if not key and event.type == "user.message":
            call_id = self._find_task(data)
        if not key and is_about_agent:
            call_id = as_string(data.get("toolCallId"))
        key = key or self._agent_of_call.get(call_id, call_id)
        if not key:
            return self._main
        if is_about_agent and (call_id := as_string(data.get("toolCallId"))):
            self._agent_of_call.setdefault(call_id, key)
        if event.type == "user.message":
            self._tasks.pop(self._find_task(data), None)
        return self._sub_agent(key)

    def _find_task(self, data: dict[str, Any]) -> str:
        """Return the call whose sub-agent gets this prompt, or an empty string."""
        prompt = as_string(data.get("content"))
        return next((call for call, task in self._tasks.items() if task == prompt), "")

    def _sub_agent(self, key: str) -> _Agent:
        self._delegates = True
        if key not in self._agents:
            state = State(kind="subagent", model=self._main.state.model)
            self._agents[key] = _Agent(TurnBuilder(self._input.sink), state)
        return self._agents[key]

    def _read_session_event(self, event: Event, data: dict[str, Any], agent: _Agent) -> None:
        """Read what concerns the session as a whole, or the relation of its agents."""
        kind = event.type
        match kind:
            case "session.start" | "session.resume":
                self._read_session_start(data)
            case "session.context_changed":
                self._read_context(data)
            case "session.info" if origin := find_origin(as_string(data.get("message"))):
                self._main.update(forked_from=safe_id(origin))
            case "session.shutdown":
                self._read_metrics(event, data)
            case "session.title_changed":
                self._main.update(title=as_string(data.get("title")))
            case "session.snapshot_rewind":
                uuid = uuid_bytes(data.get("upToEventId"))
                known = self._main.turns.turn_by_uuid
                self._main.turns.roll_back(known.get(uuid, self._main.turns.count))
            case "subagent.started":
                agent.name = as_string(data.get("agentName"))
                agent.title = as_string(data.get("agentDescription")) or agent.name
            case "assistant.message":
                self._note_tasks(data)
            case _ if not is_ignored(kind) and kind not in READ_TYPES:
                counts = count_type(self._main.state.unknown_types, kind)
                self._main.update(unknown_types=counts)

    def _read_metrics(self, event: Event, data: dict[str, Any]) -> None:
        """Count the tokens of a run. Versions with usage records note those of all runs here."""
        agents = [self._main, *self._agents.values()]
        has_outputs = any(agent.state.has_outputs for agent in agents)
        found = read_metrics(data.get("modelMetrics"), as_string(event.id), has_outputs)
        if self._main.turns.count and not any(agent.state.has_records for agent in agents):
            for usage in found:
                self._main.turns.add_usage(usage)
        for agent in agents:
            agent.update(has_outputs=False)

    def _note_tasks(self, data: dict[str, Any]) -> None:
        for call_id, name, call_input in extract_calls(data):
            if name == "task" and isinstance(call_input, dict):
                self._delegates = True
                self._tasks[call_id] = as_string(call_input.get("prompt"))

    def _read_session_start(self, data: dict[str, Any]) -> None:
        state, parent = self._main.state, data.get("detachedFromSpawningParentSessionId")
        self._main.update(
            versions=append_unique(state.versions, data.get("copilotVersion")),
            model=as_string(data.get("selectedModel")) or state.model,
        )
        if isinstance(parent, str) and parent:
            self._main.update(kind="worker", parent=safe_id(parent))
        context = data.get("context")
        self._read_context(context if isinstance(context, dict) else {})

    def _read_context(self, context: dict[str, Any]) -> None:
        state, cwd = self._main.state, as_string(context.get("cwd"))
        self._main.update(
            cwd=state.cwd or cwd,
            turn_cwd=cwd or state.turn_cwd,
            branch=as_string(context.get("branch")) or state.branch,
        )

    def _make_session(self) -> Session:
        state = self._main.state
        title, is_titled = choose_title([self._title, state.title], state.first_prompt)
        return Session(
            id=self._input.identity.id,
            source=self._source,
            kind=state.kind,
            parent=state.parent,
            forked_from=state.forked_from,
            project=find_project(state.cwd),
            cwd=state.cwd,
            branch=state.branch,
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            versions=state.versions,
            unknown_types=state.unknown_types,
        )

    def _finish_agents(self) -> list[SessionReading]:
        return [
            SessionReading(self._make_agent_session(key, agent), tuple(agent.turns.finish()[0]))
            for key, agent in self._agents.items()
            if agent.turns.count
        ]

    def _make_agent_id(self, key: str) -> str:
        """Return the id of a sub-agent. Only a UUID is its own in every session."""
        if UUID.fullmatch(key):
            return key
        return stable_id("copilot", f"{self._input.identity.id}/{key}")

    def _make_agent_session(self, key: str, agent: _Agent) -> Session:
        main, state = self._main.state, agent.state
        title, is_titled = choose_title([agent.title], state.first_prompt)
        return Session(
            id=self._make_agent_id(key),
            source=self._source,
            kind="subagent",
            parent=self._input.identity.id,
            agent=agent.name,
            project=find_project(main.cwd),
            cwd=main.cwd,
            branch=main.branch,
            title=title or agent.name,
            title_origin="client" if is_titled else "prompt",
            models=state.models,
            versions=main.versions,
        )
