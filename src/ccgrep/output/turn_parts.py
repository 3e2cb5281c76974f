"""Selects the parts of a turn to print, and formats tool calls."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.model import Blob, Note, Text, Thinking, ToolCall, ToolResult, Turn
from ccgrep.ops.show import PlacedTurn
from ccgrep.output.formatting import byte_size
from ccgrep.text import one_line, redact

_MAX_COMMAND_CHARS = 200
_SHELLS = frozenset(
    "Bash bash shell Shell shell_command exec_command local_shell run_shell_command run_in_terminal"
    " run_terminal_cmd".split()
)
_FILE_TOOLS = frozenset(
    "Read Edit MultiEdit NotebookEdit StrReplace Delete read read_file view edit replace"
    " delete_file replace_string_in_file".split()
)
_WRITE_TOOLS = frozenset("Write write write_file create create_file".split())
_PATH_FIELDS = ("file_path", "notebook_path", "path", "filePath")
_CONTENT_FIELDS = ("content", "file_text", "contents")
_EDIT_FIELDS = (("old_string", "old_str", "oldString"), ("new_string", "new_str", "newString"))
"""The names that the agents give to a path, to the text of a file, and to a change of it."""
_PATCHED_FILE = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)"


class Include(NamedTuple):
    """The parts to print besides prompts, answers and notes."""

    tools: bool = False
    thinking: bool = False
    full: bool = False  # complete outputs of tools in text, instead of their first lines

    def parts(self, turn: Turn) -> Iterator[Note | Text | Thinking | ToolCall]:
        """Yield what follows the prompt of a turn."""
        for step in turn.steps:
            for part in (step,) if isinstance(step, Note) else step.parts:
                is_thinking, is_call = isinstance(part, Thinking), isinstance(part, ToolCall)
                if (self.thinking or not is_thinking) and (self.tools or not is_call):
                    yield part


def turn_mark(placed: PlacedTurn) -> str:
    """Return what sets a turn apart from the others in its heading, or nothing."""
    if placed.entry.is_rolled_back:
        return " (rolled back)"
    return " (inherited)" if placed.is_inherited else ""


class ReadableInput(NamedTuple):
    """The input of a call as text. `language` is its name or a file name with its suffix."""

    text: str
    language: str = ""


def summarize(call: ToolCall) -> dict[str, Any]:
    """Return the tool's name and its main argument."""
    fields = call.input if isinstance(call.input, dict) else {}
    match call.name:
        case name if name in _FILE_TOOLS:
            return {"tool": call.name, "file": _path(fields)}
        case name if name in _WRITE_TOOLS:
            return {"tool": call.name, "file": _path(fields), "chars": len(_content(fields))}
        case name if name in _SHELLS:
            command = redact(_command(fields))[:_MAX_COMMAND_CHARS]
            return {"tool": call.name, "command": command}
        case "Grep" | "Glob" | "grep" | "glob" | "grep_search":
            return {"tool": call.name, "pattern": fields.get("pattern")}
        case "apply_patch":
            return {"tool": call.name, "files": _patched_files(call.input)}
        case "Task" | "Agent":
            kind, task = fields.get("subagent_type"), fields.get("description")
            return {"tool": call.name, "type": kind, "description": task}
    return {"tool": call.name}


def summary_line(call: ToolCall) -> str:
    """Return the summary as one line: `[Bash] git status`."""
    fields = summarize(call)
    name = fields.pop("tool")
    chars = fields.pop("chars", None)
    words = [str(value) for value in fields.values() if value]
    if chars is not None:
        words.append(f"({chars} chars)")
    if call.result is not None and call.result.is_error:
        words.append("(failed)")
    return " ".join([f"[{name}]", *words])


def readable_input(call: ToolCall) -> ReadableInput:
    """Return the complete input: a command, a file, a diff or JSON."""
    if isinstance(call.input, str):
        return ReadableInput(call.input, "diff" if call.name == "apply_patch" else "")
    fields = call.input if isinstance(call.input, dict) else {}
    match call.name:
        case name if name in _SHELLS:
            return ReadableInput(_command(fields), "bash")
        case "apply_patch":
            return ReadableInput("\n".join(map(_change_text, _changes(fields))), "diff")
        case name if name in _WRITE_TOOLS:
            return ReadableInput(_content(fields), str(_path(fields) or ""))
        case name if name in _FILE_TOOLS and (diff := _diff(fields)):
            return ReadableInput(diff, "diff")
        case "MultiEdit":
            given = fields.get("edits")
            edits = given if isinstance(given, list) else []
            diffs = [_diff(edit) for edit in edits if isinstance(edit, dict)]
            return ReadableInput("\n".join(diffs), "diff")
    pretty = msgspec.json.format(msgspec.json.encode(call.input), indent=2)
    return ReadableInput(pretty.decode(), "json")


def output_text(result: ToolResult) -> str:
    """Return the output of a call, with a line for each image or document in it."""
    return "\n".join([*([result.text] if result.text else []), *map(blob_line, result.blobs)])


def blob_line(blob: Blob) -> str:
    """Return a line such as `[image: png, 84 KB, @86fa2311d1]`, with the REF of the bytes."""
    kind = one_line(blob.media_type).replace("/", ": ", 1) or "payload"
    return f"[{kind}, {byte_size(blob.size)}, @{blob.sha256[:10]}]"


def _patched_files(patch: Any) -> str:
    """Return the files of a patch: a text, or the changes that Codex recorded in code mode."""
    if isinstance(patch, str):
        return ", ".join(compile_pattern(_PATCHED_FILE).findall(patch))
    return ", ".join(str(change.get("path")) for change in _changes(patch))


def _changes(patch: Any) -> list[dict[str, Any]]:
    changes = patch.get("changes") if isinstance(patch, dict) else None
    items = changes if isinstance(changes, list) else []
    return [change for change in items if isinstance(change, dict)]


def _change_text(change: dict[str, Any]) -> str:
    text = change.get("unified_diff") or change.get("content") or ""
    return f"{change.get('type')} {change.get('path')}\n{text}"


def _diff(edit: dict[str, Any]) -> str:
    old, new = (_first(edit, names).splitlines() for names in _EDIT_FIELDS)
    return "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])


def _content(fields: dict[str, Any]) -> str:
    return _first(fields, _CONTENT_FIELDS)


def _path(fields: dict[str, Any]) -> Any:
    return _first(fields, _PATH_FIELDS) or None


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first field that is there, as text."""
    return next((str(fields[name]) for name in names if fields.get(name)), "")


def _command(fields: dict[str, Any]) -> str:
    command = fields.get("command", fields.get("cmd", ""))
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)
