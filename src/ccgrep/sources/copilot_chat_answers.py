"""Adds what an agent did in answer to a request of a VS Code chat to the agent's turns."""

from typing import Any

from ccgrep.model import Text, Thinking, ToolResult
from ccgrep.sources.copilot_chat_records import (
    IGNORED_KINDS,
    INVOCATIONS,
    Request,
    read_markdown,
    read_message,
    read_path,
    read_texts,
)
from ccgrep.sources.turns import TurnBuilder
from ccgrep.sources.values import as_dict, as_dicts, as_string, count_type, parse_input


class Answers:
    """The answers of one agent."""

    def __init__(self, turns: TurnBuilder) -> None:
        self.turns = turns
        self.unknown: dict[str, int] = {}

    def read_rounds(self, request: Request) -> None:
        """Read what the model said and called, with the results of its calls."""
        results = as_dict(request.metadata.get("toolCallResults"))
        for number, one in enumerate(request.rounds):
            self.turns.begin_message(f"{request.id}/{number}", request.model)
            self._add_thought(one.get("thinking"))
            self.add_text(as_string(one.get("response")))
            for position, call in enumerate(as_dicts(one.get("toolCalls"))):
                call_id = as_string(call.get("id")) or f"{request.id}/{number}/{position}"
                name = as_string(call.get("name")) or "unknown"
                self.turns.add_call(call_id, name, parse_input(call.get("arguments")))
                result = results.get(call_id)
                if isinstance(result, dict):
                    is_error = result.get("isError") is True
                    text = "".join(read_texts(result.get("content")))
                    self.turns.add_result(call_id, ToolResult(text, is_error))

    def add_rest(self, parts: list[dict[str, Any]], rounds: list[dict[str, Any]]) -> None:
        """Add what the model said last, if the user cancelled it before its round ended."""
        rest = ""
        for part in parts:
            rest = "" if part.get("kind") in INVOCATIONS else rest + read_markdown(part)
        said = "\n".join(as_string(one.get("response")) for one in rounds)
        if rest.strip()[:40] not in said:
            self.add_text(rest)

    def read_parts(self, id: str, model: str, parts: list[dict[str, Any]]) -> None:
        """Read what the user saw. Pieces of text between calls are one text."""
        self.turns.begin_message(id, model)
        text = ""
        for number, part in enumerate(parts):
            kind = part.get("kind")
            if piece := read_markdown(part):
                text += piece
                continue
            if kind in ("thinking", "textEditGroup", *INVOCATIONS):
                self.add_text(text)
                text = ""
            if kind == "thinking":
                self._add_thought(part)
            elif kind in INVOCATIONS:
                self._read_invocation(part, f"{id}/{number}")
            elif kind == "textEditGroup":
                fields = {"path": read_path(part.get("uri")), "edits": part.get("edits")}
                self.turns.add_call(f"{id}/{number}", "textEditGroup", fields)
                self.turns.add_result(f"{id}/{number}", ToolResult())
            elif kind not in (None, "markdownContent", "inlineReference", *IGNORED_KINDS):
                self.unknown = count_type(self.unknown, kind)
        self.add_text(text)

    def _read_invocation(self, part: dict[str, Any], default_id: str) -> None:
        """Read a call as the user saw it."""
        call_id = as_string(part.get("toolCallId")) or default_id
        shown, data = as_dict(part.get("resultDetails")), as_dict(part.get("toolSpecificData"))
        command, terminal = as_dict(data.get("commandLine")), data.get("terminalCommandOutput")
        call_input = parse_input(shown.get("input"))
        if call_input is None and command:
            call_input = {"command": command.get("toolEdited") or command.get("original")}
        elif call_input is None and data.get("kind") == "subagent":
            call_input = {name: data.get(name) for name in ("description", "prompt")}
        self.turns.add_call(call_id, as_string(part.get("toolId")) or "unknown", call_input)
        text = "".join(read_texts(shown.get("output"))) or as_string(data.get("result"))
        if isinstance(terminal, dict):
            text = as_string(terminal.get("text"))
        text = text or read_message(part.get("pastTenseMessage"))
        text = text or read_message(part.get("invocationMessage"))
        code = as_dict(data.get("terminalCommandState")).get("exitCode")
        is_error = shown.get("isError") is True or code not in (0, None)
        if part.get("isComplete") is not False:
            self.turns.add_result(call_id, ToolResult(text, is_error))

    def add_text(self, text: str) -> None:
        if text.strip():
            self.turns.add_part(Text(text.strip()))

    def _add_thought(self, thought: Any) -> None:
        """Add a thought, whose text is a string or a list of strings."""
        fields = as_dict(thought)
        text = fields.get("text", fields.get("value"))
        if isinstance(text, list):
            text = "\n".join(filter(None, map(as_string, text)))
        if as_string(text).strip():
            self.turns.add_part(Thinking(as_string(text).strip()))
