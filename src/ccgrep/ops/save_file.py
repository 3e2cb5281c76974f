"""Writes files that the user asks for outside the store, atomically and with mode 0600."""

import os
import stat

from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.store import fsio
from ccgrep.text import one_line


def save_recall(config: Config, name: str, text: str) -> str:
    """Save a conversation in Claude Code's `recalls` directory; return its path."""
    fsio.make_dir(config.recalls_dir)
    path = os.path.join(config.recalls_dir, name)
    write_file(path, text)
    return path


def write_file(path: str, text: str) -> None:
    """Write or replace a file; refuse devices, pipes and directories."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise UsageError(f"{one_line(directory)} is not a directory: create it first")
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise UsageError(f"{one_line(path)} is not a regular file: redirect the output there")
    fsio.publish(directory, target, data)
