"""Finds the files that a turn read or changed. Pure.

It goes by the input of the tool calls. It ignores failed calls and shell commands, except for
commands that contain a Codex patch. Scripts of Codex's code mode are ignored if their patches were
recorded as calls of their own.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ccgrep.model import ToolCall, Turn
from ccgrep.paths import join_path

Action = Literal["read", "wrote", "edited", "deleted"]

SHELL_TOOLS = frozenset(
    "bash shell shell_command exec_command exec local_shell run_shell_command"
    " run_in_terminal".split()
)
"""Tools whose command may contain a patch."""

_PATCH_TOOL = "apply_patch"
_ACTIONS: dict[str, Action] = {
    "read": "read",
    "notebookread": "read",
    "read_file": "read",
    "view_image": "read",
    "write": "wrote",
    "write_file": "wrote",
    "create_file": "wrote",
    "edit": "edited",
    "multiedit": "edited",
    "notebookedit": "edited",
    "edit_file": "edited",
    "view": "read",
    "create": "wrote",
    "replace": "edited",
    "strreplace": "edited",
    "replace_string_in_file": "edited",
    "delete": "deleted",
    "delete_file": "deleted",
}
_PATH_FIELDS = ("file_path", "notebook_path", "path", "filePath")
_CONTENT_FIELDS = ("content", "file_text", "contents")
_EDIT_FIELDS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString"))
"""The names that the agents give to the text in a file and its replacement."""
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)", re.MULTILINE)
_MOVE_TO = "*** Move to: "
_PATCH_ACTIONS: dict[str, Action] = {"Add": "wrote", "Update": "edited", "Delete": "deleted"}


class Change(NamedTuple):
    """Text in a file and its replacement; `old` is None if the whole file was written."""

    old: str | None
    new: str
    replaces_all: bool = False
    is_whole_lines: bool = False


class FileAccess(NamedTuple):
    """What a tool call did to a file; `changes` are in order, as far as they are known."""

    action: Action
    path: str
    changes: tuple[Change, ...] = ()


def is_file_tool(tool: str) -> bool:
    """Return whether calls of the tool name the file that they read or change."""
    name = _base_name(tool)
    return name in _ACTIONS or name == _PATCH_TOOL


def file_accesses(turn: Turn, cwd: str) -> Iterator[FileAccess]:
    """Yield what a turn did to files, in order; relative paths start at `cwd`."""
    calls = turn.calls()
    has_changes = any(_file_changes(call) for call in calls)
    for call in calls:
        is_script = call.name == "exec" and has_changes
        if not is_script and (call.result is None or not call.result.is_error):
            for access in _call_accesses(call):
                yield access._replace(path=join_path(cwd, access.path))


def _base_name(tool: str) -> str:
    """Return a tool's name without that of its MCP server."""
    return tool.lower().rpartition("__")[2]


def _call_accesses(call: ToolCall) -> Iterator[FileAccess]:
    name = _base_name(call.name)
    if changes := _file_changes(call):
        for change in changes:
            yield from _recorded_accesses(change)
        return
    if name == _PATCH_TOOL or name in SHELL_TOOLS:
        for text in _strings(call.input):
            if "*** Begin Patch" in text:
                yield from _patch_accesses(text)
        return
    action = _ACTIONS.get(name)
    fields = call.input if isinstance(call.input, dict) else {}
    path = next((fields[f] for f in _PATH_FIELDS if isinstance(fields.get(f), str)), "")
    if action is not None and path:
        yield FileAccess(action, path, tuple(_tool_changes(name, fields)))


def _file_changes(call: ToolCall) -> list[dict[str, Any]]:
    """Return what Codex recorded of a patch in code mode: path, type, and content or diff."""
    changes = call.input.get("changes") if isinstance(call.input, dict) else None
    if call.name != _PATCH_TOOL or not isinstance(changes, list):
        return []
    return [change for change in changes if isinstance(change, dict)]


def _recorded_accesses(change: dict[str, Any]) -> Iterator[FileAccess]:
    path, content, diff = (change.get(name) for name in ("path", "content", "unified_diff"))
    if not isinstance(path, str):
        return
    match change.get("type"):
        case "add" if isinstance(content, str):
            yield FileAccess("wrote", path, (Change(None, content),))
        case "delete":
            yield FileAccess("deleted", path, (Change(None, ""),))
        case "update" if isinstance(diff, str):
            new_path = change.get("move_path")
            if isinstance(new_path, str):
                yield FileAccess("deleted", path, (Change(None, ""),))
                path = new_path
            hunks = diff[diff.find("@@") :].split("\n") if "@@" in diff else []
            yield FileAccess("edited", path, tuple(_hunk_changes("edited", hunks)))


def _tool_changes(name: str, fields: dict[str, Any]) -> Iterator[Change]:
    content = next((fields[f] for f in _CONTENT_FIELDS if isinstance(fields.get(f), str)), None)
    if _ACTIONS[name] == "deleted":
        yield Change(None, "")
    elif content is not None and _ACTIONS[name] == "wrote":
        yield Change(None, content)
    edits = fields.get("edits") if name == "multiedit" else [fields]
    for edit in edits if isinstance(edits, list) else []:
        if isinstance(edit, dict):
            yield from _edit_changes(edit)


def _edit_changes(edit: dict[str, Any]) -> Iterator[Change]:
    for old_name, new_name in _EDIT_FIELDS:
        old, new = edit.get(old_name), edit.get(new_name)
        if isinstance(old, str) and isinstance(new, str):
            # An empty old text creates the file.
            yield Change(old or None, new, edit.get("replace_all") is True)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _patch_accesses(text: str) -> Iterator[FileAccess]:
    """Yield the files of a patch: `*** Update File: PATH`, then hunks after `@@` lines."""
    body = text.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    _, *files = _PATCH_FILE.split(body)
    for word, path, rest in zip(files[::3], files[1::3], files[2::3], strict=True):
        action, lines = _PATCH_ACTIONS[word], rest.split("\n")
        new_paths = [line.removeprefix(_MOVE_TO) for line in lines if line.startswith(_MOVE_TO)]
        if new_paths:
            yield FileAccess("deleted", path.strip(), (Change(None, ""),))
        changes = tuple(_hunk_changes(action, lines))
        yield FileAccess(action, (new_paths or [path])[0].strip(), changes)


def _hunk_changes(action: Action, lines: list[str]) -> Iterator[Change]:
    if action != "edited":
        yield Change(None, "\n".join(line[1:] for line in lines if line.startswith("+")))
        return
    old: list[str] = []
    new: list[str] = []
    for line in (*lines, "@@"):
        if line.startswith(("@@", "*** ")):
            if old != new:
                yield Change("\n".join(old), "\n".join(new), is_whole_lines=True)
            old, new = [], []
        elif line[:1] in ("+", "-", " "):
            for side, mark in ((old, "-"), (new, "+")):
                if line[0] in (mark, " "):
                    side.append(line[1:])
