"""Translates the tool calls of a turn for another client.

Commands, edits and looking at an image have a counterpart. Every other call becomes a text, so that
the other agent does not learn to call a tool that it does not have. A text cannot hold an image.
"""

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from ccgrep.kinds import SourceName
from ccgrep.model import Message, Part, Step, Text, ToolCall, ToolResult, Turn
from ccgrep.rebuild.form import describe_blob
from ccgrep.rebuild.patches import Edit, parse_patch, write_patch
from ccgrep.sources.file_tools import SHELL_TOOLS


def translate_turn(turn: Turn, target: SourceName) -> Turn:
    """Return a turn of the other client as `target` would have recorded it."""
    translate = _to_claude if target == "claude_code" else _to_codex
    return replace(turn, steps=tuple(_translate_step(step, translate) for step in turn.steps))


def _translate_step(step: Step, translate: Callable[[ToolCall], list[ToolCall]]) -> Step:
    if not isinstance(step, Message):
        return step
    return replace(step, parts=tuple(_translate_parts(step, translate)))


def _translate_parts(
    message: Message, translate: Callable[[ToolCall], list[ToolCall]]
) -> Iterator[Part]:
    for part in message.parts:
        if not isinstance(part, ToolCall):
            yield part
        elif calls := translate(part):
            yield from calls
        else:
            yield _to_text(part)


def _to_claude(call: ToolCall) -> list[ToolCall]:
    """Return the calls of Claude Code that do the same, or none."""
    if call.name != "Bash" and call.name.lower() in SHELL_TOOLS:
        command = _find_command(_fields(call))
        return [ToolCall("Bash", {"command": command}, call.result)] if command else []
    if call.name == "view_image" and isinstance(path := _fields(call).get("path"), str):
        return [ToolCall("Read", {"file_path": path}, call.result)]
    if call.name == "apply_patch":
        patch = call.input if isinstance(call.input, str) else _fields(call).get("input")
        edits = parse_patch(patch) if isinstance(patch, str) else []
        return [_to_edit_call(edit, call.result) for edit in edits]
    return []


def _find_command(fields: dict[str, Any]) -> str:
    """Return the command line of a tool for commands."""
    command = fields.get("cmd") or fields.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        is_script = len(command) == 3 and command[1] in ("-c", "-lc")
        command = command[2] if is_script else shlex.join(command)
    if not isinstance(command, str):
        return ""
    directory = fields.get("workdir") or fields.get("working_directory")
    return f"cd {shlex.quote(directory)} && {command}" if isinstance(directory, str) else command


def _to_edit_call(edit: Edit, result: ToolResult | None) -> ToolCall:
    if edit.old is None:
        return ToolCall("Write", {"file_path": edit.path, "content": edit.new}, result)
    input = {"file_path": edit.path, "old_string": edit.old, "new_string": edit.new}
    return ToolCall("Edit", input, result)


def _to_codex(call: ToolCall) -> list[ToolCall]:
    """Return the call of Codex that does the same, or none."""
    fields = _fields(call)
    if call.name.lower() in SHELL_TOOLS and isinstance(fields.get("command"), str):
        return [ToolCall("exec_command", {"cmd": fields["command"]}, call.result)]
    if call.name == "Read" and call.result is not None and call.result.blobs:
        return [ToolCall("view_image", {"path": fields.get("file_path")}, call.result)]
    edits = list(_find_edits(call.name, fields))
    return [ToolCall("apply_patch", write_patch(edits), call.result)] if edits else []


def _find_edits(name: str, fields: dict[str, Any]) -> Iterator[Edit]:
    path = fields.get("file_path")
    if not isinstance(path, str):
        return
    if name == "Write" and isinstance(fields.get("content"), str):
        yield Edit(path, fields["content"])
    changes = fields.get("edits") if name == "MultiEdit" else [fields] if name == "Edit" else []
    for change in changes if isinstance(changes, list) else []:
        old, new = (change.get(key) for key in ("old_string", "new_string"))
        if isinstance(old, str) and isinstance(new, str):
            yield Edit(path, new, old)


def _fields(call: ToolCall) -> dict[str, Any]:
    return call.input if isinstance(call.input, dict) else {}


def _to_text(call: ToolCall) -> Text:
    input = call.input if isinstance(call.input, str) else msgspec.json.encode(call.input).decode()
    lines = [f"[I called the tool {call.name or 'unknown'}]", input]
    if call.result is not None and (call.result.text or call.result.blobs):
        texts = filter(None, [call.result.text, *map(describe_blob, call.result.blobs)])
        lines += ["[It answered]", *texts]
    return Text("\n".join(lines))
