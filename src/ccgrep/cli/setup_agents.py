"""Install or remove the skill, the MCP server and hooks: `ccgrep setup claude` and `setup codex`.

They come from the plugin in `integrations/claude-code` and go into the agent's user directory.
ccgrep computes all edits before it writes the first file.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ccgrep.cli import settings_files
from ccgrep.cli.settings_files import Edit, apply, diff, edit_json, edit_toml, read_text
from ccgrep.errors import UsageError
from ccgrep.settings import home_dir
from ccgrep.text import one_line

Change = Callable[[dict[str, Any]], None]

_NAME = "ccgrep"
_INSTALLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "integrations")
_CLONED = os.path.join(__file__, *[os.pardir] * 4, "integrations")
_IN_SKILL = re.compile(r"(?m)(^    |`|Bash\()ccgrep (?=[a-z])")
"""Where the skill names the command."""
_HOOKS = {"": (), "hook": ("session-end.json",), "recall": ("session-end.json", "recall.json")}
_RULE = f"Skill({_NAME})"
"""Lets the agent load the skill, whose `allowed-tools` then allow read-only commands."""


class Options(NamedTuple):
    """What `ccgrep setup` was asked to do."""

    is_dry: bool = False
    is_removal: bool = False
    has_hook: bool = False
    has_recall: bool = False


def setup_claude(environment: Mapping[str, str], options: Options) -> Iterator[str]:
    """Install or remove the skill, the server and the optional hooks for Claude Code."""
    home = home_dir(environment)
    directory = environment.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(directory or home, ".claude.json")
    directory = directory or os.path.join(home, ".claude")
    settings = os.path.join(directory, "settings.json")
    command = find_command(environment)
    if options.is_removal:
        edits = [
            _skill(directory, None),
            _restore_json(servers, _remove_server),
            _restore_json(settings, _remove_settings),
        ]
    else:
        wanted = "recall" if options.has_recall else "hook" if options.has_hook else ""
        edits = [
            _skill(directory, command),
            edit_json(servers, _add_server(command)),
            edit_json(settings, _add_settings(_HOOKS[wanted], command)),
        ]
    yield from _apply_all(edits, options, directory)


def setup_codex(environment: Mapping[str, str], options: Options) -> Iterator[str]:
    """Install or remove the skill and the server for Codex."""
    if options.has_hook or options.has_recall:
        raise UsageError(
            "Codex has no hooks: use --hook and --recall only with `ccgrep setup claude`"
        )
    home = home_dir(environment)
    directory = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    path = os.path.join(directory, "config.toml")
    command = None if options.is_removal else find_command(environment)
    server = edit_toml(path, _toml_block(command), "ccgrep setup codex --remove")
    if command is None:
        server = settings_files.restore(server, lambda text: text.rstrip("\n"))
    yield from _apply_all([_skill(directory, command), server], options, directory)


def _toml_block(command: list[str] | None) -> str | None:
    """Return the server's table. JSON strings and lists are valid TOML."""
    if command is None:
        return None
    values = {"command": command[0], "args": [*command[1:], "mcp"]}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    return f"[mcp_servers.{_NAME}]\n" + "".join(lines)


def _apply_all(edits: list[Edit], options: Options, directory: str) -> Iterator[str]:
    changes = [edit for edit in edits if edit.before != edit.after]
    if options.is_removal:
        changes += [e for e in edits if e not in changes and settings_files.find_backups(e.path)]
    for edit in changes:
        yield from diff(edit)
    if options.is_dry or not changes:
        yield "Nothing was written." if changes else "Nothing to do: everything is up to date."
        return
    if options.is_removal:
        for edit in changes:
            yield from settings_files.undo(edit)
        settings_files.remove_empty_dirs(os.path.join(directory, "skills", _NAME), directory)
    else:
        yield from map(_apply, changes)
    yield "Start a new session for the change to take effect."


def _apply(edit: Edit) -> str:
    backup = apply(edit)
    return f"wrote: {one_line(edit.path)}" + (f" (backup: {one_line(backup)})" if backup else "")


