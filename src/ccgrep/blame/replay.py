"""Finds the change that wrote a line of a file. Pure.

It undoes the changes on the present text, the newest first, until it reaches one that wrote the
line. A change whose whole text is no longer in the file cannot be undone. It still counts as the
writer of a line if it added that line and the file has the line once.
"""

import difflib
from collections.abc import Iterable
from typing import TypeVar

from ccgrep.blame.file_access import Change

T = TypeVar("T")


class AmbiguousLineError(Exception):
    """The text of a change occurs more than once, so the line may have several writers."""


def find_writer(text: str, line: int, changes: Iterable[tuple[T, Change]]) -> T | None:
    """Return the owner of the change that wrote a line, or None if no change did.

    Lines count from 1. `changes` come with their owners, the newest first.
    """
    replay = _Replay(text, line - 1)
    for owner, change in changes:
        if change.old is None:
            return owner if change.new and replay.comes_from(change.new) else None
        if replay.undo(change.old, change):
            return owner
    return None


class _Replay:
    """The text before the changes that were undone, and where the line was then."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    @property
    def _line(self) -> str:
        return self._text.split("\n")[self._at]

    def comes_from(self, content: str) -> bool:
        """Return whether the line was already there when the whole file was `content`."""
        return _origin(content.split("\n"), self._text.split("\n"), self._at) is not None

    def undo(self, old: str, change: Change) -> bool:
        """Return True if the change wrote the line; otherwise undo it if possible."""
        new = change.new
        places = _occurrences(self._text, change)
        if not places:
            return self._is_only_writer(old, new)
        start = sum(len(line) + 1 for line in self._text.split("\n")[: self._at])
        end = start + len(self._line)
        inside = [at for at in places if at <= end and start <= at + len(new)]
        is_unambiguous = change.replaces_all or len(places) == 1
        if inside:
            origin = self._line_before(old, new, inside[0])
            if origin is None and not is_unambiguous:
                raise AmbiguousLineError
            if origin is None:
                return True
            if len(places) == 1:
                self._at = origin
                self._restore(old, new, places)
        elif is_unambiguous:
            lines = old.count("\n") - new.count("\n")
            self._at += lines * sum(at < start for at in places)
            self._restore(old, new, places)
        return False

    def _restore(self, old: str, new: str, places: list[int]) -> None:
        for at in reversed(places):
            self._text = self._text[:at] + old + self._text[at + len(new) :]

    def _line_before(self, old: str, new: str, at: int) -> int | None:
        """Return the line's index before the change at `at`, or None if the change added it."""
        first = self._text.rfind("\n", 0, at) + 1
        last = self._text.find("\n", at + len(new))
        last = len(self._text) if last < 0 else last
        head, tail = self._text[first:at], self._text[at + len(new) : last]
        above = self._text.count("\n", 0, first)
        before, after = ((head + middle + tail).split("\n") for middle in (old, new))
        if not 0 <= self._at - above < len(after):
            return None
        origin = _origin(before, after, self._at - above)
        return None if origin is None else above + origin

    def _is_only_writer(self, old: str, new: str) -> bool:
        line = self._line
        is_added = line in new.split("\n") and line not in old.split("\n")
        return bool(line.strip()) and is_added and self._text.split("\n").count(line) == 1


def _occurrences(text: str, change: Change) -> list[int]:
    """Return where `text` has the new text of a change; empty if the change only deleted."""
    found: list[int] = []
    part = change.new
    at = text.find(part) if part else -1
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(part) : at + len(part) + 1]
        if not change.is_whole_lines or not around.strip("\n"):
            found.append(at)
        at = text.find(part, at + len(part))
    return found


def _origin(before: list[str], after: list[str], at: int) -> int | None:
    """Return the index in `before` of the line `after[at]`, or None if it is a new line."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(after) > 2000)
    for block in matcher.get_matching_blocks():
        if block.b <= at < block.b + block.size:
            return block.a + at - block.b
    return None
