"""Pass output through a pager if it is longer than the terminal."""

import contextlib
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
    """Write the lines, through the pager `command` if the terminal cannot show all of them."""
    words = _split(command)
    if not context.is_terminal or words in ([], ["cat"]):
        context.write_lines(lines)
        return
    rest = iter(lines)
    first: list[str] = []
    try:
        is_long = _fill(first, rest, context.width)
    except BaseException:
        context.write_lines(first)  # Print what preceded the error.
        raise
    pager = _start(words, context) if is_long else None
    if pager is None:
        context.write_lines(chain(first, rest))
    else:
        _feed(pager, chain(first, rest))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        problem = f"invalid pager '{one_line(command)}' ({error})"
        raise UsageError(f"{problem}: see `ccgrep settings`") from None


def _fill(first: list[str], rest: Iterator[str], width: int) -> bool:
    """Move lines from `rest` to `first` until they fill the terminal. Return whether they do."""
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


def _start(words: list[str], context: Context) -> "subprocess.Popen[bytes] | None":
    """Start the pager. Warn and return None if it cannot run."""
    defaults = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}
    environment = {**defaults, **context.environment}
    sys.stdout.flush()
    try:
        return subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    except OSError as error:
        problem = f"cannot run the pager '{one_line(words[0])}' ({error.strerror})"
        context.warn(f"{problem}: printing without it, see `ccgrep settings`")
        return None


def _feed(pager: "subprocess.Popen[bytes]", lines: Iterable[str]) -> None:
    assert pager.stdin is not None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the pager.
    try:
        for line in lines:
            pager.stdin.write(line.encode("utf-8", "backslashreplace") + b"\n")
    except BrokenPipeError:
        pass  # The user has quit the pager.
    finally:
        with contextlib.suppress(BrokenPipeError):
            pager.stdin.close()
        pager.wait()
        signal.signal(signal.SIGINT, before)
