"""Opens and lists files in a tree that others write to, following no link out of it.

Only regular files are read. A FIFO, a device or a symlink that is put in a transcript's
place is passed over without blocking on it.
"""

import os
import stat
from typing import BinaryIO

MAX_SIDE_FILE_BYTES = 64 * 1024 * 1024


def open_regular(path: str) -> int | None:
    """A descriptor of a regular file, or `None` for whatever else stands there.

    A file that may not be read is an error: passing over it would hide a session.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def open_side_file(path: str) -> BinaryIO | None:
    """A file that only adds to what transcripts say: what cannot be read is not there."""
    try:
        descriptor = open_regular(path)
    except PermissionError:
        return None
    return None if descriptor is None else open(descriptor, "rb")


def read_side_file(path: str, max_bytes: int) -> bytes | None:
    """The whole content of a small file beside a transcript, or `None`."""
    file = open_side_file(path)
    if file is None:
        return None
    with file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            return None
        try:
            return file.read(max_bytes)
        except OSError:
            return None
