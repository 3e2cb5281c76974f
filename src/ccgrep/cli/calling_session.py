"""Find the session of the agent that runs ccgrep.

Claude Code 2.1.132 and later set CLAUDE_CODE_SESSION_ID, and Codex sets CODEX_THREAD_ID. Older
versions do not. An MCP server outlives `/clear`, so that its variable may be out of date, and Codex
sets none for it. Then the calling session is the one that last wrote a transcript in this directory
or, for Claude Code, the nearest parent, within ten minutes. With two sessions in one directory
this is a guess.
"""

from __future__ import annotations

import os
import time

from ccgrep.config import Config
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.text import folder_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IDS = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
_CLAUDE = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR")
_ACTIVE_S = 600
_FIRST_LINE_BYTES = 1024 * 1024


def is_agent(environment: Mapping[str, str]) -> bool:
    """Return whether an agent runs this command."""
    return bool(environment.get("CLAUDECODE")) or any(environment.get(name) for name in _IDS)


def find_callers(
    environment: Mapping[str, str], config: Config, is_stale: bool = False
) -> frozenset[str]:
    """Return the ids of the calling session and its sub-agents.

    `is_stale` means that the environment may be out of date.
    """
    ids = {environment[name] for name in _IDS if environment.get(name)}
    folders = [
        os.path.join(root.path, "projects") for root in config.roots if root.source == "claude_code"
    ]
    is_claude = any(environment.get(name) for name in _CLAUDE)
    if is_claude and (is_stale or not ids):
        directory = environment.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        ids |= set(_active_session(folders, directory))
    elif is_stale and not ids:
        roots = [root.path for root in config.roots if root.source == "codex"]
        ids |= set(_active_rollout(roots, os.getcwd()))
    return frozenset(ids | {agent for id in ids for agent in _subagents(folders, id)})


def _active_session(folders: list[str], directory: str) -> Iterator[str]:
    """Yield the session last written in the directory or its nearest parent with sessions."""
    while True:
        name = folder_name(directory)
        sessions = [s for folder in folders for s in _transcripts(os.path.join(folder, name))]
        if sessions:
            time_s, id = max(sessions)
            if time_s > time.time() - _ACTIVE_S:
                yield id
            return
        parent = os.path.dirname(directory)
        if parent == directory:
            return
        directory = parent


def _active_rollout(roots: list[str], directory: str) -> Iterator[str]:
    """Yield the Codex session that started in the directory and was last written to."""
    paths = (
        os.path.join(folder, name)
        for root in roots
        for folder, _, names in os.walk(os.path.join(root, "sessions"))
        for name in names
        if name.endswith(".jsonl")
    )
    since = time.time() - _ACTIVE_S
    for time_s, path in sorted(((_mtime(path), path) for path in paths), reverse=True):
        if time_s <= since:
            return
        id, start_directory = _read_meta(path)
        if start_directory == directory and id:
            yield id
            return


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _read_meta(path: str) -> tuple[str, str]:
    """Return the session id and the directory in a rollout's first line, or empty strings."""
    from json import loads  # noqa: PLC0415 - slow to import and rarely needed

    try:
        with open(path, "rb") as file:
            meta = loads(file.readline(_FIRST_LINE_BYTES))["payload"]
            return str(meta["id"]), str(meta["cwd"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", ""


def _subagents(folders: list[str], session: str) -> Iterator[str]:
    """Yield the sub-agents, whose transcripts are in a folder named after the session."""
    for folder in folders:
        try:
            with os.scandir(folder) as projects:
                paths = [os.path.join(project.path, session, "subagents") for project in projects]
        except OSError:
            continue
        for path in paths:
            yield from (id for _, id in _transcripts(path))


def _transcripts(folder: str) -> list[tuple[float, str]]:
    """Return the mtime and the session id of each transcript in a folder."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.stat().st_mtime, entry.name.removesuffix(".jsonl"))
                for entry in entries
                if entry.name.endswith(".jsonl")
            ]
    except OSError:
        return []
