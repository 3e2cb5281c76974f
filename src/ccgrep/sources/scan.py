"""Finds the source files under Claude Code's and Codex's directories.

Gives each file's path, kind and stat, and says whether a root was listed completely: only
then may a file that is not there be called gone. Names are read as they are; symlinks
are followed for the root alone.
"""

from __future__ import annotations

import os
import stat

from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccgrep.kinds import FileKind, SourceName
else:
    FileKind = SourceName = str  # for msgspec, when it reads a worker's task

_ROLLOUT = r"rollout(-.*)?\.jsonl(\.zst)?"
_RACY_NS = 2_000_000_000  # The mtimes of FAT are this coarse.
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
    """What one look at the roots found.

    `folders` has the time of change of each that was listed, or -1 where there was none: as
    long as these are the same, no file has come or gone.
    """

    files: dict[str, FoundFile]
    folders: dict[str, int]
    complete_roots: list[str]
    troubles: list[str]


def is_racy(mtime_ns: int, seen_ns: int) -> bool:
    """Return whether a file with this mtime may have changed after `seen_ns` unnoticed.

    Within one tick of the filesystem's clock, a write leaves mtime and size as they were.
    """
    return mtime_ns > seen_ns - _RACY_NS


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
    result = Scan({}, {}, [], [])
    for root in roots:
        before = len(result.troubles)
        base = os.path.realpath(root.path)
        history = os.path.join(base, "history.jsonl")
        files = list(_one(history, root.source, base))
        if not files:
            result.folders[history] = -1
        walk = _Walk(base, root.source, files, result)
        if root.source == "claude_code":
            walk.into(os.path.join(base, "projects"), is_required=True)
        else:
            walk.into(os.path.join(base, "sessions"), is_required=True)
            walk.into(os.path.join(base, "archived_sessions"))
        result.files.update((file.path, file) for file in files)
        if len(result.troubles) == before:
            result.complete_roots.append(base)
    _prefer_plain(result.files)
    return result


def found_files(roots: list[Root], paths: list[str]) -> Scan | None:
    """The transcripts `paths` alone, as a scan would find them; `None` if one is not there."""
    result = Scan({}, {}, [], [])
    bases = [(os.path.realpath(root.path), root.source) for root in roots]
    for path in paths:
        base, source = next(((b, s) for b, s in bases if path.startswith(b + "/")), (None, None))
        try:
            info = os.lstat(path)
        except OSError:
            return None
        if base is None or source is None or not stat.S_ISREG(info.st_mode):
            return None
        size, mtime, inode = info.st_size, info.st_mtime_ns, info.st_ino
        result.files[path] = FoundFile(path, source, "session", base, size, mtime, inode)
    return result


class _Walk:
    """Lists the source files below a directory, links not followed. Every search does this
    for every file, so it is one loop."""

    def __init__(self, base: str, source: SourceName, files: list[FoundFile], scan: Scan) -> None:
        self._base = base
        self._source: SourceName = source
        self._files = files
        self._folders = scan.folders
        self._troubles = scan.troubles
        self._kind = _claude_kind if source == "claude_code" else _codex_kind

    def into(self, directory: str, is_required: bool = False) -> None:
        try:
            # Before it is listed: what comes later will have changed it once more.
            self._folders[directory] = os.stat(directory).st_mtime_ns
            listing = os.scandir(directory)
        except FileNotFoundError:
            self._folders[directory] = -1
            if is_required:
                self._troubles.append(f"{directory}: not found")
            return
        except OSError as error:
            self._troubles.append(f"{directory}: {error.strerror}")
            return
        base, source, kind_of = self._base, self._source, self._kind
        with listing:
            for entry in listing:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if name not in _SKIPPED_FOLDERS:
                        self.into(entry.path)
                elif kind := kind_of(name):
                    info = self._stat(entry)
                    if info is not None:
                        size, mtime, inode = info.st_size, info.st_mtime_ns, info.st_ino
                        found = FoundFile(entry.path, source, kind, base, size, mtime, inode)
                        self._files.append(found)

    def _stat(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._troubles.append(f"{entry.path}: {error.strerror}")
            return None
        return info if stat.S_ISREG(info.st_mode) and _is_text(entry.path) else None


def _claude_kind(name: str) -> FileKind | None:
    if name.endswith(".jsonl") and name != "journal.jsonl":
        return "session"
    return "sessions_index" if name == "sessions-index.json" else None


def _codex_kind(name: str) -> FileKind | None:
    return "session" if compile_pattern(_ROLLOUT).fullmatch(name) else None


def _one(path: str, source: SourceName, base: str) -> Iterator[FoundFile]:
    try:
        info = os.lstat(path)
    except OSError:
        return
    if stat.S_ISREG(info.st_mode):
        size, mtime, inode = info.st_size, info.st_mtime_ns, info.st_ino
        yield FoundFile(path, source, "history", base, size, mtime, inode)


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
