"""--budget: a cap on what is printed, for readers to whom every character costs something.

Records come whole or not at all, other text may be cut; what was left out is counted, so that
one line on standard error can say how much more there is.
"""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Budget:
    """How many characters may still be printed, line ends included; None is any number."""

    def __init__(self, chars: int | None) -> None:
        self._chars = chars
        self._left = chars
        self.left_out = 0

    def records(self, lines: Iterable[str], end: str = "\n") -> Iterator[str]:
        """The lines that fit, up to the first that does not."""
        return (line for line in lines if self._takes(len(line) + len(end)))

    def text(self, lines: Iterable[str]) -> Iterator[str]:
        """The same, but a line that does not fit is cut."""
        for line in lines:
            room = self._left
            if self._takes(len(line) + 1):
                yield line
            elif room and self._left == 0:  # It is the first that does not fit.
                self.left_out -= room
                yield line[: room - 1]

    def _takes(self, chars: int) -> bool:
        if self._left is None:
            return True
        if self.left_out or chars > self._left:
            self._left = 0
            self.left_out += chars
            return False
        self._left -= chars
        return True

    def document(self, make: Callable[[int], str], count: int) -> str:
        """The largest of the documents with 0 to `count` items that fits."""
        whole = make(count)
        if self._takes(len(whole) + 1):
            return whole
        room = (self._chars or 0) - 1
        low, high = 0, count
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(make(middle)) <= room else (low, middle - 1)
        made = make(low)
        if len(made) > room:
            raise UsageError(f"--budget {self._chars} is too small: give {len(made) + 1} or more")
        self.left_out = len(whole) - len(made)
        return made

    def note(self, how: str = "") -> str | None:
        """What was left out, and how to get it; None if nothing was."""
        if not self.left_out or self._chars is None:
            return None
        more = f"--budget {self._chars + self.left_out} prints all of it"
        return f"--budget {self._chars} left out {self.left_out:,} characters{how}; {more}"
