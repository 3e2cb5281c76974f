"""Reads the chat sessions of VS Code: `workspaceStorage/<hash>/chatSessions/<id>.json[l]`.

A session is a document, or since 1.109 a log of changes to it. A request has what the user saw in
`response`. What the model said and called, with names and inputs, is in the rounds of its
`result`. So the rounds are read if there are any.
"""

import os
import re
from typing import Any

import msgspec

from ccgrep.model import Session, Text, Thinking, ToolResult, Usage
from ccgrep.sources.files import read_side_json
from ccgrep.sources.identity import safe_id
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
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import (
    append_unique,
    as_count,
    as_string,
    count_type,
    find_project,
    parse_time,
    usage_key,
    uuid_bytes,
)

_MAX_TITLE_CHARS = 400
_EMPTY_WINDOWS = "emptyWindowChatSessions"
_PREFIX = "copilot/"
_FILE = "file://"
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_MAX_DEPTH = 64
_CANCELLED = 2  # of `modelState`
_IGNORED_KINDS = frozenset(
    """
    undoStop codeblockUri command confirmation warning progressMessage progressTask
    progressTaskSerialized references usedContext codeCitation elicitation extensions pullRequest
    mcpServersStarting prepareToolInvocation multiDiffData notebookEdit notebookEditGroup
    elicitationSerialized todoList treeData hook questionCarousel clearToPreviousToolInvocation
    workspaceEdit externalEdit externalToolInvocationUpdate markdownVuln disabledClaudeHooks
    """.split()
)
"""Parts of a response that say nothing."""


def list_files(listing: Listing) -> None:
    """Add the sessions of each workspace, or those of windows without one."""
    root = listing.root.path
    if os.path.basename(root) == _EMPTY_WINDOWS:
        _add_sessions(listing, root)
        return
    for entry in listing.list_folder(root):
        if entry.is_dir(follow_symlinks=False):
            _add_sessions(listing, os.path.join(entry.path, "chatSessions"))


def _add_sessions(listing: Listing, directory: str) -> None:
    for entry in listing.list_folder(directory):
        if entry.name.endswith((".json", ".jsonl")):
            listing.add_entry(entry, "session")
    # A session that became a log may have left its document.
    listing.drop(lambda path: path.endswith(".json") and listing.has(f"{path}l"))


