"""Tool calls as compact summaries: what was called, on what."""

from typing import Any

from ccgrep.model import ToolCall

_MAX_COMMAND = 200


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
            return {"tool": call.name, "command": _command(given)[:_MAX_COMMAND]}
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


def _path(given: dict[str, Any]) -> Any:
    return given.get("file_path") or given.get("notebook_path")


def _command(given: dict[str, Any]) -> str:
    command = given.get("command", given.get("cmd", ""))
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)
