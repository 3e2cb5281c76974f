"""Files that the user asks for, outside the store: there whole or not at all, and private."""

import os
import stat

from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.store import fsio
from ccgrep.text import one_line


def save_recall(config: Config, name: str, text: str) -> str:
    """Keeps a conversation among the saved recalls of Claude Code; gives its path."""
    fsio.make_dir(config.recalls_dir)
    path = os.path.join(config.recalls_dir, name)
    write_file(path, text)
    return path


def write_file(path: str, text: str) -> None:
    """Writes a file, replacing what stood there; never a device, a pipe or a directory."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    target = os.path.realpath(path)
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise UsageError(f"{one_line(directory)} is not a directory: make it first")
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise UsageError(f"{one_line(path)} is not a regular file: redirect the output there")
    fsio.publish(directory, target, data)
