"""Reads the tasks of Roo Code, and of Cline before its current format.

`api_conversation_history.json` has what was sent to the model: prompts between tags that the
client adds, results, and descriptions of the environment. It lacks times and tokens in most
versions. `ui_messages.json` has them, as a list of what was displayed.
"""

import os
from typing import Any, NamedTuple

import msgspec

from ccgrep.model import ToolResult
from ccgrep.sources.cline_messages import Messages, read_answer_block, read_result
from ccgrep.sources.cline_records import (
    XmlCall,
    as_blocks,
    decode_fields,
    extract_images,
    find_typed,
    is_environment,
    is_failure,
    is_reminder,
    parse_environment,
    parse_request,
    parse_result_header,
    parse_tokens,
    split_calls,
)
from ccgrep.sources.files import read_side_file, read_side_json
from ccgrep.sources.values import append_unique, as_amount, as_dict, as_string, parse_time

_PROMPTS = ("task", "user_feedback", "user_feedback_diff")


class _Request(NamedTuple):
    """A request to the model, as it was displayed."""

    time: int | None
    fields: dict[str, Any]
    model: str


class _Display(NamedTuple):
    """The times of the prompts, and the requests."""

    prompts: list[int | None]
    requests: list[_Request]


def read_task(messages: Messages, document: Any, folder: str, root: str) -> dict[str, Any]:
    """Read the messages of a task, and return what the files beside them say about it."""
    item = read_side_json(os.path.join(folder, "history_item.json"), root)
    messages.cwd = as_string(item.get("workspace"))
    history = document if isinstance(document, list) else []
    task = _TaskReader(messages, _read_display(folder, root))
    task.read([message for message in history if isinstance(message, dict)])
    return {"parent": item.get("parentTaskId"), "versions": _read_versions(folder, root)}


def _read_versions(folder: str, root: str) -> tuple[str, ...]:
    """Return the versions of Cline that worked on a task."""
    metadata = read_side_json(os.path.join(folder, "task_metadata.json"), root)
    found = metadata.get("environment_history")
    versions: tuple[str, ...] = ()
    for environment in found if isinstance(found, list) else []:
        versions = append_unique(versions, as_string(as_dict(environment).get("cline_version")))
    return versions


