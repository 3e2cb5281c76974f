"""Which session asks, when ccgrep is run by an agent.

Claude Code says it in CLAUDE_CODE_SESSION_ID (2.1.132 and later), Codex in CODEX_THREAD_ID. An
older Claude Code says only that it is there, and what it tells an MCP server may be out of date,
since the server outlives `/clear`: then it is the transcript of this directory's project that
was written to last, if that was just now. Codex tells an MCP server nothing, so there it is the
rollout that began in this directory and grows. With two sessions in one directory that is a guess.
"""

from __future__ import annotations

import os
import time

from ccgrep.config import Config
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IDS = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
_CLAUDE = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR")
_GROWING_S = 600
_FIRST_LINE_BYTES = 1024 * 1024


def is_agent(environment: Mapping[str, str]) -> bool:
    """Whether an agent runs this command."""
    return bool(environment.get("CLAUDECODE")) or any(environment.get(name) for name in _IDS)


def asking(
    environment: Mapping[str, str], config: Config, is_guessed: bool = False
) -> frozenset[str]:
    """The ids of the session that asks and of the sub-agents that serve it.

    `is_guessed`: what the environment says may be out of date.
    """
    ids = {environment[name] for name in _IDS if environment.get(name)}
    folders = [
        os.path.join(root.path, "projects") for root in config.roots if root.source == "claude_code"
    ]
    is_claude = any(environment.get(name) for name in _CLAUDE)
    if is_claude and (is_guessed or not ids):
        directory = environment.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        ids |= set(_growing(folders, directory))
    elif is_guessed and not ids:
        roots = [root.path for root in config.roots if root.source == "codex"]
        ids |= set(_growing_rollout(roots, os.getcwd()))
    return frozenset(ids | {agent for id in ids for agent in _subagents(folders, id)})


def _growing(folders: list[str], directory: str) -> Iterator[str]:
    """The session of the directory, or of the nearest above it, that was written to last."""
    while True:
        name = compile_pattern(r"[^A-Za-z0-9]").sub("-", directory)
        found = [entry for folder in folders for entry in _transcripts(os.path.join(folder, name))]
        if found:
            time_s, id = max(found)
            if time_s > time.time() - _GROWING_S:
                yield id
            return
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _growing_rollout(roots: list[str], directory: str) -> Iterator[str]:
    """The thread that began in the directory and was written to last, if that was just now."""
    paths = (
        os.path.join(folder, name)
        for root in roots
        for folder, _, names in os.walk(os.path.join(root, "sessions"))
        for name in names
        if name.endswith(".jsonl")
    )
    since = time.time() - _GROWING_S
    grown = sorted(((_written(path), path) for path in paths), reverse=True)
    for time_s, path in grown:
        if time_s <= since:
            return
        id, where = _began(path)
        if where == directory and id:
            yield id
            return


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _began(path: str) -> tuple[str, str]:
    """The id of a rollout's thread and the directory where it began, as its first line says."""
    from json import loads  # noqa: PLC0415 - only for a server without any other sign

    try:
        with open(path, "rb") as file:
            meta = loads(file.readline(_FIRST_LINE_BYTES))["payload"]
            return str(meta["id"]), str(meta["cwd"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", ""


def _subagents(folders: list[str], session: str) -> Iterator[str]:
    """Sub-agents are kept below a folder that is named after the session."""
    for folder in folders:
        try:
            with os.scandir(folder) as projects:
                paths = [os.path.join(one.path, session, "subagents") for one in projects]
        except OSError:
            continue
        for path in paths:
            yield from (id for _, id in _transcripts(path))


def _transcripts(folder: str) -> list[tuple[float, str]]:
    """When each transcript of a folder was written to last, and its session."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.stat().st_mtime, entry.name.removesuffix(".jsonl"))
                for entry in entries
                if entry.name.endswith(".jsonl")
            ]
    except OSError:
        return []
