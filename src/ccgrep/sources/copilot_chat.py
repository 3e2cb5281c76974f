"""Reads the chat sessions of VS Code: `workspaceStorage/<hash>/chatSessions/<id>.json[l]`.

A session is a document, or since 1.109 a log of changes to it. A request has what the user saw in
`response`. What the model said and called, with names and inputs, is in the rounds of its
`result`. So the rounds are read if there are any.

If the editor runs on another machine (Remote SSH), the session is there. Here is a transcript of
the extension, with the events of Copilot CLI: `GitHub.copilot-chat/transcripts/<id>.jsonl`.
"""

import os
from typing import Any

from ccgrep.model import Session, Usage
from ccgrep.sources.copilot_chat_answers import Answers
from ccgrep.sources.copilot_chat_records import (
    Agent,
    Request,
    find_launches,
    parse_request,
    read_path,
    split_agents,
)
from ccgrep.sources.copilot_cli import read_events
from ccgrep.sources.files import read_side_json
from ccgrep.sources.identity import safe_id, stable_id
from ccgrep.sources.json_document import read_document
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.mutation_log import Change, ReplayedObject
from ccgrep.sources.reading import (
    Input,
    NoState,
    Reading,
    SessionIdentity,
    SessionReading,
    make_reading,
)
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_count,
    as_dict,
    as_dicts,
    as_string,
    find_project,
    parse_time,
    usage_key,
    uuid_bytes,
)

_SERVER = ".vscode-server"
_TRANSCRIPTS = ("GitHub.copilot-chat", "transcripts")
_EMPTY_WINDOWS = "emptyWindowChatSessions"


def list_files(listing: Listing) -> None:
    """Add the sessions of each workspace, or those of windows without one."""
    root = listing.root.path
    if os.path.basename(root) == _EMPTY_WINDOWS:
        _add_sessions(listing, root)
        return
    for entry in listing.list_folder(root):
        if entry.is_dir(follow_symlinks=False):
            _add_sessions(listing, os.path.join(entry.path, "chatSessions"))
            if _SERVER in root.split(os.sep):
                _add_transcripts(listing, entry.path)


def _add_sessions(listing: Listing, directory: str) -> None:
    for entry in listing.list_folder(directory):
        if entry.name.endswith((".json", ".jsonl")):
            listing.add_entry(entry, "session")
    # A session that became a log may have left its document.
    listing.drop(lambda path: path.endswith(".json") and listing.has(f"{path}l"))


def _add_transcripts(listing: Listing, workspace: str) -> None:
    """Add the transcripts of the extension. Beside an editor, they repeat its sessions."""
    for entry in listing.list_folder(os.path.join(workspace, *_TRANSCRIPTS)):
        stem = os.path.join(workspace, "chatSessions", entry.name.removesuffix(".jsonl"))
        is_here = listing.has(f"{stem}.json") or listing.has(f"{stem}.jsonl")
        if entry.name.endswith(".jsonl") and not is_here:
            listing.add_entry(entry, "session")


def list_side_files(path: str) -> list[str]:
    """Return the description of a session's workspace."""
    folder = os.path.dirname(path)
    if _is_transcript(path):
        folder = os.path.dirname(folder)
    elif os.path.basename(folder) != "chatSessions":
        return []
    return [os.path.join(os.path.dirname(folder), "workspace.json")]


def _is_transcript(path: str) -> bool:
    return tuple(path.split(os.sep)[-3:-1]) == _TRANSCRIPTS


def identify(path: str) -> SessionIdentity:
    """Return the id in the name of a session's file."""
    return SessionIdentity(safe_id(os.path.basename(path).removesuffix("l").removesuffix(".json")))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a session. A change may concern any part of it, so all of it is read each time."""
    if _is_transcript(found.path):
        return read_events(input, found.source, cwd=_find_folder(found))
    session = _Session(input, found)
    if found.path.endswith(".json"):
        document = read_document(input)
        parts = session.read(document.value, [], document.end.offset, tuple(document.bad))
        return make_reading(input, document, parts, Mark(0, 0), NoState(), is_rewritten=True)
    records = Records(input.stream, input.start, Change)
    replayed = ReplayedObject("requests")
    for _, _, change in records:
        replayed.apply(change)
    parts = session.read(replayed.value, replayed.removed, records.end.offset, tuple(records.bad))
    return make_reading(input, records, parts, Mark(0, 0), NoState(), is_rewritten=True)


def _find_folder(found: FoundFile) -> str:
    """Return the folder of a session's workspace, or the one that holds its description."""
    for path in list_side_files(found.path):
        workspace = read_side_json(path, found.root)
        if folder := read_path(workspace.get("folder")):
            return folder
        described = (workspace.get(name) for name in ("workspace", "configuration"))
        if file := next(filter(None, map(read_path, described)), ""):
            return os.path.dirname(file)
    return ""


