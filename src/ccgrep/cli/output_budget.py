"""`--budget`: limit the number of characters that a command prints.

Agents use it, because every character costs tokens. Records are printed whole or not at all, other
text is cut. The budget counts what it left out, for one line on standard error.
"""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Budget:
    """The characters that may still be printed, line ends included. None is no limit."""

    def __init__(self, chars: int | None) -> None:
        self._chars = chars
        self._left = chars
        self.left_out = 0

    def records(self, lines: Iterable[str], end: str = "\n") -> Iterator[str]:
        """Return the lines up to the first that does not fit."""
        return (line for line in lines if self._spend(len(line) + len(end)))

    def text(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines that fit, and cut the first that does not."""
        for line in lines:
            room = self._left
            if self._spend(len(line) + 1):
                yield line
            elif room and self._left == 0:  # the first line that does not fit
                self.left_out -= room
                yield line[: room - 1]

    def _spend(self, chars: int) -> bool:
        if self._left is None:
            return True
        if self.left_out or chars > self._left:
            self._left = 0
            self.left_out += chars
            return False
        self._left -= chars
        return True

    def document(self, make: Callable[[int], str], count: int) -> str:
        """Return the largest document with 0 to `count` items that fits."""
        whole = make(count)
        if self._spend(len(whole) + 1):
            return whole
        room = (self._chars or 0) - 1
        low, high = 0, count
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(make(middle)) <= room else (low, middle - 1)
        document = make(low)
        if len(document) > room:
            least = len(document) + 1
            raise UsageError(f"--budget {self._chars} is too small: use {least} or more")
        self.left_out = len(whole) - len(document)
        return document

    def note(self, where: str = "") -> str | None:
        """Return what was left out and how to get it, or None if everything was printed."""
        if not self.left_out or self._chars is None:
            return None
        all = f"use --budget {self._chars + self.left_out} to print everything"
        return f"--budget {self._chars} left out {self.left_out:,} characters{where}: {all}"
