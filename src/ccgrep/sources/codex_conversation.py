"""Reads the conversation in a Codex rollout: prompts, texts, tool calls and results.

Codex writes most messages twice, as a `response_item` and as an event. Either side may be
missing, so the reader accepts both and drops the second of a pair.
"""

import json
from typing import Any, Literal

from msgspec.structs import replace

from ccgrep.kinds import NoteKind
from ccgrep.model import Blob, ObjectId, Text, Thinking, ToolResult
from ccgrep.sources.codex_items import convert_legacy_event, parse_nested_call
from ccgrep.sources.codex_records import (
    CWD,
    EXIT_CODE,
    IGNORED_ITEMS,
    INJECTED_TEXTS,
    SHELL_COMMAND,
    State,
    extract_agent_message,
    extract_images,
    extract_texts,
    is_same_text,
    parse_json,
    strip_ide_context,
)
from ccgrep.sources.turns import TurnBuilder
from ccgrep.sources.values import as_string, base64_blob, count_type, data_url_blob

Side = Literal["item", "event"]
Role = Literal["user", "assistant", "thinking"]

_NAMELESS = dict.fromkeys(["", "function_call", "custom_tool_call", "local_shell_call"], "shell")
"""The tool of a call without a name, unless the kind of the call names it."""
_FAILURES = ("Script failed\n", "apply_patch verification failed", "unsupported call: ")
"""How outputs of failed calls begin that have no exit code."""
_MAX_UNPAIRED = 64
_MAX_TITLE_CHARS = 400
_EXIT_CODE_CHARS = 400