def _read_display(folder: str, root: str) -> _Display:
    try:
        data = read_side_file(os.path.join(folder, "ui_messages.json"), root)
        shown = msgspec.json.decode(data or b"[]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        shown = []
    display = _Display([], [])
    for number, one in enumerate(shown if isinstance(shown, list) else []):
        if not isinstance(one, dict):
            continue
        kind, time = one.get("say"), parse_time(one.get("ts"))
        if kind in _PROMPTS or (number == 0 and kind == "text"):
            display.prompts.append(time)
        elif kind == "api_req_started":
            fields = decode_fields(one.get("text"))
            model = as_string(as_dict(one.get("modelInfo")).get("modelId"))
            if "tokensOut" in fields or "cost" in fields:
                display.requests.append(_Request(time, fields, model))
    return display


class _TaskReader:
    """Reads the messages of one task."""

    def __init__(self, messages: Messages, display: _Display) -> None:
        self._messages = messages
        self._display = display
        self._waiting: dict[str, str] = {}  # calls without a result: the tool by the id
        self._prompts = 0
        self._answers = 0
        self._model = ""

    def read(self, history: list[dict[str, Any]]) -> None:
        answers = sum(message.get("role") == "assistant" for message in history)
        is_paired = answers == len(self._display.requests)
        for number, message in enumerate(history):
            own = parse_time(message.get("ts"))
            if message.get("role") == "user":
                self._messages.begin_record(own)
                self._read_user(message, own)
            elif message.get("role") == "assistant":
                request = self._display.requests[self._answers] if is_paired else None
                self._answers += 1
                self._messages.begin_record(own or (request.time if request else None))
                self._read_answer(message, number, request)
            else:
                self._messages.count_unknown(f"message/{message.get('role')}")
        if not is_paired:
            self._add_requests()

    def _add_requests(self) -> None:
        """Count the tokens of requests that belong to no answer: failed and repeated ones."""
        for number, request in enumerate(self._display.requests):
            self._messages.begin_record(None)
            self._count(request, number)

    def _count(self, request: _Request, number: int) -> None:
        model = request.model or self._model
        usage = parse_request(request.fields, model, number, request.time)
        self._messages.add_usage(usage, as_amount(request.fields.get("cost")))

    # Prompts and results.

    def _read_user(self, message: dict[str, Any], time: int | None) -> None:
        if message.get("isSummary") is True:
            texts = [as_string(block.get("text")) for block in as_blocks(message.get("content"))]
            self._messages.add_note("summary", "\n".join(filter(None, texts)))
            return
        blocks = as_blocks(message.get("content"))
        prompts: list[str] = []
        context: list[str] = []
        result: list[str] | None = None
        for block in blocks:
            if block.get("type") == "tool_result":
                self._waiting.pop(as_string(block.get("tool_use_id")), None)
                prompts += find_typed(read_result(self._messages, block))
            elif block.get("type") == "text":
                result = self._read_text(as_string(block.get("text")), prompts, context, result)
        self._end_result(result)
        self._begin_turn(prompts, extract_images(blocks), time)
        for text in context:
            self._messages.add_note("context", text)

    def _read_text(
        self, text: str, prompts: list[str], context: list[str], result: list[str] | None
    ) -> list[str] | None:
        """Read a text, and return the result that the next text may continue: tool and texts."""
        if is_environment(text):
            cwd, model = parse_environment(text)
            self._messages.cwd = self._messages.cwd or cwd
            self._model = model or self._model
            return result
        typed = find_typed(text)
        prompts += typed
        header = parse_result_header(text)
        if header is not None:
            self._end_result(result)
            return [*header]
        if is_reminder(text):
            self._end_result(result)
            context.append(text.strip())
            return None
        if result is not None:
            result.append(text)
            return result
        if not typed:
            context.append(text)
        return None

    def _end_result(self, result: list[str] | None) -> None:
        """Add a result to the first call of its tool that waits for one."""
        if result is None:
            return
        name, *texts = result
        # The result of `use_subagents` names `subagents`.
        waiting = next((id for id, tool in self._waiting.items() if tool.endswith(name)), None)
        if waiting is not None:
            del self._waiting[waiting]
            text = "\n".join(filter(None, texts))
            self._messages.turns.add_result(waiting, ToolResult(text, is_failure(text)))

    def _begin_turn(self, prompts: list[str], blobs: Any, time: int | None) -> None:
        prompt = "\n".join(filter(None, prompts))
        if not prompt:
            return
        shown = self._display.prompts
        if time is None and self._prompts < len(shown):
            self._messages.begin_record(shown[self._prompts])
        self._prompts += 1
        self._messages.begin_turn(prompt, blobs)

    # Answers.

    def _read_answer(self, message: dict[str, Any], number: int, request: _Request | None) -> None:
        self._waiting.clear()
        own = as_string(as_dict(message.get("modelInfo")).get("modelId"))
        model = (request.model if request else "") or own or self._model
        self._messages.begin_answer(str(number), model)
        self._messages.add_thought(as_string(message.get("reasoning_content")))
        for position, block in enumerate(as_blocks(message.get("content"))):
            if block.get("type") == "text":
                self._read_answer_text(as_string(block.get("text")), f"{number}/{position}")
            elif call_id := read_answer_block(self._messages, block, f"{number}/{position}"):
                self._waiting[call_id] = as_string(block.get("name"))
        if request is not None:
            self._count(request, self._answers)
        elif not self._display.requests:
            metrics = as_dict(message.get("metrics"))
            usage = parse_tokens(metrics.get("tokens"), model, number, message.get("ts"))
            self._messages.add_usage(usage, metrics.get("cost"))

    def _read_answer_text(self, text: str, place: str) -> None:
        for position, part in enumerate(split_calls(text)):
            if isinstance(part, str):
                self._messages.add_text(part)
            elif part.name == "thinking":
                self._messages.add_thought(part.input[""])
            else:
                self._read_call(part, f"#{place}/{position}")

    def _read_call(self, call: XmlCall, id: str) -> None:
        if self._messages.add_call(id, call.name, call.input):
            self._waiting[id] = call.name