class _Session:
    """Reads one session and its sub-agents."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._input = input
        self._found = found
        self._turns = TurnBuilder(input.sink)
        self._answers = Answers(self._turns)
        self._agents: list[SessionReading] = []
        self._models: tuple[str, ...] = ()
        self._first_prompt = ""
        self._cwd = ""

    def read(self, value: Any, removed: list[Any], end: int, bad: Any) -> list[SessionReading]:
        """Read the requests of a session, with those that the user took back."""
        fields = value if isinstance(value, dict) else {}
        requests = as_dicts(fields.get("requests"))
        known = {as_string(request.get("requestId")) for request in requests}
        taken_back = [one for one in as_dicts(removed) if one.get("requestId") not in known]
        ordered = [*((one, False) for one in requests), *((one, True) for one in taken_back)]
        if taken_back:
            ordered.sort(key=lambda pair: parse_time(pair[0].get("timestamp")) or 0)
        self._cwd = self._find_cwd(fields)
        for fields_of_request, is_taken_back in ordered:
            count = self._turns.count
            self._read_request(parse_request(fields_of_request), end)
            if is_taken_back:
                self._turns.roll_back(count)
        entries, _ = self._turns.finish()
        session = self._make_session(as_string(fields.get("customTitle")))
        return [SessionReading(session, tuple(entries), bad), *self._agents]

    def _find_cwd(self, fields: dict[str, Any]) -> str:
        if cwd := read_path(fields.get("workingDirectory")):
            return cwd
        return _find_folder(self._found)

    def _make_session(self, given: str) -> Session:
        title, is_titled = choose_title([given], self._first_prompt)
        return Session(
            id=self._input.identity.id,
            source="copilot_chat",
            project=find_project(self._cwd),
            cwd=self._cwd,
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=self._models,
            unknown_types=self._answers.unknown,
        )

    # Requests.

    def _read_request(self, request: Request, end: int) -> None:
        time, uuid = parse_time(request.fields.get("timestamp")), uuid_bytes(request.id)
        self._turns.record = RecordInfo(Mark(0, 0), end, None, time, self._cwd, uuid=uuid)
        self._read_prompt(request.fields)
        self._models = append_unique(self._models, request.model)
        parts, agents = split_agents(request.fields.get("response"))
        if any(one.get("response") or one.get("toolCalls") for one in request.rounds):
            self._answers.read_rounds(request)
            if request.is_cancelled:
                self._answers.add_rest(parts, request.rounds)
        else:
            self._answers.read_parts(request.id, request.model, parts)
        self._read_end(request)
        self._add_usage(request)
        calls = find_launches(request)
        for number, agent in enumerate(agents):
            if agent.parts:
                call = calls[number] if number < len(calls) else {}
                self._agents.append(self._read_agent(agent, call, request))

    def _read_agent(self, agent: Agent, call: dict[str, Any], request: Request) -> SessionReading:
        """Read what a sub-agent did as a session of its own. Its prompt is in its call."""
        data = as_dict(agent.launch.get("toolSpecificData"))
        key = as_string(agent.launch.get("toolCallId"))
        task = as_string(data.get("prompt")) or as_string(call.get("prompt"))
        title = as_string(data.get("description")) or as_string(call.get("description"))
        result = as_string(data.get("result")) or as_string(call.get("result"))
        turns = TurnBuilder(self._input.sink)
        turns.record = self._turns.record._replace(time=parse_time(request.fields.get("timestamp")))
        turns.begin_turn(task)
        answers = Answers(turns)
        answers.read_parts(key, as_string(data.get("modelName")), agent.parts)
        answers.add_text(result)
        session = Session(
            id=stable_id("copilot-chat", f"{self._input.identity.id}/{key}"),
            source="copilot_chat",
            kind="subagent",
            parent=self._input.identity.id,
            agent=as_string(data.get("agentName")),
            project=find_project(self._cwd),
            cwd=self._cwd,
            title=choose_title([title], task)[0],
            title_origin="client" if title else "prompt",
            unknown_types=answers.unknown,
        )
        return SessionReading(session, tuple(turns.finish()[0]))

    def _read_prompt(self, request: dict[str, Any]) -> None:
        message = request.get("message")
        prompt = as_string(message)
        if isinstance(message, dict):
            prompt = as_string(message.get("text"))
        if request.get("isSystemInitiated") is True:
            self._turns.add_note("notification", prompt)
            return
        self._turns.begin_turn(prompt)
        self._first_prompt = self._first_prompt or prompt[:MAX_TITLE_CHARS]
        variables = request.get("variableData")
        attached = variables.get("variables") if isinstance(variables, dict) else None
        for variable in as_dicts(attached):
            path = read_path(variable.get("value")) or as_string(variable.get("name"))
            if path:
                self._turns.add_note("context", path)

    def _read_end(self, request: Request) -> None:
        summary = request.metadata.get("summary")
        for one in [*as_dicts(request.metadata.get("summaries")), *as_dicts([summary])]:
            if text := as_string(one.get("text")):
                self._turns.add_note("summary", text)
        message = as_string(as_dict(request.result.get("errorDetails")).get("message"))
        if request.is_cancelled:
            self._turns.add_note("interrupted", message or "Cancelled")
        elif message:
            self._turns.add_note("error", message)
        ended = parse_time(as_dict(request.fields.get("modelState")).get("completedAt"))
        elapsed = as_count(as_dict(request.result.get("timings")).get("totalElapsed"))
        time = self._turns.record.time
        if ended is None and time is not None and elapsed is not None:
            ended = time + elapsed
        self._turns.record = self._turns.record._replace(time=ended)
        self._turns.touch()

    def _add_usage(self, request: Request) -> None:
        """Add the tokens of each model, or the input of the last call and the whole output."""
        id, fields, metadata = request.id, request.fields, request.metadata
        totals = as_dicts(fields.get("modelTotals"))
        for total in totals:
            name = as_string(total.get("model"))
            counts = as_count(total.get("inputTokens")), as_count(total.get("outputTokens"))
            self._turns.add_usage(Usage(usage_key("copilot_chat", id, name), name, *counts))
        if totals:
            return
        input = as_count(metadata.get("promptTokens")) or as_count(fields.get("promptTokens"))
        output = as_count(metadata.get("outputTokens")) or as_count(fields.get("completionTokens"))
        if input or output:
            key = usage_key("copilot_chat", id)
            self._turns.add_usage(Usage(key, request.model, input, output))
