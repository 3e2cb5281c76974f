"""Converts completed items of Codex's code mode to tool calls.

In code mode the agent has one tool, `exec`, which runs JavaScript. The commands, edits and MCP
calls of a script appear only as completed items, with ids that begin with `exec-`. The item of an
ordinary call has the id of that call and repeats its output, so it is ignored.
"""

import re
from typing import Any, NamedTuple

from ccgrep.model import ToolResult
from ccgrep.sources.codex_records import extract_texts
from ccgrep.sources.values import as_string

_NESTED_ID = "exec-"
_FAILURES = ("failed", "declined")
_ESCAPED_BYTE = re.compile(b"%([0-9A-Fa-f]{2})")
_LEGACY_EVENTS = {"exec_command_end": "CommandExecution", "patch_apply_end": "FileChange"}


class NestedCall(NamedTuple):
    """A call that a script of code mode made."""

    id: str
    name: str
    input: Any
    result: ToolResult


def parse_nested_call(item: dict[str, Any], cwd: str) -> NestedCall | None:
    """Return the nested call that an item describes, or None for any other item.

    A command has the input of Codex's `exec_command`, with its directory if that is not `cwd`.
    """
    id = as_string(item.get("id"))
    if not id.startswith(_NESTED_ID):
        return None
    name: str
    call_input: Any
    match item.get("type"):
        case "CommandExecution":
            name, call_input = _parse_command(item, cwd)
            text = as_string(item.get("aggregated_output"))
        case "FileChange":
            name, call_input = "apply_patch", {"changes": list_changes(item.get("changes"))}
            text = as_string(item.get("stdout")) + as_string(item.get("stderr"))
        case "McpToolCall":
            name = f"mcp__{as_string(item.get('server'))}__{as_string(item.get('tool'))}"
            call_input, text = item.get("arguments"), _mcp_text(item)
        case "DynamicToolCall":
            name, call_input = as_string(item.get("tool")) or "tool", item.get("arguments")
            text = "\n".join(extract_texts(item.get("content_items")))
        case "ImageView":
            name, call_input = "view_image", {"path": _local_path(item.get("path"))}
            text = ""
        case _:
            return None
    return NestedCall(id, name, call_input, ToolResult(text, _is_failed(item)))


def convert_legacy_event(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the item that replaced an event when rollouts became paginated."""
    kind = _LEGACY_EVENTS[payload["type"]]
    return {**payload, "type": kind, "id": payload.get("call_id")}


def _parse_command(item: dict[str, Any], cwd: str) -> tuple[str, dict[str, Any]]:
    if isinstance(item.get("interaction_input"), str):
        return "write_stdin", {"chars": item["interaction_input"]}
    call_input: dict[str, Any] = {"cmd": _script(item.get("command"))}
    directory = _local_path(item.get("cwd"))
    if directory and directory != cwd:
        call_input["workdir"] = directory
    return "exec_command", call_input


def list_changes(changes: Any) -> list[dict[str, Any]]:
    """Return what happened to each file: its path, the kind of change, and content or diff.

    Rollouts have an object with a field for each path, the database has a list.
    """
    if isinstance(changes, list):
        return [change for change in changes if isinstance(change, dict)]
    if not isinstance(changes, dict):
        return []
    return [
        {"path": path, **fields} for path, fields in changes.items() if isinstance(fields, dict)
    ]


def _script(command: Any) -> str:
    """Return SCRIPT from `bash -lc SCRIPT`, and other arguments quoted as in a shell."""
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc", "-Command"):
        return words[2]
    import shlex  # noqa: PLC0415 - rarely needed

    return shlex.join(words) or as_string(command)


def _local_path(uri: Any) -> str:
    """Return the path of a `file:` URI, without the slash before a Windows drive."""
    path = as_string(uri)
    if not path.startswith("file://"):
        return path
    data = path.removeprefix("file://").encode("utf-8", "replace")
    path = _ESCAPED_BYTE.sub(_unescape, data).decode("utf-8", "replace")
    has_drive = path[2:3] == ":" and path[1:2].isalpha()
    return path[1:] if has_drive else path


def _unescape(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match.group(1).decode())


def _mcp_text(item: dict[str, Any]) -> str:
    result, error = item.get("result"), item.get("error")
    texts = extract_texts(result.get("content")) if isinstance(result, dict) else []
    if isinstance(error, dict):
        texts.append(as_string(error.get("message")))
    return "\n".join(texts)


def _is_failed(item: dict[str, Any]) -> bool:
    result = item.get("result")
    return (
        item.get("status") in _FAILURES
        or item.get("exit_code") not in (0, None)
        or item.get("success") is False
        or (isinstance(result, dict) and result.get("isError") is True)
    )