def find_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command that starts ccgrep, with its absolute path where the name is not enough.

    The agent's shell finds the name if it is on the PATH, except in a virtual environment that is
    active only in this shell.
    """
    found = shutil.which(_NAME, path=environment.get("PATH"))
    if found is None:
        beside = os.path.join(os.path.dirname(sys.executable), _NAME)
        is_program = os.access(beside, os.X_OK)
        return [beside] if is_program else [sys.executable, "-P", "-m", "ccgrep"]
    active = environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX")
    is_permanent = os.path.isabs(found) and not (active and found.startswith(f"{active}{os.sep}"))
    return [_NAME] if is_permanent else [os.path.abspath(found)]


def plugin_file(*names: str) -> str:
    """Return a file of the plugin, from the installed package or the clone."""
    top = _INSTALLED if os.path.isdir(_INSTALLED) else os.path.normpath(_CLONED)
    text = read_text(os.path.join(top, "claude-code", *names))
    if text is None:
        raise UsageError("the plugin files are missing: reinstall ccgrep")
    return text


def _skill(directory: str, command: list[str] | None) -> Edit:
    """Return the edit that writes the skill for a command, or removes it."""
    path = os.path.join(directory, "skills", _NAME, "SKILL.md")
    skill, before = plugin_file("skills", _NAME, "SKILL.md"), read_text(path)
    title = "".join(skill.splitlines(keepends=True)[:2])
    if before is not None and not before.startswith(title):
        raise UsageError(f"{one_line(path)} was not written by ccgrep: move it away first")
    if command is None:
        return Edit(path, before, None, is_own=True)
    typed = shlex.join(command)
    text = _IN_SKILL.sub(lambda match: f"{match[1]}{typed} ", skill)
    return Edit(path, before, text, is_own=True)


def _restore_json(path: str, change: Change) -> Edit:
    def read(text: str) -> object:
        """Return settings to compare: without what is ccgrep's, and without empty sections."""
        try:
            settings = json.loads(text) if text.strip() else {}
        except ValueError:
            return text
        change(settings)
        for section in ("hooks", "mcpServers", "permissions"):
            if isinstance(settings.get(section), dict):
                values = {name: one for name, one in settings.pop(section).items() if one}
                settings |= {section: values} if values else {}
        return settings

    return settings_files.restore(edit_json(path, change), read)


def _add_server(command: list[str]) -> Change:
    entry = json.loads(plugin_file(".mcp.json"))["mcpServers"][_NAME]
    entry |= {"command": command[0], "args": [*command[1:], "mcp"]}

    def change(settings: dict[str, Any]) -> None:
        # Keep an existing entry: the user may have added a GLOB.
        settings.setdefault("mcpServers", {}).setdefault(_NAME, entry)

    return change


def _remove_server(settings: dict[str, Any]) -> None:
    if settings.get("mcpServers", {}).pop(_NAME, None) and not settings["mcpServers"]:
        del settings["mcpServers"]


def _plugin_hooks(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each event of a file of the plugin with its entry."""
    for event, entries in json.loads(plugin_file("hooks", name))["hooks"].items():
        yield from ((event, entry) for entry in entries)


def _add_settings(names: tuple[str, ...], command: list[str]) -> Change:
    def change(settings: dict[str, Any]) -> None:
        rules = settings.setdefault("permissions", {}).setdefault("allow", [])
        if _RULE not in rules:
            rules.append(_RULE)
        for name in names:
            for event, entry in _plugin_hooks(name):
                purpose = _purpose(entry)
                for hook in entry["hooks"]:
                    hook["command"] = hook["command"].replace(_NAME, shlex.join(command), 1)
                entries = settings.setdefault("hooks", {}).setdefault(event, [])
                known = [number for number, one in enumerate(entries) if _purpose(one) == purpose]
                if known:
                    entries[known[0]] = entry
                else:
                    entries.append(entry)

    return change


def _remove_settings(settings: dict[str, Any]) -> None:
    rules = settings.get("permissions", {}).get("allow", [])
    if _RULE in rules:
        rules.remove(_RULE)
        _drop_if_empty(settings, "permissions", "allow")
    for event, entry in (hook for name in _HOOKS["recall"] for hook in _plugin_hooks(name)):
        entries = settings.get("hooks", {}).get(event, [])
        kept = [one for one in entries if _purpose(one) != _purpose(entry)]
        if len(kept) == len(entries):
            continue
        settings["hooks"][event] = kept
        _drop_if_empty(settings, "hooks", event)


def _drop_if_empty(settings: dict[str, Any], section: str, name: str) -> None:
    if not settings[section][name]:
        del settings[section][name]
    if not settings[section]:
        del settings[section]


def _purpose(entry: Any) -> list[str]:
    """Return the first words after `ccgrep` in an entry, by which setup knows its own hooks."""
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], dict):
        return []
    _, name, words = str(hooks[0].get("command")).rpartition(_NAME)
    return words.lstrip("'").split()[:2] if name else []
