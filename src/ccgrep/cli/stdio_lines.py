"""Reads lines from standard input and writes lines to standard output, for the MCP server."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock


def read_lines(max_bytes: int) -> Iterator[bytes]:
    """Yield the lines that are not blank. Of a longer one, yield one byte more than `max_bytes`."""
    read = sys.stdin.buffer.readline
    while line := read(max_bytes + 1):
        is_cut = len(line) > max_bytes
        if line.strip():
            yield line
        while is_cut and not line.endswith(b"\n") and line:
            line = read(max_bytes)


def claim_output() -> Callable[[bytes], None]:
    """Return a function that writes a line, and the only one that reaches standard output.

    Whatever a library prints would break the protocol, so it goes to standard error.
    """
    output = os.dup(1)
    os.dup2(2, 1)
    lock = Lock()

    def write_line(line: bytes) -> None:
        left = memoryview(line + b"\n")
        # A client that is gone has closed standard input too: that ends the server.
        with lock, suppress(BrokenPipeError):
            while left:
                left = left[os.write(output, left) :]

    return write_line
