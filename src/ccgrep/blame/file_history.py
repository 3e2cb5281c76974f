"""Finds the turns that read or changed a file, and the turn that wrote one of its lines."""

import os
from collections.abc import Iterator

from ccgrep.blame.access_log import AccessLog, BlamedTurn, FoundTurn
from ccgrep.blame.file_access import Change, FileAccess
from ccgrep.blame.replay import AmbiguousLineError, find_writer
from ccgrep.errors import NotFoundError, UsageError
from ccgrep.paths import ends_with
from ccgrep.text import one_line


class FileHistory:
    """The turns that accessed a file, which is given by its path or the end of it."""

    def __init__(self, log: AccessLog, file: str) -> None:
        self._log = log
        self._file = file
        self._path = _normalize(file)

    def turns(self, limit: int = 0) -> list[BlamedTurn]:
        """Return the turns that read or changed the file, the newest first."""
        found = []
        for match in self._matches():
            found.append(match)
            if len(found) == limit:
                break
        return self._log.describe(found, self._accesses)

    def writer_of(self, line: int) -> BlamedTurn:
        """Return the turn that wrote a line of the file as it is now."""
        text = _read_text(self._file)
        lines = text.count("\n") + (not text.endswith("\n"))
        shown = f"'{one_line(self._file)}'"
        if not 1 <= line <= lines:
            raise UsageError(f"{shown} has {lines} lines: there is no line {line}")
        try:
            writer = find_writer(text, line, self._changes())
        except AmbiguousLineError:
            raise NotFoundError(
                f"cannot tell which turn wrote line {line} of {shown}: "
                "the text of a change occurs there more than once"
            ) from None
        if writer is None:
            raise NotFoundError(
                f"no turn is known to have written line {line} of {shown}: "
                "it is older, or was written by hand or by a shell command"
            )
        return self._log.describe([writer], self._accesses)[0]

    def _changes(self) -> Iterator[tuple[FoundTurn, Change]]:
        """Yield the changes of the file, the newest first, or of namesakes if it has none."""
        matches = [(match, self._accesses(match)) for match in self._matches()]
        paths = {os.path.abspath(self._file), os.path.realpath(self._file)}
        is_known = any(access.path in paths for _, accesses in matches for access in accesses)
        for match, accesses in matches:
            for access in reversed(accesses):
                if access.path in paths or not is_known:
                    yield from ((match, change) for change in reversed(access.changes))

    def _matches(self) -> Iterator[FoundTurn]:
        return self._log.find_touching([self._path], self._accesses)

    def _accesses(self, found: FoundTurn) -> tuple[FileAccess, ...]:
        return tuple(access for access in found.accesses() if ends_with(access.path, self._path))


def _normalize(file: str) -> str:
    """Return the path as the end of a path; one that starts with `..` becomes absolute."""
    path = os.path.normpath(file if os.path.lexists(file) else file.replace("\\", "/"))
    path = os.path.abspath(path) if path.split("/")[0] == ".." else path
    if not file or path in (".", "/"):
        raise UsageError(f"'{one_line(file)}' does not name a file: pass a path or the end of one")
    return path


def _read_text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace", newline="") as opened:
            return opened.read().replace("\r\n", "\n")
    except OSError as error:
        raise UsageError(
            f"cannot read '{one_line(file)}' ({error.strerror}): -L needs the present file"
        ) from None
