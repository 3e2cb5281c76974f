"""Finds the source files under the directories of Claude Code and Codex.

A scan also reports which roots were listed completely: only there does a missing file count as
gone. Symbolic links are followed for the root itself, never below it.
"""

from __future__ import annotations

import os
import stat

from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccgrep.kinds import FileKind, SourceName
else:
    FileKind = SourceName = str  # msgspec resolves them when it decodes a worker's task

CLAUDE_DIRS = (".claude", os.path.join(".config", "claude"))
"""Where Claude Code keeps its transcripts, below a home directory."""
DESKTOP_DIRS = (
    os.path.join(".config", "Claude"),
    os.path.join("Library", "Application Support", "Claude"),
)
"""Where Claude Desktop keeps the titles of its sessions and the transcripts of Cowork."""
_DESKTOP_FOLDERS = ("claude-code-sessions", "local-agent-mode-sessions")
_DESKTOP_DEPTH = 2  # an account, and in it a workspace
_ROLLOUT = r"rollout(-.*)?\.jsonl(\.zst)?"
_DATABASE = r"(state|thread_history)_\d{1,4}\.sqlite(-wal)?"
_RACY_NS = 2_000_000_000  # FAT stores mtimes in steps of two seconds
_SKIPPED_FOLDERS = frozenset(["tool-results", "memory", "file-history"])


_LISTED_NAMES: dict[str, FileKind] = {
    "sessions-index.json": "sessions_index",
    "session_index.jsonl": "thread_names",
}
LISTED_KINDS = frozenset(["session", "document", "desktop_session", *_LISTED_NAMES.values()])
"""The kinds that are watched for changes. The others change together with one of them."""
TITLE_KINDS = frozenset(["desktop_session", "codex_state", *_LISTED_NAMES.values()])
"""The kinds of files with titles of sessions."""


class FoundFile(NamedTuple):
    """A source file and its stat."""

    path: str
    source: SourceName
    kind: FileKind
    root: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0


class Root(NamedTuple):
    """A directory with Claude Code's `projects` or Codex's `sessions`."""

    path: str
    source: SourceName


class Scan(NamedTuple):
    """The source files under all roots.

    `folders` maps each listed directory to its mtime, or to -1 if it did not exist. As long as
    the mtimes stay the same, no file was added or removed.
    """

    files: dict[str, FoundFile]
    folders: dict[str, int]
    complete_roots: list[str]
    errors: list[str]


def is_racy(mtime_ns: int, seen_ns: int) -> bool:
    """Return whether a file with this mtime may have changed after `seen_ns` unnoticed.

    Within one tick of the filesystem's clock, a write leaves mtime and size as they were.
    """
    return mtime_ns > seen_ns - _RACY_NS


def find_roots(directory: str) -> list[Root]:
    """Return the roots in a directory that the user named: a home directory or a root."""
    if os.path.isdir(directory):
        directory = spell_as_listed(directory)
    roots: list[Root] = []
    for base in (directory, *(os.path.join(directory, name) for name in CLAUDE_DIRS)):
        if os.path.isdir(os.path.join(base, "projects")):
            roots.append(Root(base, "claude_code"))
    for base in (directory, *(os.path.join(directory, name) for name in DESKTOP_DIRS)):
        if is_desktop_dir(base):
            roots.append(Root(base, "claude_code"))
    for base in (directory, os.path.join(directory, ".codex")):
        # Claude Code's directory has a `sessions` folder too, for its running processes.
        is_claude = os.path.isdir(os.path.join(base, "projects"))
        names = ("sessions", "archived_sessions")
        if not is_claude and any(os.path.isdir(os.path.join(base, name)) for name in names):
            roots.append(Root(base, "codex"))
    return roots


def is_desktop_dir(path: str) -> bool:
    """Return whether a directory is Claude Desktop's. Most users have none: one stat."""
    if not os.path.isdir(path):
        return False
    return any(os.path.isdir(os.path.join(path, name)) for name in _DESKTOP_FOLDERS)


def spell_as_listed(path: str) -> str:
    """Return `path` with each name spelled as its directory lists it.

    macOS finds a file under any case and Unicode form of its name, but ccgrep compares paths with
    stored paths as strings.
    """
    parent, name = os.path.split(path)
    if parent == path:
        return path
    if parent:
        parent = spell_as_listed(parent)
    try:
        names = os.listdir(parent or os.curdir)
    except OSError:
        names = []
    if name not in names:
        folded = _fold_name(name)
        name = next((other for other in names if _fold_name(other) == folded), name)
    return os.path.join(parent, name)


def _fold_name(name: str) -> str:
    from unicodedata import normalize  # noqa: PLC0415 - rarely needed at start-up

    return normalize("NFD", normalize("NFD", name).casefold())


def scan(roots: Sequence[Root]) -> Scan:
    """List every source file under `roots`."""
    result = Scan({}, {}, [], [])
    for root in dict.fromkeys(map(_resolve, roots)):  # one root may be a link to another
        errors_before = len(result.errors)
        _add_top_file(result, root, "history.jsonl", "history")
        if root.source == "claude_code":
            is_desktop = is_desktop_dir(root.path)
            projects = os.path.join(root.path, "projects")
            _add_sessions(result, root, projects, is_required=not is_desktop)
            for name in _DESKTOP_FOLDERS if is_desktop else ():
                _add_desktop_sessions(result, root, os.path.join(root.path, name))
            if not is_desktop:
                _add_documents(result, root, os.path.join(root.path, "plans"))
        else:
            _add_sessions(result, root, os.path.join(root.path, "sessions"), is_required=True)
            _add_sessions(result, root, os.path.join(root.path, "archived_sessions"))
            _add_top_file(result, root, "session_index.jsonl", "thread_names")
            _add_databases(result, root)
        if len(result.errors) == errors_before:
            result.complete_roots.append(root.path)
    _drop_compressed_twins(result.files)
    return result


