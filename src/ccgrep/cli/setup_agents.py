"""Install or remove the skill and the MCP server: `ccgrep setup claude` and `ccgrep setup codex`.

They come from the plugin in `integrations/claude-code` and go into the agent's user directory.
ccgrep computes all edits before it writes the first file.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ccgrep.cli.settings_files import Edit, apply, diff, edit_json, edit_toml, read_text
from ccgrep.errors import UsageError
from ccgrep.settings import home_dir
from ccgrep.text import one_line

Change = Callable[[dict[str, Any]], None]

_NAME = "ccgrep"
_INSTALLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "integrations")
_CLONED = os.path.join(__file__, *[os.pardir] * 4, "integrations")


def setup_claude(
    environment: Mapping[str, str], is_dry: bool, is_removal: bool, has_hook: bool
) -> Iterator[str]:
    """Install or remove the skill, the server and the optional hook for Claude Code."""
    home = home_dir(environment)
    directory = environment.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(directory or home, ".claude.json")
    directory = directory or os.path.join(home, ".claude")
    edits = [_skill(directory, is_removal), edit_json(servers, _server(environment, is_removal))]
    if has_hook or is_removal:
        settings = os.path.join(directory, "settings.json")
        edits.append(edit_json(settings, _hook(is_removal)))
    yield from _apply_all(edits, is_dry)


def setup_codex(
    environment: Mapping[str, str], is_dry: bool, is_removal: bool, has_hook: bool
) -> Iterator[str]:
    """Install or remove the skill and the server for Codex."""
    if has_hook:
        raise UsageError("Codex has no hooks: use --hook only with `ccgrep setup claude`")
    home = home_dir(environment)
    directory = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    program, *rest = _command(environment)
    # JSON strings and lists are valid TOML.
    values = {"command": program, "args": [*rest, "mcp"]}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    block = f"[mcp_servers.{_NAME}]\n" + "".join(lines)
    path = os.path.join(directory, "config.toml")
    server = edit_toml(path, None if is_removal else block, "ccgrep setup codex --remove")
    yield from _apply_all([_skill(directory, is_removal), server], is_dry)


def _apply_all(edits: list[Edit], is_dry: bool) -> Iterator[str]:
    changes = [edit for edit in edits if edit.before != edit.after]
    for edit in changes:
        yield from diff(edit)
    if is_dry or not changes:
        yield "Nothing was written." if changes else "Nothing to do: everything is up to date."
        return
    for edit in changes:
        backup = apply(edit)
        verb = "removed" if edit.after is None else "wrote"
        note = f" (backup: {one_line(backup)})" if backup else ""
        yield f"{verb}: {one_line(edit.path)}{note}"
    yield "Start a new session for the change to take effect."


def _command(environment: Mapping[str, str]) -> list[str]:
    """Return the command that starts ccgrep: its name if it is on the PATH, else this Python."""
    is_on_path = shutil.which(_NAME, path=environment.get("PATH"))
    return [_NAME] if is_on_path else [sys.executable, "-P", "-m", "ccgrep"]


def plugin_file(*names: str) -> str:
    """Return a file of the plugin, from the installed package or the clone."""
    top = _INSTALLED if os.path.isdir(_INSTALLED) else os.path.normpath(_CLONED)
    text = read_text(os.path.join(top, "claude-code", *names))
    if text is None:
        raise UsageError("the plugin files are missing: reinstall ccgrep")
    return text


def _skill(directory: str, is_removal: bool) -> Edit:
    path = os.path.join(directory, "skills", _NAME, "SKILL.md")
    skill, before = plugin_file("skills", _NAME, "SKILL.md"), read_text(path)
    title = "".join(skill.splitlines(keepends=True)[:2])
    if before is not None and not before.startswith(title):
        raise UsageError(f"{one_line(path)} was not written by ccgrep: move it away first")
    return Edit(path, before, None if is_removal else skill, is_own=True)


def _server(environment: Mapping[str, str], is_removal: bool) -> Change:
    program, *rest = _command(environment)
    entry = json.loads(plugin_file(".mcp.json"))["mcpServers"][_NAME]
    entry |= {"command": program, "args": [*rest, "mcp"]}

    def change(settings: dict[str, Any]) -> None:
        if is_removal:
            if settings.get("mcpServers", {}).pop(_NAME, None) and not settings["mcpServers"]:
                del settings["mcpServers"]
            return
        # Keep an existing entry: the user may have added a GLOB.
        settings.setdefault("mcpServers", {}).setdefault(_NAME, entry)

    return change


def _hook(is_removal: bool) -> Change:
    plugin = json.loads(plugin_file("hooks", "session-end.json"))["hooks"]
    ((event, [hook]),) = plugin.items()

    def change(settings: dict[str, Any]) -> None:
        hooks = settings.get("hooks", {}).get(event, [])
        if not is_removal:
            if hook not in hooks:
                settings.setdefault("hooks", {}).setdefault(event, []).append(hook)
            return
        if hook in hooks:
            hooks.remove(hook)
            if not hooks:
                del settings["hooks"][event]
            if not settings["hooks"]:
                del settings["hooks"]

    return change
