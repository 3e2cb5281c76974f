"""The skill and the MCP server for Claude Code and Codex: what is written where, and taken away.

The same as the plugin in `integrations/claude-code` holds, put where the agent looks for what is
the user's own. Nothing is written before every file was read and its change was made.
"""

from __future__ import annotations

import json
import os
import shutil
import sys

from ccgrep.cli.settings_files import Edit, apply, diff, edit_json, edit_toml, read_text
from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Change = Callable[[dict[str, Any]], None]

_NAME = "ccgrep"
_MARKS = (
    "# >>> ccgrep >>> `ccgrep setup codex --remove` takes this block away",
    "# <<< ccgrep <<<",
)
_BESIDE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "integrations")
_IN_CLONE = os.path.join(__file__, *[os.pardir] * 4, "integrations")


def setup_claude(
    environment: Mapping[str, str], is_dry: bool, is_removed: bool, has_hook: bool
) -> Iterator[str]:
    """Skill and server, and if so asked the hook, into the user's directory of Claude Code."""
    home = environment.get("HOME") or os.path.expanduser("~")
    directory = environment.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(directory or home, ".claude.json")
    directory = directory or os.path.join(home, ".claude")
    edits = [_skill(directory, is_removed), edit_json(servers, _server(environment, is_removed))]
    if has_hook or is_removed:
        settings = os.path.join(directory, "settings.json")
        edits.append(edit_json(settings, _hook(is_removed)))
    yield from _changed(edits, is_dry)


def setup_codex(
    environment: Mapping[str, str], is_dry: bool, is_removed: bool, has_hook: bool
) -> Iterator[str]:
    """Skill and server into the user's directory of Codex."""
    if has_hook:
        raise UsageError("--hook is for `ccgrep setup claude`: Codex is told of no session's end")
    home = environment.get("HOME") or os.path.expanduser("~")
    directory = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    program, *rest = _command(environment)
    # A JSON string, and a list of them, is TOML too.
    values = {"command": program, "args": [*rest, "mcp"]}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    block = f"[mcp_servers.{_NAME}]\n" + "".join(lines)
    path = os.path.join(directory, "config.toml")
    yield from _changed(
        [_skill(directory, is_removed), edit_toml(path, None if is_removed else block, _MARKS)],
        is_dry,
    )


def _changed(edits: list[Edit], is_dry: bool) -> Iterator[str]:
    due = [edit for edit in edits if edit.before != edit.after]
    for edit in due:
        yield from diff(edit)
    if is_dry or not due:
        yield "nothing was written" if due else "unchanged: nothing is to be done"
        return
    for edit in due:
        backup = apply(edit)
        verb = "removed" if edit.after is None else "written"
        kept = f" (before: {one_line(backup)})" if backup else ""
        yield f"{verb}: {one_line(edit.path)}{kept}"
    yield "it holds for sessions that begin from now on"


def _command(environment: Mapping[str, str]) -> list[str]:
    """How an agent starts ccgrep: by its name, if that is found, else as it was started now."""
    is_found = shutil.which(_NAME, path=environment.get("PATH"))
    return [_NAME] if is_found else [sys.executable, "-P", "-m", "ccgrep"]


def plugin_file(*names: str) -> str:
    """A file of the plugin: beside the package when installed, else in the clone."""
    top = _BESIDE if os.path.isdir(_BESIDE) else os.path.normpath(_IN_CLONE)
    text = read_text(os.path.join(top, "claude-code", *names))
    if text is None:
        raise UsageError("this ccgrep came without its plugin: install it again")
    return text


def _skill(directory: str, is_removed: bool) -> Edit:
    path = os.path.join(directory, "skills", _NAME, "SKILL.md")
    skill, before = plugin_file("skills", _NAME, "SKILL.md"), read_text(path)
    title = "".join(skill.splitlines(keepends=True)[:2])
    if before is not None and not before.startswith(title):
        raise UsageError(f"{one_line(path)} is not ccgrep's: move it away first")
    return Edit(path, before, None if is_removed else skill, is_own=True)


def _server(environment: Mapping[str, str], is_removed: bool) -> Change:
    program, *rest = _command(environment)
    entry = json.loads(plugin_file(".mcp.json"))["mcpServers"][_NAME]
    entry |= {"command": program, "args": [*rest, "mcp"]}

    def change(held: dict[str, Any]) -> None:
        if is_removed:
            if held.get("mcpServers", {}).pop(_NAME, None) and not held["mcpServers"]:
                del held["mcpServers"]
            return
        servers = held.setdefault("mcpServers", {})
        # What was added by hand, a GLOB say, is kept.
        servers.setdefault(_NAME, entry)

    return change


def _hook(is_removed: bool) -> Change:
    held = json.loads(plugin_file("hooks", "session-end.json"))["hooks"]
    ((event, [wanted]),) = held.items()

    def change(held: dict[str, Any]) -> None:
        known = held.get("hooks", {}).get(event, [])
        if not is_removed:
            if wanted not in known:
                held.setdefault("hooks", {}).setdefault(event, []).append(wanted)
            return
        if wanted in known:
            known.remove(wanted)
            if not known:
                del held["hooks"][event]
            if not held["hooks"]:
                del held["hooks"]

    return change
