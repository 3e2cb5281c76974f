"""Long output on a terminal goes through a pager; a short one does not need it."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

from ccgrep.cli.context import Context
from ccgrep.errors import UsageError
from ccgrep.text import columns, one_line


def page(lines: Iterable[str], context: Context, command: str) -> None:
    """Writes lines, through the pager `command` when they are more than the terminal shows."""
    words = _words(command)
    if not context.is_terminal or words in ([], ["cat"]):
        context.write_lines(lines)
        return
    rest = iter(lines)
    first: list[str] = []
    try:
        is_long = _fill(first, rest, context.width)
    except BaseException:
        context.write_lines(first)  # What came before the trouble.
        raise
    pager = _started(words, context) if is_long else None
    if pager is None:
        context.write_lines(chain(first, rest))
    else:
        _feed(pager, chain(first, rest))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        message = f"the pager {one_line(command)} cannot be understood ({error})"
        raise UsageError(f"{message}: see `ccgrep settings`") from None


def _fill(first: list[str], rest: Iterator[str], width: int) -> bool:
    """Takes lines until the terminal is full; says whether it is."""
    left = _height() - 1
    for line in rest:
        first.append(line)
        left -= sum(max(-(-columns(row) // width), 1) for row in line.split("\n"))
        if left < 0:
            return True
    return False


def _height() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or 24
    except (OSError, ValueError):
        return 24


def _started(words: list[str], context: Context) -> "subprocess.Popen[bytes] | None":
    """The pager; nothing when it cannot be run, and then the output is printed as it is."""
    usual = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}
    sys.stdout.flush()
    try:
        return subprocess.Popen(words, stdin=subprocess.PIPE, env={**usual, **context.environment})
    except OSError as error:
        context.say(f"ccgrep: {one_line(words[0])} cannot be run ({error.strerror}): no pager")
        return None


def _feed(pager: "subprocess.Popen[bytes]", lines: Iterable[str]) -> None:
    assert pager.stdin is not None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's.
    try:
        for line in lines:
            pager.stdin.write(line.encode("utf-8", "backslashreplace") + b"\n")
        pager.stdin.close()
    except BrokenPipeError:
        pass  # The reader has seen enough.
    finally:
        _close(pager)
        signal.signal(signal.SIGINT, before)


def _close(pager: "subprocess.Popen[bytes]") -> None:
    """Lets the reader read to the end."""
    try:
        assert pager.stdin is not None
        pager.stdin.close()
    except BrokenPipeError:
        pass
    pager.wait()
