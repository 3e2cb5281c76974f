"""Which change wrote a line of a file? Pure.

Changes are taken back from the present text, the newest first: what a change put there is looked
for in the text and what stood there before is put back, until one is found that wrote the line.
A change whose text is no longer there as a whole, because something else changed the file since,
still tells of a line that it wrote if the file has that line once.
"""

import difflib
from collections.abc import Iterable
from typing import TypeVar

from ccgrep.blame.file_changes import Change

T = TypeVar("T")


class UnclearError(Exception):
    """The line may come from several places of a change."""


def writer(text: str, number: int, changes: Iterable[tuple[T, Change]]) -> T | None:
    """Of which change line `number`, counted from 1, is; `changes` come the newest first."""
    state = _State(text, number - 1)
    for owner, change in changes:
        if change.old is None:
            return owner if change.new and state.is_written_whole(change.new) else None
        if state.undo(change.old, change):
            return owner
    return None


class _State:
    """A text, and the line that is asked for."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    @property
    def _line(self) -> str:
        return self._text.split("\n")[self._at]

    def is_written_whole(self, content: str) -> bool:
        """Whether the line comes of a time when the whole text was `content`."""
        here, there = self._text.split("\n"), content.split("\n")
        return _origin(there, here, self._at) is not None

    def undo(self, old: str, change: Change) -> bool:
        """Takes a change back; says instead whether it wrote the line."""
        new = change.new
        places = _places(self._text, change)
        if not places:
            return self._is_written_alone(old, new)
        start = sum(len(line) + 1 for line in self._text.split("\n")[: self._at])
        end = start + len(self._line)
        inside = [at for at in places if at <= end and start <= at + len(new)]
        is_clear = change.is_everywhere or len(places) == 1
        if inside:
            origin = self._before(old, new, inside[0])
            if origin is None and not is_clear:
                raise UnclearError
            if origin is None:
                return True
            if len(places) == 1:
                self._at = origin
                self._put_back(old, new, places)
        elif is_clear:
            lines = old.count("\n") - new.count("\n")
            self._at += lines * sum(at < start for at in places)
            self._put_back(old, new, places)
        return False

    def _put_back(self, old: str, new: str, places: list[int]) -> None:
        for at in reversed(places):
            self._text = self._text[:at] + old + self._text[at + len(new) :]

    def _before(self, old: str, new: str, at: int) -> int | None:
        """Which line ours was before the change at `at`; `None` if it was not there."""
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

    def _is_written_alone(self, old: str, new: str) -> bool:
        line = self._line
        is_added = line in new.split("\n") and line not in old.split("\n")
        return bool(line.strip()) and is_added and self._text.split("\n").count(line) == 1


def _places(text: str, change: Change) -> list[int]:
    """Where in `text` what a change put there can be; nowhere when it only took away."""
    found: list[int] = []
    part = change.new
    at = text.find(part) if part else -1
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(part) : at + len(part) + 1]
        if not change.is_lines or not around.strip("\n"):
            found.append(at)
        at = text.find(part, at + len(part))
    return found


def _origin(before: list[str], after: list[str], at: int) -> int | None:
    """Which line of `before` the line `at` of `after` is; `None` if it is none of them."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(after) > 2000)
    for block in matcher.get_matching_blocks():
        if block.b <= at < block.b + block.size:
            return block.a + at - block.b
    return None
