"""Finds the source files under Claude Code's and Codex's directories.

Gives each file's path, kind and stat, and says whether a root was listed completely: only
then may a file that is not there be called gone. Names are read as they are; symlinks
are followed for the root alone.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ccgrep.kinds import SourceName

FileKind = Literal["session", "history", "sessions_index"]

_ROLLOUT = re.compile(r"rollout(-.*)?\.jsonl(\.zst)?")
_SKIPPED_FOLDERS = frozenset(["tool-results", "memory", "file-history"])


class FoundFile(NamedTuple):
    path: str
    source: SourceName
    kind: FileKind
    root: str
    size: int
    mtime_ns: int
    inode: int


class Root(NamedTuple):
    """A directory that is listed: `projects` of Claude Code or `sessions` of Codex."""

    path: str
    source: SourceName


class Scan(NamedTuple):
    """What one look at the roots found."""

    files: dict[str, FoundFile]
    complete_roots: list[str]
    troubles: list[str]


def roots_of(directory: str) -> list[Root]:
    """The roots in a directory given by hand: a home, a config directory, or a root."""
    found: list[Root] = []
    for base in (directory, os.path.join(directory, ".claude")):
        if os.path.isdir(os.path.join(base, "projects")):
            found.append(Root(base, "claude_code"))
    for base in (directory, os.path.join(directory, ".codex")):
        # Claude Code keeps a registry of live processes in a folder of that name.
        is_claude = os.path.isdir(os.path.join(base, "projects"))
        names = ("sessions", "archived_sessions")
        if not is_claude and any(os.path.isdir(os.path.join(base, name)) for name in names):
            found.append(Root(base, "codex"))
    return found


def scan(roots: list[Root]) -> Scan:
    """Lists every source file under `roots`."""
    result = Scan({}, [], [])
    for root in roots:
        before = len(result.troubles)
        base = os.path.realpath(root.path)
        for found in _files(base, root.source, result.troubles):
            result.files[found.path] = found
        if len(result.troubles) == before:
            result.complete_roots.append(base)
    _prefer_plain(result.files)
    return result


def _files(base: str, source: SourceName, troubles: list[str]) -> Iterator[FoundFile]:
    if source == "claude_code":
        yield from _one(os.path.join(base, "history.jsonl"), source, "history", base)
        projects = os.path.join(base, "projects")
        for entry in _walk(projects, troubles, required=True):
            if entry.name == "sessions-index.json":
                yield from _found(entry, source, "sessions_index", base, troubles)
            elif entry.name.endswith(".jsonl") and entry.name != "journal.jsonl":
                yield from _found(entry, source, "session", base, troubles)
        return
    yield from _one(os.path.join(base, "history.jsonl"), source, "history", base)
    for name in ("sessions", "archived_sessions"):
        for entry in _walk(os.path.join(base, name), troubles, required=name == "sessions"):
            if _ROLLOUT.fullmatch(entry.name):
                yield from _found(entry, source, "session", base, troubles)


def _walk(
    directory: str, troubles: list[str], required: bool = False
) -> Iterator[os.DirEntry[str]]:
    """Every entry below `directory` that is not a directory, links not followed."""
    try:
        listing = os.scandir(directory)
    except FileNotFoundError:
        if required:
            troubles.append(f"{directory}: not found")
        return
    except OSError as error:
        troubles.append(f"{directory}: {error.strerror}")
        return
    with listing:
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS:
                    yield from _walk(entry.path, troubles)
            else:
                yield entry


def _found(
    entry: os.DirEntry[str], source: SourceName, kind: FileKind, base: str, troubles: list[str]
) -> Iterator[FoundFile]:
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        troubles.append(f"{entry.path}: {error.strerror}")
        return
    if stat.S_ISREG(info.st_mode) and _is_text(entry.path):
        yield FoundFile(entry.path, source, kind, base, info.st_size, info.st_mtime_ns, info.st_ino)


def _one(path: str, source: SourceName, kind: FileKind, base: str) -> Iterator[FoundFile]:
    try:
        info = os.lstat(path)
    except OSError:
        return
    if stat.S_ISREG(info.st_mode):
        yield FoundFile(path, source, kind, base, info.st_size, info.st_mtime_ns, info.st_ino)


def _is_text(path: str) -> bool:
    """A name that is no valid UTF-8 cannot be kept as text, nor named on a terminal."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _prefer_plain(files: dict[str, FoundFile]) -> None:
    """Codex compresses old rollouts; for a moment both files are there."""
    for path in [path for path in files if path.endswith(".zst")]:
        if path.removesuffix(".zst") in files:
            del files[path]