class Conversation:
    """The turns of a rollout, and the state that its records change."""

    def __init__(self, state: State, turns: TurnBuilder) -> None:
        self.state = state
        self.turns = turns

    def update(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def count_unknown(self, kind: Any) -> None:
        self.update(unknown_types=count_type(self.state.unknown_types, kind))

    def read_item(self, item: dict[str, Any]) -> None:
        """Read a `response_item`."""
        match item.get("type"):
            case "message":
                self._read_message(item)
            case "reasoning":
                for text in extract_texts(item.get("summary")) + extract_texts(item.get("content")):
                    self._add_agent_text("item", "thinking", text)
            case "agent_message":
                self._read_agent_message(extract_agent_message(item.get("content")))
            case "function_call_output" | "custom_tool_call_output":
                call_id = as_string(item.get("call_id")) or self._add_client_call(item)
                self._read_output(call_id, item.get("output"))
            case "tool_search_output":
                tools = json.dumps(item.get("tools"), ensure_ascii=False)
                self._read_output(as_string(item.get("call_id")), tools)
            case "image_generation_call":
                self._read_generated_image(item)
            case kind if isinstance(kind, str) and kind.endswith("_call"):
                self._read_call(item)
            case kind if as_string(kind) not in IGNORED_ITEMS:
                self.count_unknown(f"response_item/{kind}")

    def read_event(self, payload: dict[str, Any]) -> None:
        """Read an `event_msg` that repeats a message or a call."""
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
                self._read_completed_item(payload.get("item"))
            case "exec_command_end" | "patch_apply_end":
                self._read_completed_item(convert_legacy_event(payload))
            case "function_call":
                arguments = payload.get("parameters", payload.get("arguments"))
                self._read_call({**payload, "arguments": arguments})

    def read_compaction(self, summary: str) -> None:
        """Add the summary of a compaction, which the agent may have written as a text before."""
        if not summary:
            return
        if text := self.turns.retract_text(summary):
            self._remove_pair("event", "assistant", text)
        self.turns.add_note("summary", summary)

    def _read_completed_item(self, item: Any) -> None:
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
            case _:
                if call := parse_nested_call(item, self.state.turn_cwd):
                    self._begin_message()
                    self.turns.add_call(call.id, call.name, call.input)
                    self.turns.add_result(call.id, call.result)

    # Prompts and texts.

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

    def _read_agent_message(self, text: str) -> None:
        """Read a message between agents. A task begins a turn, like a prompt."""
        if text.startswith("Message Type: NEW_TASK"):
            header, _, task = text.partition("\nPayload:\n")
            self._begin_turn("item", task.strip())  # empty if it is encrypted
            text = header
        self.turns.add_note("notification", text)

    def _read_user_texts(self, side: Side, texts: list[str], blobs: tuple[Blob, ...] = ()) -> None:
        prompts: list[str] = []
        for text in texts:
            start = text.lstrip()
            note = next((note for prefix, note in INJECTED_TEXTS if start.startswith(prefix)), None)
            if note == "":
                self._read_environment(text)
            elif note is not None and side == "item":
                self.turns.add_note(note, text)
            elif shell := SHELL_COMMAND.fullmatch(start.rstrip()):
                self._begin_turn(side, shell.group(1))
                self.turns.add_note("command", shell.group(2))
            elif note is None and (prompt := strip_ide_context(text).strip()):
                prompts.append(prompt)
        prompt = "\n".join(prompts)
        if (prompt or blobs) and not self._is_repeated_prompt(side, prompt):
            self._begin_turn(side, prompt, blobs)

    def _is_repeated_prompt(self, side: Side, prompt: str) -> bool:
        if self._remove_pair(side, "user", prompt):
            return True
        # Codex writes the event twice when it enters review mode.
        return side == "event" and self.state.unpaired == ((side, "user", prompt),)

    def _begin_turn(self, side: Side, prompt: str, blobs: tuple[Blob, ...] = ()) -> None:
        self.turns.begin_turn(prompt, blobs)
        self._count_prompt(prompt, ((side, "user", prompt),))  # A pair never spans two prompts.

    def begin_rebuilt_turn(self, prompt: str, claim: ObjectId, is_rolled_back: bool) -> None:
        """Begin a turn that ccgrep wrote, and that has no second form."""
        self.turns.begin_rebuilt_turn(prompt, claim, is_rolled_back)
        self._count_prompt(prompt, ())

    def add_rebuilt_note(self, kind: NoteKind, text: str) -> None:
        """Add a note that ccgrep wrote between two messages."""
        self.turns.add_note(kind, text)
        self.update(answers=self.state.answers + 1)

    def _count_prompt(self, prompt: str, unpaired: tuple[tuple[str, str, str], ...]) -> None:
        self.update(
            first_prompt=self.state.first_prompt or prompt[:_MAX_TITLE_CHARS],
            unpaired=unpaired,
            answers=self.state.answers + 1,
        )

    def _read_environment(self, text: str) -> None:
        """Set the working directory, which the format of 2025-08 names nowhere else."""
        match = CWD.search(text)
        if match and not self.state.cwd:
            cwd = (match.group(1) or match.group(2)).strip()
            self.update(cwd=cwd, turn_cwd=cwd)

    def _add_agent_text(self, side: Side, role: Role, text: str) -> None:
        """Add a text of the agent, unless it completes a pair."""
        if not text.strip() or self._remove_pair(side, role, text):
            return
        self._begin_message()
        self.turns.add_part(Thinking(text) if role == "thinking" else Text(text))
        self.update(unpaired=(*self.state.unpaired, (side, role, text))[-_MAX_UNPAIRED:])

    def _remove_pair(self, side: Side, role: Role, text: str) -> bool:
        """Return whether the other side wrote the same text, and stop expecting the pair."""
        for known in self.state.unpaired:
            other, other_role, other_text = known
            if other != side and other_role == role and is_same_text(role, text, other_text):
                self.update(unpaired=tuple(x for x in self.state.unpaired if x is not known))
                return True
        return False

    def _begin_message(self) -> str:
        """Return the key of the current message: all texts and calls between two results."""
        key = str(self.state.answers)
        self.turns.begin_message(key, self.state.model)
        return key

    # Calls and results.

    def _read_call(self, item: dict[str, Any]) -> None:
        """Read a call of any kind. Those of functions and custom tools name their tool."""
        kind = as_string(item.get("type"))
        name = as_string(item.get("name")) or _NAMELESS.get(kind, kind.removesuffix("_call"))
        namespace = as_string(item.get("namespace"))
        if namespace.startswith("mcp__"):
            name = f"{namespace}__{name}"
        call_input = item.get("input")
        if call_input is None:
            call_input = item.get("action") or item.get("arguments")
            if isinstance(call_input, str):
                call_input = parse_json(call_input)
        self.turns.add_call(self._begin_call(item), name, call_input)

    def _begin_call(self, item: dict[str, Any]) -> str:
        """Begin or continue the agent's message for a call, and return the id of the call."""
        key = self._begin_message()
        given = as_string(item.get("call_id")) or as_string(item.get("id"))
        return given or f"#{len(self.state.unpaired)}-{key}"

    def _add_client_call(self, item: dict[str, Any]) -> str:
        """Add a call that the client made by itself: the rollout records only its output."""
        call_id = self._begin_call(item)
        self.turns.add_call(call_id, as_string(item.get("name")) or "unknown", None)
        return call_id

    def _read_generated_image(self, item: dict[str, Any]) -> None:
        call_id = self._begin_call(item)
        prompt, image = as_string(item.get("revised_prompt")), as_string(item.get("result"))
        self.turns.add_call(call_id, "image_generation", {"prompt": prompt})
        blobs = (base64_blob("image/png", image),) if image else ()
        self.turns.add_result(call_id, ToolResult("", item.get("status") == "failed", blobs))

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
        is_error = is_error or text.startswith(_FAILURES)
        self.turns.add_result(call_id, ToolResult(text, is_error, blobs))
        self.update(answers=self.state.answers + 1)