def list_side_files(path: str) -> list[str]:
    """Return the description of a session's workspace."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) != "chatSessions":
        return []
    return [os.path.join(os.path.dirname(folder), "workspace.json")]


def identify(path: str) -> SessionIdentity:
    """Return the id in the name of a session's file."""
    return SessionIdentity(safe_id(os.path.basename(path).removesuffix("l").removesuffix(".json")))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a session. A change may concern any part of it, so all of it is read each time."""
    session = _Session(input, found)
    if found.path.endswith(".json"):
        document = read_document(input)
        part = session.read(document.value, [], document.end.offset, tuple(document.bad))
        return make_reading(input, document, [part], Mark(0, 0), NoState(), is_rewritten=True)
    records = Records(input.stream, input.start, Change)
    replayed = ReplayedObject("requests")
    for _, _, change in records:
        replayed.apply(change)
    part = session.read(replayed.value, replayed.removed, records.end.offset, tuple(records.bad))
    return make_reading(input, records, [part], Mark(0, 0), NoState(), is_rewritten=True)


class _Session:
    """Reads one session."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._input = input
        self._found = found
        self._turns = TurnBuilder(input.sink)
        self._models: tuple[str, ...] = ()
        self._unknown: dict[str, int] = {}
        self._first_prompt = ""

    def read(self, value: Any, removed: list[Any], end: int, bad: Any) -> SessionReading:
        """Read the requests of a session, with those that the user took back."""
        fields = value if isinstance(value, dict) else {}
        requests = _dicts(fields.get("requests"))
        known = {as_string(request.get("requestId")) for request in requests}
        taken_back = [one for one in _dicts(removed) if one.get("requestId") not in known]
        ordered = [*((one, False) for one in requests), *((one, True) for one in taken_back)]
        if taken_back:
            ordered.sort(key=lambda pair: parse_time(pair[0].get("timestamp")) or 0)
        cwd = self._find_cwd(fields)
        for request, is_taken_back in ordered:
            count = self._turns.count
            self._read_request(request, end, cwd)
            if is_taken_back:
                self._turns.roll_back(count)
        entries, _ = self._turns.finish()
        return SessionReading(self._make_session(fields, cwd), tuple(entries), bad)

    def _find_cwd(self, fields: dict[str, Any]) -> str:
        """Return the folder of the workspace, or the one that holds its description."""
        if cwd := _read_path(fields.get("workingDirectory")):
            return cwd
        workspace = [
            read_side_json(path, self._found.root) for path in list_side_files(self._found.path)
        ]
        for one in workspace:
            if folder := _read_path(one.get("folder")):
                return folder
            if path := _read_path(one.get("workspace")) or _read_path(one.get("configuration")):
                return os.path.dirname(path)
        return ""

    def _make_session(self, fields: dict[str, Any], cwd: str) -> Session:
        title, is_titled = choose_title([as_string(fields.get("customTitle"))], self._first_prompt)
        return Session(
            id=self._input.identity.id,
            source="copilot_chat",
            project=find_project(cwd),
            cwd=cwd,
            title=title,
            title_origin="client" if is_titled else "prompt",
            models=self._models,
            unknown_types=self._unknown,
        )

    # Requests.

    def _read_request(self, request: dict[str, Any], end: int, cwd: str) -> None:
        id = as_string(request.get("requestId"))
        time = parse_time(request.get("timestamp"))
        mark = Mark(0, 0)
        self._turns.record = RecordInfo(mark, end, None, time, cwd, uuid=uuid_bytes(id))
        self._read_prompt(request)
        result = request.get("result")
        fields = result if isinstance(result, dict) else {}
        metadata = fields.get("metadata")
        details = metadata if isinstance(metadata, dict) else {}
        model = as_string(details.get("resolvedModel")) or as_string(request.get("modelId"))
        model = model.removeprefix(_PREFIX)
        self._models = append_unique(self._models, model)
        is_cancelled = _is_cancelled(request)
        rounds = _dicts(details.get("toolCallRounds"))
        if any(one.get("response") or one.get("toolCalls") for one in rounds):
            self._read_rounds(id, model, rounds, details)
            if is_cancelled:
                self._add_rest(request.get("response"), rounds)
        else:
            self._read_response(id, model, request.get("response"))
        self._read_end(request, fields, details, is_cancelled)
        self._add_usage(id, model, request, details)

    def _read_prompt(self, request: dict[str, Any]) -> None:
        message = request.get("message")
        prompt = as_string(message)
        if isinstance(message, dict):
            prompt = as_string(message.get("text"))
        if request.get("isSystemInitiated") is True:
            self._turns.add_note("notification", prompt)
            return
        self._turns.begin_turn(prompt)
        self._first_prompt = self._first_prompt or prompt[:_MAX_TITLE_CHARS]
        variables = request.get("variableData")
        attached = variables.get("variables") if isinstance(variables, dict) else None
        for variable in _dicts(attached):
            path = _read_path(variable.get("value")) or as_string(variable.get("name"))
            if path:
                self._turns.add_note("context", path)

    def _read_rounds(
        self, id: str, model: str, rounds: list[dict[str, Any]], metadata: dict[str, Any]
    ) -> None:
        results = metadata.get("toolCallResults")
        for number, one in enumerate(rounds):
            self._turns.begin_message(f"{id}/{number}", model)
            self._add_thought(one.get("thinking"))
            self._add_text(as_string(one.get("response")))
            for position, call in enumerate(_dicts(one.get("toolCalls"))):
                call_id = as_string(call.get("id")) or f"{id}/{number}/{position}"
                name = as_string(call.get("name")) or "unknown"
                self._turns.add_call(call_id, name, _parse_input(call.get("arguments")))
                result = results.get(call_id) if isinstance(results, dict) else None
                if isinstance(result, dict):
                    is_error = result.get("isError") is True
                    text = "".join(_texts(result.get("content")))
                    self._turns.add_result(call_id, ToolResult(text, is_error))

    def _add_rest(self, response: Any, rounds: list[dict[str, Any]]) -> None:
        """Add what the model said last, if the user cancelled it before its round ended."""
        rest = ""
        for part in _dicts(response):
            rest = "" if part.get("kind") == "toolInvocationSerialized" else rest + _markdown(part)
        said = "\n".join(as_string(one.get("response")) for one in rounds)
        if rest.strip()[:40] not in said:
            self._add_text(rest)

    def _read_response(self, id: str, model: str, response: Any) -> None:
        """Read what the user saw. Pieces of text between calls are one text."""
        self._turns.begin_message(id, model)
        text = ""
        for number, part in enumerate(_dicts(response)):
            kind = part.get("kind")
            if piece := _markdown(part):
                text += piece
                continue
            if kind in ("thinking", "toolInvocationSerialized", "toolInvocation", "textEditGroup"):
                self._add_text(text)
                text = ""
            if kind == "thinking":
                self._add_thought(part)
            elif kind in ("toolInvocationSerialized", "toolInvocation"):
                self._read_invocation(part, f"{id}/{number}")
            elif kind == "textEditGroup":
                fields = {"path": _read_path(part.get("uri")), "edits": part.get("edits")}
                self._turns.add_call(f"{id}/{number}", "textEditGroup", fields)
                self._turns.add_result(f"{id}/{number}", ToolResult())
            elif kind not in (None, "markdownContent", "inlineReference", *_IGNORED_KINDS):
                self._unknown = count_type(self._unknown, kind)
        self._add_text(text)

    def _read_invocation(self, part: dict[str, Any], default_id: str) -> None:
        """Read a call as the user saw it."""
        call_id = as_string(part.get("toolCallId")) or default_id
        details, data = part.get("resultDetails"), part.get("toolSpecificData")
        fields = data if isinstance(data, dict) else {}
        shown = details if isinstance(details, dict) else {}
        command, state = fields.get("commandLine"), fields.get("terminalCommandState")
        call_input = _parse_input(shown.get("input"))
        if isinstance(command, dict) and call_input is None:
            call_input = {"command": command.get("toolEdited") or command.get("original")}
        self._turns.add_call(call_id, as_string(part.get("toolId")) or "unknown", call_input)
        terminal = fields.get("terminalCommandOutput")
        texts = _texts(shown.get("output"))
        if isinstance(terminal, dict):
            texts = [as_string(terminal.get("text"))]
        text = "".join(texts) or _read_message(part.get("pastTenseMessage"))
        code = state.get("exitCode") if isinstance(state, dict) else None
        is_error = shown.get("isError") is True or code not in (0, None)
        if part.get("isComplete") is not False:
            self._turns.add_result(call_id, ToolResult(text, is_error))

    def _read_end(
        self,
        request: dict[str, Any],
        result: dict[str, Any],
        metadata: dict[str, Any],
        is_cancelled: bool,
    ) -> None:
        summary = metadata.get("summary")
        for one in [*_dicts(metadata.get("summaries")), *_dicts([summary])]:
            if text := as_string(one.get("text")):
                self._turns.add_note("summary", text)
        error = result.get("errorDetails")
        message = as_string(error.get("message")) if isinstance(error, dict) else ""
        if is_cancelled:
            self._turns.add_note("interrupted", message or "Cancelled")
        elif message:
            self._turns.add_note("error", message)
        state, timings = request.get("modelState"), result.get("timings")
        ended = parse_time(state.get("completedAt")) if isinstance(state, dict) else None
        elapsed = as_count(timings.get("totalElapsed")) if isinstance(timings, dict) else None
        time = self._turns.record.time
        if ended is None and time is not None and elapsed is not None:
            ended = time + elapsed
        self._turns.record = self._turns.record._replace(time=ended)
        self._turns.touch()

    def _add_usage(
        self, id: str, model: str, request: dict[str, Any], metadata: dict[str, Any]
    ) -> None:
        """Add the tokens of each model, or the input of the last call and the whole output."""
        for total in _dicts(request.get("modelTotals")):
            name = as_string(total.get("model"))
            self._turns.add_usage(
                Usage(
                    usage_key("copilot_chat", id, name),
                    name,
                    as_count(total.get("inputTokens")),
                    as_count(total.get("outputTokens")),
                )
            )
        if _dicts(request.get("modelTotals")):
            return
        input = as_count(metadata.get("promptTokens")) or as_count(request.get("promptTokens"))
        output = as_count(metadata.get("outputTokens")) or as_count(request.get("completionTokens"))
        if input or output:
            self._turns.add_usage(Usage(usage_key("copilot_chat", id), model, input, output))

    def _add_text(self, text: str) -> None:
        if text.strip():
            self._turns.add_part(Text(text.strip()))

    def _add_thought(self, thought: Any) -> None:
        """Add a thought, whose text is a string or a list of strings."""
        fields = thought if isinstance(thought, dict) else {}
        text = fields.get("text", fields.get("value"))
        if isinstance(text, list):
            text = "\n".join(filter(None, map(as_string, text)))
        if as_string(text).strip():
            self._turns.add_part(Thinking(as_string(text).strip()))


