"""Finds the source files under the directories of the agents.

A scan also reports which roots were listed completely: only there does a missing file count as
gone. Symbolic links are followed for the root itself, never below it.
"""

from __future__ import annotations

import os
import stat

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.sources.registry import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ccgrep.kinds import FileKind, SourceName
else:
    FileKind = SourceName = str  # msgspec resolves them when it decodes a worker's task

_SIDE_NAMES: dict[str, FileKind] = {
    "sessions-index.json": "sessions_index",
    "session_index.jsonl": "thread_names",
}
TITLE_KINDS = frozenset(["desktop_session", "codex_state", "sessions_index", "thread_names"])
"""The kinds of files with titles of sessions."""


class FoundFile(NamedTuple):
    """A source file and its stat.

    A session that is not a file of its own is part of a `container`: a database, or a folder with
    many small files. Then `size` and `mtime_ns` are its version.
    """

    path: str
    source: SourceName
    kind: FileKind
    root: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0
    container: str = ""


class Scan(NamedTuple):
    """The source files under all roots.

    `folders` maps each listed directory to its mtime, or to -1 if it did not exist. As long as
    the mtimes stay the same, no file was added or removed.
    """

    files: dict[str, FoundFile]
    folders: dict[str, int]
    complete_roots: list[str]
    errors: list[str]


class Listing:
    """The files that a source adds to a scan, all below one root."""

    def __init__(self, root: Root, result: Scan) -> None:
        self.root = root
        self._result = result

    def list_folder(self, directory: str, is_required: bool = False) -> Sequence[os.DirEntry[str]]:
        """Return the entries of a directory, and record its mtime."""
        try:
            # Read the mtime before listing: a file added later changes the mtime again.
            self._result.folders[directory] = os.stat(directory).st_mtime_ns
            with os.scandir(directory) as listing:
                return list(listing)
        except FileNotFoundError:
            self._result.folders[directory] = -1
            if is_required:
                self.add_error(f"{directory}: not found")
        except OSError as error:
            self.add_error(f"{directory}: {error.strerror}")
        return []

    def add_tree(
        self,
        directory: str,
        kind_of: Callable[[str], FileKind | None],
        skipped: Collection[str] = (),
        is_required: bool = False,
    ) -> None:
        """Add the files below a directory whose names have a kind, without following links."""
        for entry in self.list_folder(directory, is_required):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in skipped:
                    self.add_tree(entry.path, kind_of, skipped)
            elif kind := kind_of(entry.name):
                self.add_entry(entry, kind)

    def add_entry(self, entry: os.DirEntry[str], kind: FileKind) -> None:
        """Add a regular file, unless its path is not valid UTF-8."""
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self.add_error(f"{entry.path}: {error.strerror}")
            return
        if stat.S_ISREG(info.st_mode) and _is_utf8(entry.path):
            self._add(entry.path, kind, info)

    def add_path(self, path: str, kind: FileKind) -> bool:
        """Add a regular file, and return whether it exists. Its appearance is noticed later."""
        try:
            info = os.lstat(path)
        except OSError:
            info = None
        if info is not None and stat.S_ISREG(info.st_mode):
            self._add(path, kind, info)
            return True
        self._result.folders[path] = -1
        return False

    def add_database(self, path: str) -> bool:
        """Add an SQLite file and its WAL, and return whether the file exists."""
        self.add_path(f"{path}-wal", "database")
        return self.add_path(path, "database")

    def query(self, database: str, *queries: str) -> list[tuple[object, ...]]:
        """Return the rows of the first query that the database can run.

        If there is none, the root counts as incomplete, so that none of its sessions are gone.
        """
        from ccgrep.sources.sqlite_file import open_database  # noqa: PLC0415 - few sources need it

        with open_database(database, self.root.path) as opened:
            for query in queries:
                rows = opened.try_rows(query)
                if rows is not None:
                    return rows
        self.add_error(f"{database}: cannot be read as a database of {self.root.source}")
        return []

    def add_virtual(self, container: str, id: str, size: int, mtime_ns: int) -> None:
        """Add a session of a database or folder, with a size and time that change with it."""
        path = f"{container}{VIRTUAL}{id}"
        if _is_utf8(path):
            stat = (max(size, 0), min(max(mtime_ns, 0), 2**63 - 1), 0)
            self._result.files[path] = FoundFile(
                path, self.root.source, "session", self.root.path, *stat, container=container
            )

    def add_error(self, text: str) -> None:
        """Report a problem. The root counts as incomplete."""
        self._result.errors.append(text)

    def drop(self, is_unwanted: Callable[[str], bool]) -> None:
        """Remove files that were added."""
        files = self._result.files
        for path in [path for path in files if is_unwanted(path)]:
            del files[path]

    def has(self, path: str) -> bool:
        return path in self._result.files

    def _add(self, path: str, kind: FileKind, info: os.stat_result) -> None:
        self._result.files[path] = _found_file(path, self.root, kind, info)


def _is_utf8(path: str) -> bool:
    return path.encode(errors="ignore").decode() == path


VIRTUAL = "#"
"""Between a container and the id of a session in it."""


def split_virtual(path: str) -> tuple[str, str]:
    """Return the container and the id in the path of a session that is not a file of its own."""
    container, _, id = path.rpartition(VIRTUAL)
    return container, id


def scan(roots: Sequence[Root]) -> Scan:
    """List every source file under `roots`."""
    from ccgrep.sources.readers import load_reader  # noqa: PLC0415 - start-up needs no reader

    result = Scan({}, {}, [], [])
    for root in dict.fromkeys(map(_resolve, roots)):  # one root may be a link to another
        errors_before = len(result.errors)
        load_reader(root.source).list_files(Listing(root, result))
        if len(result.errors) == errors_before:
            result.complete_roots.append(root.path)
    return result


def scan_paths(roots: Sequence[Root], paths: Sequence[str]) -> Scan | None:
    """Return a scan of the files `paths` alone.

    Return None if one of them is missing, or if it may hold several sessions.
    """
    result = Scan({}, {}, [], [])
    resolved = [*map(_resolve, roots)]
    for path in paths:
        # The folder of an extension is a root within that of its editor.
        around = (root for root in resolved if path.startswith(root.path + os.sep))
        root = max(around, key=lambda root: len(root.path), default=None)
        try:
            info = os.lstat(path)
        except OSError:
            return None
        kind = _kind_of(path, root.source) if root is not None else None
        if root is None or kind is None or not stat.S_ISREG(info.st_mode):
            return None
        result.files[path] = _found_file(path, root, kind, info)
    return result


def _resolve(root: Root) -> Root:
    return root._replace(path=os.path.realpath(root.path))


def _found_file(path: str, root: Root, kind: FileKind, info: os.stat_result) -> FoundFile:
    stat = (info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)
    return FoundFile(path, root.source, kind, root.path, *stat)


def _kind_of(path: str, source: SourceName) -> FileKind | None:
    """Return the kind of a file that the seen file lists, or None if only its source knows."""
    name = os.path.basename(path)
    if source in ("claude_code", "codex"):
        if name.endswith(".md"):
            return "document"
        return "desktop_session" if is_desktop_name(name) else side_kind(name) or "session"
    return "session" if name.endswith(".jsonl") else None


def side_kind(name: str) -> FileKind | None:
    """Return the kind of a file with titles of sessions that Claude Code or Codex writes."""
    return _SIDE_NAMES.get(name)


def is_desktop_name(name: str) -> bool:
    """Return whether Claude Desktop gives this name to a file with the title of a session."""
    return name.startswith("local_") and name.endswith(".json")