def scan_paths(roots: Sequence[Root], paths: Sequence[str]) -> Scan | None:
    """Return a scan of the files `paths` alone, or None if one of them is missing."""
    result = Scan({}, {}, [], [])
    resolved = [*map(_resolve, roots)]
    for path in paths:
        root = next((root for root in resolved if path.startswith(root.path + os.sep)), None)
        try:
            info = os.lstat(path)
        except OSError:
            return None
        if root is None or not stat.S_ISREG(info.st_mode):
            return None
        result.files[path] = _found_file(path, root, _kind_of(path), info)
    return result


def _resolve(root: Root) -> Root:
    return root._replace(path=os.path.realpath(root.path))


def _found_file(path: str, root: Root, kind: FileKind, info: os.stat_result) -> FoundFile:
    stat = (info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)
    return FoundFile(path, root.source, kind, root.path, *stat)


def _kind_of(path: str) -> FileKind:
    """Return the kind of a file that the seen file lists."""
    name = os.path.basename(path)
    if name.endswith(".md"):
        return "document"
    return "desktop_session" if _is_desktop_name(name) else _LISTED_NAMES.get(name, "session")


def _is_desktop_name(name: str) -> bool:
    return name.startswith("local_") and name.endswith(".json")


def _add_top_file(result: Scan, root: Root, name: str, kind: FileKind) -> None:
    path = os.path.join(root.path, name)
    try:
        info = os.lstat(path)
    except OSError:
        info = None
    if info is not None and stat.S_ISREG(info.st_mode):
        result.files[path] = _found_file(path, root, kind, info)
    else:
        result.folders[path] = -1


def _add_databases(result: Scan, root: Root) -> None:
    """Add Codex's databases. A new one needs no watching: new transcripts come with it."""
    try:
        listing = os.scandir(root.path)
    except OSError:
        return  # The sessions below cannot be listed either, which is an error there.
    with listing:
        for entry in listing:
            if compile_pattern(_DATABASE).fullmatch(entry.name):
                is_state = entry.name.startswith("state")
                _add_file(result, root, entry, "codex_state" if is_state else "codex_history")


def _add_sessions(result: Scan, root: Root, directory: str, is_required: bool = False) -> None:
    """Add the source files below a directory, without following links."""
    kind_of = _claude_kind if root.source == "claude_code" else _codex_kind
    for entry in _list(result, directory, is_required):
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED_FOLDERS:
                _add_sessions(result, root, entry.path)
            elif entry.name == "memory" and root.source == "claude_code":
                _add_memory(result, root, entry.path)
        elif kind := kind_of(entry.name):
            _add_file(result, root, entry, kind)


def _add_memory(result: Scan, root: Root, directory: str) -> None:
    """Add the memory of a project. Agents may create other folders with that name."""
    if os.path.basename(os.path.dirname(os.path.dirname(directory))) == "projects":
        _add_documents(result, root, directory)


def _add_documents(result: Scan, root: Root, directory: str) -> None:
    for entry in _list(result, directory):
        if entry.name.endswith(".md") and not entry.is_dir(follow_symlinks=False):
            _add_file(result, root, entry, "document")


def _add_desktop_sessions(result: Scan, root: Root, directory: str, depth: int = 0) -> None:
    """Add the files with titles in the workspaces below a directory, and Cowork's transcripts."""
    for entry in _list(result, directory):
        is_dir = entry.is_dir(follow_symlinks=False)
        if is_dir and depth < _DESKTOP_DEPTH:
            _add_desktop_sessions(result, root, entry.path, depth + 1)
        elif is_dir and entry.name.startswith("local_"):
            _add_sessions(result, root, os.path.join(entry.path, ".claude", "projects"))
        elif not is_dir and _is_desktop_name(entry.name):
            _add_file(result, root, entry, "desktop_session")


def _list(result: Scan, directory: str, is_required: bool = False) -> list[os.DirEntry[str]]:
    """Return the entries of a directory, and record its mtime."""
    try:
        # Read the mtime before listing: a file added later changes the mtime again.
        result.folders[directory] = os.stat(directory).st_mtime_ns
        with os.scandir(directory) as listing:
            return list(listing)
    except FileNotFoundError:
        result.folders[directory] = -1
        if is_required:
            result.errors.append(f"{directory}: not found")
    except OSError as error:
        result.errors.append(f"{directory}: {error.strerror}")
    return []


def _add_file(result: Scan, root: Root, entry: os.DirEntry[str], kind: FileKind) -> None:
    info = _stat(entry, result.errors)
    if info is not None:
        result.files[entry.path] = _found_file(entry.path, root, kind, info)


def _stat(entry: os.DirEntry[str], errors: list[str]) -> os.stat_result | None:
    """Return the stat of a regular file, or None if its path is not valid UTF-8."""
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        errors.append(f"{entry.path}: {error.strerror}")
        return None
    is_utf8 = entry.path.encode(errors="ignore").decode() == entry.path
    return info if stat.S_ISREG(info.st_mode) and is_utf8 else None


def _claude_kind(name: str) -> FileKind | None:
    if name.endswith(".jsonl") and name != "journal.jsonl":
        return "session"
    return _LISTED_NAMES.get(name)


def _codex_kind(name: str) -> FileKind | None:
    return "session" if compile_pattern(_ROLLOUT).fullmatch(name) else None


def _drop_compressed_twins(files: dict[str, FoundFile]) -> None:
    """Prefer a plain rollout while Codex is compressing it and both files exist."""
    for path in [path for path in files if path.endswith(".zst")]:
        if path.removesuffix(".zst") in files:
            del files[path]
