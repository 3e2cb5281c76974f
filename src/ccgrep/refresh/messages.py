"""What a search and the child that it began say to each other: bytes, their length before them."""

from __future__ import annotations

import os

from ccgrep.light_typing import NamedTuple

_LENGTH_BYTES = 4
_PART_BYTES = 65_536  # what a pipe holds


class Line(NamedTuple):
    """One end of two pipes."""

    hears: int
    says: int

    def send(self, message: bytes) -> None:
        """Raises BrokenPipeError if nobody listens any more."""
        left = memoryview(len(message).to_bytes(_LENGTH_BYTES) + message)
        while left:
            left = left[os.write(self.says, left) :]

    def receive(self) -> bytes:
        """Waits for what the other one says; raises EOFError when it says nothing more."""
        return self._read(int.from_bytes(self._read(_LENGTH_BYTES)))

    def heard(self) -> bytes | None:
        """What the other one has said by now, if anything."""
        os.set_blocking(self.hears, False)
        try:
            return self.receive()
        except BlockingIOError:
            return None
        finally:
            os.set_blocking(self.hears, True)

    def close(self) -> None:
        os.close(self.says)
        os.close(self.hears)

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self.hears, min(size, _PART_BYTES))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
