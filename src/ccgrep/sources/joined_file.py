"""Reads several files as if they were one."""

import os
from collections.abc import Sequence
from typing import BinaryIO


class JoinedFile:
    """Several open files, one after the other."""

    def __init__(self, files: Sequence[BinaryIO]) -> None:
        self._files = files
        self._sizes = [os.fstat(file.fileno()).st_size for file in files]
        self._current = 0

    def seek(self, offset: int) -> None:
        """Move to an offset in the joined files. An offset beyond the end is in the last one."""
        self._current = 0
        while self._current < len(self._files) - 1 and offset >= self._sizes[self._current]:
            offset -= self._sizes[self._current]
            self._current += 1
        self._files[self._current].seek(offset)
        for file in self._files[self._current + 1 :]:
            file.seek(0)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, never more than the rest of one file."""
        while True:
            left = self._sizes[self._current] - self._files[self._current].tell()
            is_last = self._current == len(self._files) - 1
            block = self._files[self._current].read(size if is_last else min(size, left))
            if block or is_last:
                return block
            self._current += 1
