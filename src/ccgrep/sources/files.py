"""Opens and lists files in a tree that others write to, following no link out of it.

Only regular files are read. A FIFO, a device or a symlink that is put in a transcript's
place is passed over without blocking on it.
"""

import os
import stat

MAX_SIDE_FILE_BYTES = 64 * 1024 * 1024


def open_regular(path: str) -> int | None:
    """A descriptor of a regular file, or `None` for whatever else stands there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def read_side_file(path: str, max_bytes: int) -> bytes | None:
    """The whole content of a small file beside a transcript, or `None`."""
    descriptor = open_regular(path)
    if descriptor is None:
        return None
    with open(descriptor, "rb") as file:
        if os.fstat(descriptor).st_size > max_bytes:
            return None
        try:
            return file.read(max_bytes)
        except OSError:
            return None
