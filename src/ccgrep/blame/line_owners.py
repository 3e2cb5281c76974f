"""Finds out which turn wrote the lines that a commit adds to a file. Pure.

Lines are compared without indentation, so a formatter does not hide their writer. Only lines that
are long enough to be somebody's count: a brace or `return None` could be anybody's.
"""

from typing import Generic, TypeVar

from ccgrep.blame.file_access import Change

_MIN_CHARS = 12
_MIN_LETTERS = 4

T = TypeVar("T")


def distinctive_lines(lines: list[str]) -> list[str]:
    """Return the different lines by which a writer can be recognized, without indentation."""
    return [line for line in dict.fromkeys(map(str.strip, lines)) if _is_distinctive(line)]


def _is_distinctive(line: str) -> bool:
    return len(line) >= _MIN_CHARS and sum(map(str.isalnum, line)) >= _MIN_LETTERS


class LineOwners(Generic[T]):
    """The owners of a file's lines, after the changes that were applied, the oldest first."""

    def __init__(self) -> None:
        self._lines: dict[str, T] = {}
        self._parts: dict[str, T] = {}

    def apply(self, owner: T, change: Change) -> None:
        """Record a change. A line belongs to whoever added it, not to whoever kept it."""
        new = _lines(change.new)
        if change.old is None:
            self._lines = {line: self._lines.get(line, owner) for line in new}
            self._parts = {}
            return
        old = _lines(change.old)
        for line in old.keys() - new.keys():
            self._lines.pop(line, None)
        for part in [part for part in self._parts if part in change.old and part not in change.new]:
            del self._parts[part]
        for line in new.keys() - old.keys():
            # Whoever added it before: it is gone again, perhaps by `git checkout`.
            self._lines[line] = owner
            if not change.is_whole_lines:
                self._parts[line] = owner

    def find(self, line: str) -> T | None:
        """Return the owner of a line, or of a part of it that a change wrote."""
        if (owner := self._lines.get(line)) is not None:
            return owner
        return next((owner for part, owner in reversed(self._parts.items()) if part in line), None)


def _lines(text: str) -> dict[str, None]:
    return dict.fromkeys(distinctive_lines(text.split("\n")))