def _is_cancelled(request: dict[str, Any]) -> bool:
    state = request.get("modelState")
    value = state.get("value") if isinstance(state, dict) else None
    return request.get("isCanceled") is True or value == _CANCELLED


def _markdown(part: dict[str, Any]) -> str:
    """Return the text of a part of a response, if it is one."""
    kind = part.get("kind")
    if kind is None:
        return _read_message(part)
    if kind == "markdownContent":
        return _read_message(part.get("content", part.get("value")))
    if kind == "inlineReference":
        reference = part.get("inlineReference")
        location = reference.get("location", reference) if isinstance(reference, dict) else None
        uri = location.get("uri", location) if isinstance(location, dict) else None
        return as_string(part.get("name")) or os.path.basename(_read_path(uri))
    return ""


def _read_message(message: Any) -> str:
    """Return a text of VS Code, which is a string or an object with one."""
    return as_string(message.get("value")) if isinstance(message, dict) else as_string(message)


def _texts(content: Any, depth: int = 0) -> list[str]:
    """Return the texts in the content of a result, which may be a tree of nodes."""
    if isinstance(content, str):
        return [content]
    if depth > _MAX_DEPTH:
        return []
    if isinstance(content, list):
        return [text for one in content for text in _texts(one, depth + 1)]
    if not isinstance(content, dict):
        return []
    value = content.get("value", content.get("text"))
    found = [value] if isinstance(value, str) else []
    node = value.get("node") if isinstance(value, dict) else content.get("node")
    below = node.get("children") if isinstance(node, dict) else content.get("children")
    return found + _texts(below, depth + 1) if isinstance(below, list) else found


def _read_path(uri: Any) -> str:
    """Return the path of a `file:` URI, which is a text or an object."""
    if isinstance(uri, dict):
        path = uri.get("fsPath") or uri.get("path")
        return as_string(path) if uri.get("scheme", "file") == "file" else ""
    if not isinstance(uri, str) or not uri.startswith(_FILE):
        return ""
    path = uri[uri.find("/", len(_FILE)) :].encode("utf-8", "surrogatepass")
    return _ESCAPED.sub(lambda match: bytes.fromhex(match.group(1).decode()), path).decode(
        "utf-8", "replace"
    )


def _parse_input(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parsed = msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict) else value


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
