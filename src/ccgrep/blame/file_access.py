"""Finds the files that a turn read or changed. Pure.

It goes by the input of the tool calls. It ignores failed calls and shell commands, except for
commands that contain a Codex patch. Scripts of Codex's code mode are ignored if their patches were
recorded as calls of their own.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ccgrep.model import ToolCall, Turn
from ccgrep.paths import join_path
from ccgrep.sources.file_tools import (
    ACTIONS,
    CONTENT_FIELDS,
    DIFF_FIELD,
    PATH_FIELDS,
    REPEAT_FIELDS,
    REPLACED_FIELDS,
    SHELL_TOOLS,
    Action,
)

_PATCH_TOOL = "apply_patch"
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)", re.MULTILINE)
_MOVE_TO = "*** Move to: "
_SEARCH_BLOCK = re.compile(
    r"^[<-]{7} ?SEARCH>?\n(?:(?::\w+:.*|-{7})\n)*(.*?)^={7}\n(.*?)^[>+]{7} ?REPLACE$",
    re.MULTILINE | re.DOTALL,
)
"""A block of Cline or Roo Code: the text in the file, and what takes its place."""
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
    name = base_name(tool)
    return name in ACTIONS or name == _PATCH_TOOL


def file_accesses(turn: Turn, cwd: str) -> Iterator[FileAccess]:
    """Yield what a turn did to files, in order; relative paths start at `cwd`."""
    calls = turn.calls()
    has_changes = any(_file_changes(call) for call in calls)
    for call in calls:
        is_script = call.name == "exec" and has_changes
        if not is_script and (call.result is None or not call.result.is_error):
            for access in _call_accesses(call):
                yield access._replace(path=join_path(cwd, access.path))


def base_name(tool: str) -> str:
    """Return a tool's name without that of its MCP server."""
    return tool.lower().rpartition("__")[2]


def _call_accesses(call: ToolCall) -> Iterator[FileAccess]:
    name = base_name(call.name)
    if changes := _file_changes(call):
        for change in changes:
            yield from _recorded_accesses(change)
        return
    if name == _PATCH_TOOL or name in SHELL_TOOLS:
        for text in strings(call.input):
            if "*** Begin Patch" in text:
                yield from _patch_accesses(text)
        return
    fields = call.input if isinstance(call.input, dict) else {}
    action = _find_action(name, fields)
    path = _first_text(fields, PATH_FIELDS)
    if action is not None and path:
        yield FileAccess(action, path, tuple(_tool_changes(action, fields)))


def _find_action(name: str, fields: dict[str, Any]) -> Action | None:
    """Return what a tool does. One of Copilot's does everything, by its field `command`."""
    if name == "str_replace_editor" and fields.get("command") in ("view", "create"):
        return "read" if fields["command"] == "view" else "wrote"
    return ACTIONS.get(name)


def _first_text(fields: dict[str, Any], names: Sequence[str]) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), None)


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


def _tool_changes(action: Action, fields: dict[str, Any]) -> Iterator[Change]:
    if action == "deleted":
        yield Change(None, "")
    content = _first_text(fields, CONTENT_FIELDS)
    if content is not None and action == "wrote":
        yield Change(None, content)
    diff = fields.get(DIFF_FIELD)
    if isinstance(diff, str):
        for old, new in _SEARCH_BLOCK.findall(diff):
            yield Change(old.removesuffix("\n") or None, new.removesuffix("\n"))
    edits = fields.get("edits")
    for edit in edits if isinstance(edits, list) else [fields]:
        if isinstance(edit, dict):
            yield from _replacements(edit)


def _replacements(edit: dict[str, Any]) -> Iterator[Change]:
    repeats = any(edit.get(name) is True for name in REPEAT_FIELDS)
    for old_field, new_field in REPLACED_FIELDS:
        old, new = edit.get(old_field), edit.get(new_field)
        if isinstance(old, str) and isinstance(new, str):
            # An empty old text creates the file.
            yield Change(old or None, new, repeats)


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in the input of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


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
