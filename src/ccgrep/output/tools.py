"""Tool calls as compact summaries: what was called, on what."""

from typing import Any, NamedTuple

import msgspec

from ccgrep.model import ToolCall
from ccgrep.text import redacted

_MAX_COMMAND = 200


class Given(NamedTuple):
    """What a call was given, as text to read; `language` is a name, or a file that tells it."""

    text: str
    language: str = ""


def summary(call: ToolCall) -> dict[str, Any]:
    """The call as one flat object, without its bulk."""
    given = call.input if isinstance(call.input, dict) else {}
    match call.name:
        case "Read" | "Edit" | "MultiEdit" | "NotebookEdit":
            return {"tool": call.name, "file": _path(given)}
        case "Write":
            return {
                "tool": "Write",
                "file": _path(given),
                "chars": len(str(given.get("content", ""))),
            }
        case "Bash" | "shell" | "shell_command" | "exec_command":
            return {"tool": call.name, "command": redacted(_command(given))[:_MAX_COMMAND]}
        case "Grep" | "Glob":
            return {"tool": call.name, "pattern": given.get("pattern")}
        case "Task" | "Agent":
            return {
                "tool": call.name,
                "type": given.get("subagent_type"),
                "description": given.get("description"),
            }
    return {"tool": call.name}


def line(call: ToolCall) -> str:
    """The call as one line for people: `[Bash] git status`."""
    fields = summary(call)
    name = fields.pop("tool")
    chars = fields.pop("chars", None)
    words = [str(value) for value in fields.values() if value]
    if chars is not None:
        words.append(f"({chars} chars)")
    if call.result is not None and call.result.is_error:
        words.append("(failed)")
    return " ".join([f"[{name}]", *words])


def given(call: ToolCall) -> Given:
    """The whole input of a call, in the form in which it reads best."""
    if isinstance(call.input, str):
        return Given(call.input, "diff" if call.name == "apply_patch" else "")
    fields = call.input if isinstance(call.input, dict) else {}
    match call.name:
        case "Bash" | "shell" | "shell_command" | "exec_command":
            return Given(_command(fields), "bash")
        case "Write":
            return Given(str(fields.get("content", "")), str(_path(fields) or ""))
        case "Edit":
            return Given(_change(fields), "diff")
        case "MultiEdit":
            edits = fields.get("edits")
            changes = [edit for edit in edits if isinstance(edit, dict)] if edits else []
            return Given("\n".join(map(_change, changes)), "diff")
    pretty = msgspec.json.format(msgspec.json.encode(call.input), indent=2)
    return Given(pretty.decode(), "json")


def _change(edit: dict[str, Any]) -> str:
    old, new = (str(edit.get(name, "")).splitlines() for name in ("old_string", "new_string"))
    return "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])


def _path(given: dict[str, Any]) -> Any:
    return given.get("file_path") or given.get("notebook_path")


def _command(given: dict[str, Any]) -> str:
    command = given.get("command", given.get("cmd", ""))
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)
