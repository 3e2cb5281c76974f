"""Which files does a turn read or change, and how? Pure.

From what the tools were given alone: what a shell command does to a file cannot be told, except
for Codex's patches, which say it. A call that failed did nothing.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ccgrep.model import ToolCall, Turn

Action = Literal["read", "wrote", "edited", "deleted"]

SHELLS = frozenset("bash shell shell_command exec_command exec local_shell".split())
"""What can apply a patch that is written in a command."""

_PATCH = "apply_patch"
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
}
_PATH_FIELDS = ("file_path", "notebook_path", "path")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)", re.MULTILINE)
_MOVED = "*** Move to: "
_PATCH_ACTIONS: dict[str, Action] = {"Add": "wrote", "Update": "edited", "Delete": "deleted"}


class Change(NamedTuple):
    """A piece of a file's text and what took its place; without `old` the whole of it."""

    old: str | None
    new: str
    is_everywhere: bool = False
    is_lines: bool = False  # whether both are whole lines


class Touch(NamedTuple):
    """What a call did to a file; the changes in their order, as far as they are known."""

    action: Action
    path: str
    changes: tuple[Change, ...] = ()


def is_touching(tool: str) -> bool:
    """Whether a tool of this name reads or changes files, and says which."""
    name = _short(tool)
    return name in _ACTIONS or name == _PATCH


def touches(turn: Turn, cwd: str) -> Iterator[Touch]:
    """What a turn did to files, in order; paths are absolute where `cwd` is known."""
    for call in turn.calls():
        if call.result is None or not call.result.is_error:
            for touch in _of_call(call):
                yield touch._replace(path=posixpath.normpath(posixpath.join(cwd, touch.path)))


def matches(path: str, wanted: str) -> bool:
    """Whether `path` is `wanted`, or ends in it at the boundary of a component."""
    return path == wanted or (not wanted.startswith("/") and path.endswith(f"/{wanted}"))


def _short(tool: str) -> str:
    """The name of a tool without that of its MCP server."""
    return tool.lower().rpartition("__")[2]


def _of_call(call: ToolCall) -> Iterator[Touch]:
    name = _short(call.name)
    if name == _PATCH or name in SHELLS:
        for text in _strings(call.input):
            if "*** Begin Patch" in text:
                yield from _of_patch(text)
        return
    action = _ACTIONS.get(name)
    given = call.input if isinstance(call.input, dict) else {}
    path = next((given[f] for f in _PATH_FIELDS if isinstance(given.get(f), str)), "")
    if action is not None and path:
        yield Touch(action, path, tuple(_changes(name, given)))


def _changes(name: str, given: dict[str, Any]) -> Iterator[Change]:
    if isinstance(given.get("content"), str) and _ACTIONS[name] == "wrote":
        yield Change(None, given["content"])
    edits = given.get("edits") if name == "multiedit" else [given]
    for edit in edits if isinstance(edits, list) else []:
        if isinstance(edit, dict):
            old, new = edit.get("old_string"), edit.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                # An empty old text makes the file.
                yield Change(old or None, new, edit.get("replace_all") is True)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _of_patch(text: str) -> Iterator[Touch]:
    """The files of a patch: `*** Update File: PATH`, then hunks behind `@@` lines."""
    body = text.partition("*** Begin Patch")[2].partition("*** End Patch")[0]
    _, *files = _PATCH_FILE.split(body)
    for word, path, rest in zip(files[::3], files[1::3], files[2::3], strict=True):
        action, lines = _PATCH_ACTIONS[word], rest.split("\n")
        changes = tuple(_hunks(action, lines))
        moved = [line.removeprefix(_MOVED) for line in lines if line.startswith(_MOVED)]
        if moved:
            yield Touch("deleted", path.strip(), (Change(None, ""),))
        yield Touch(action, (moved or [path])[0].strip(), changes)


def _hunks(action: Action, lines: list[str]) -> Iterator[Change]:
    if action != "edited":
        yield Change(None, "\n".join(line[1:] for line in lines if line.startswith("+")))
        return
    old: list[str] = []
    new: list[str] = []
    for line in (*lines, "@@"):
        if line.startswith(("@@", "*** ")):
            if old != new:
                yield Change("\n".join(old), "\n".join(new), is_lines=True)
            old, new = [], []
        elif line[:1] in ("+", "-", " "):
            for side, mark in ((old, "-"), (new, "+")):
                if line[0] in (mark, " "):
                    side.append(line[1:])
