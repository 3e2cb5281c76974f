"""Decides which transcripts are not ingested: excluded by a pattern, or forgotten.

A pattern names a transcript's path or its project. A session that was ingested before it was
excluded stays as it is: it is not gone, and it does not grow.
"""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import open_side_file
from ccgrep.sources.readers import identify
from ccgrep.sources.scan import FoundFile, Scan
from ccgrep.sources.values import find_project
from ccgrep.sources.zst import ZstStream
from ccgrep.store.manifest import Row, SourceFile, forgotten_key
from ccgrep.text import folder_name, to_nfc

_HEAD_BYTES = 256 * 1024
_MAX_HEAD_BYTES = 64 * 1024 * 1024
"""The longest line that is ever read."""
_CWD = rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*+")'


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern names a path or a directory above it."""
    path = to_nfc(path)
    names = (name for pattern in map(to_nfc, patterns) for name in (pattern, f"{pattern}/*"))
    return any(fnmatchcase(path, name) for name in names)


def excluded_paths(scan: Scan, rows: Iterable[Row], patterns: Sequence[str]) -> set[str]:
    """Return the transcripts of a scan that are excluded; only the head of a new one is read."""
    if not patterns:
        return set()
    known = {file.path: row.session.cwd for row in rows for file in row.files}
    found = (file for file in scan.files.values() if file.kind in ("session", "document"))
    return {file.path for file in found if _is_file_excluded(file, known.get(file.path), patterns)}


def _is_file_excluded(found: FoundFile, cwd: str | None, patterns: Sequence[str]) -> bool:
    if is_excluded(found.path, patterns):
        return True
    if found.kind == "document":
        return _is_folder_excluded(found.path, patterns)
    return is_project_excluded(_read_cwd(found) if cwd is None else cwd, patterns)


def _is_folder_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern may name the directory that a project folder is named after."""
    folder = os.path.basename(os.path.dirname(os.path.dirname(path)))
    names = ("*".join(map(folder_name, pattern.split("*"))) for pattern in patterns)
    return any(fnmatchcase(folder, name) or fnmatchcase(folder, f"{name}-*") for name in names)


def is_project_excluded(cwd: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern names a directory or the project around it."""
    return bool(cwd) and (is_excluded(cwd, patterns) or is_excluded(find_project(cwd), patterns))


def _read_cwd(found: FoundFile) -> str:
    if found.source in ("claude_code", "codex"):
        return _read_first_cwd(found)
    from ccgrep.ingest.file_reader import read_cwd  # noqa: PLC0415 - only for other sources

    return read_cwd(found)


def _read_first_cwd(found: FoundFile) -> str:
    """Return the first working directory in a transcript's head, or an empty string."""
    file = open_side_file(found.path, found.root)
    if file is None:
        return ""
    with file:
        stream = ZstStream(file, found.size) if found.path.endswith(".zst") else file
        head = stream.read(_HEAD_BYTES)
        match = compile_pattern(_CWD).search(head)
        while match is None and len(head) < _MAX_HEAD_BYTES and (more := stream.read(len(head))):
            head += more
            match = compile_pattern(_CWD).search(head)
    try:
        return str(msgspec.json.decode(match[1])) if match else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def known_files(rows: Sequence[Row], hints: Sequence[SourceFile]) -> dict[str, SourceFile]:
    """Return every file the store has read, by path."""
    files = {file.path: file for row in rows for file in row.files}
    return files | {file.path: file for file in hints}


def drop_excluded(scan: Scan, rows: Sequence[Row], excluded: set[str]) -> Scan:
    """Return `scan` without excluded files, except those ingested earlier: they are not gone."""
    unknown = excluded.difference(*({file.path for file in row.files} for row in rows))
    return scan._replace(files={p: f for p, f in scan.files.items() if p not in unknown})


def drop_forgotten(scan: Scan, forgotten: set[bytes]) -> Scan:
    """Return `scan` without the files and folders of forgotten sessions."""
    if not forgotten:
        return scan
    files = {path: f for path, f in scan.files.items() if not _forgotten_keys(f) & forgotten}
    folders = {
        path: time
        for path, time in scan.folders.items()
        if not any(forgotten_key(name) in forgotten for name in path.split(os.sep))
    }
    return scan._replace(files=files, folders=folders)


def _forgotten_keys(found: FoundFile) -> set[bytes]:
    """Return the keys under which a file may have been forgotten."""
    names = {found.path}
    if found.kind in ("session", "document"):
        session = identify(found.source, found.path)
        names |= {session.id, session.parent or found.path}
    return set(map(forgotten_key, names))
