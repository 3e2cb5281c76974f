"""What is never taken in: transcripts whose path, or whose project, a pattern names.

A session that was taken in before stays as it is: it is neither gone nor does it grow.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import open_side_file
from ccgrep.sources.identity import claude_file, codex_file
from ccgrep.sources.project import project_of
from ccgrep.sources.scan import FoundFile, Scan
from ccgrep.sources.zst import ZstStream
from ccgrep.store.manifest import Row

_HEAD_BYTES = 256 * 1024
_MAX_HEAD_BYTES = 64 * 1024 * 1024
"""A first line may be long; no line that is read is longer."""
_CWD = rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*+")'


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern names a path, or a directory that it is in."""
    return any(fnmatchcase(path, one) or fnmatchcase(path, f"{one}/*") for one in patterns)


def excluded_paths(scan: Scan, rows: Iterable[Row], patterns: Sequence[str]) -> set[str]:
    """The transcripts of a scan that are not to be read; of one that is new the head is."""
    if not patterns:
        return set()
    known = {file.path: row.session.cwd for row in rows for file in row.files}
    found = (file for file in scan.files.values() if file.kind == "session")
    return {file.path for file in found if _is_meant(file, known.get(file.path), patterns)}


def _is_meant(found: FoundFile, cwd: str | None, patterns: Sequence[str]) -> bool:
    if is_excluded(found.path, patterns):
        return True
    return is_project_excluded(_begun_in(found) if cwd is None else cwd, patterns)


def is_project_excluded(cwd: str, patterns: Sequence[str]) -> bool:
    """Whether what is done in a directory is excluded, by itself or by the project around it."""
    return bool(cwd) and (is_excluded(cwd, patterns) or is_excluded(project_of(cwd), patterns))


def _begun_in(found: FoundFile) -> str:
    """The directory that a transcript names first; empty if its head has none."""
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


def session_ids(paths: Iterable[str], scan: Scan) -> set[str]:
    """Whose transcripts these are."""
    files = [scan.files[path] for path in paths]
    named = {"claude_code": claude_file, "codex": codex_file}
    return {named[file.source](file.path).id for file in files}
