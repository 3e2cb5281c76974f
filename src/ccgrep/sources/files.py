"""Opens and lists files in a tree that others write to, following no link out of it.

Only regular files are read. A FIFO, a device or a symlink that is put in a transcript's
place is passed over without blocking on it; so is what is reached through a folder that is a link,
or was exchanged for one since it was listed.
"""

import os
import stat
from functools import lru_cache
from typing import BinaryIO

MAX_SIDE_FILE_BYTES = 64 * 1024 * 1024


def open_regular(path: str, root: str = "") -> int | None:
    """A descriptor of a regular file, or `None` for whatever else stands there.

    A file that may not be read is an error: passing over it would hide a session. Below `root` no
    link is followed; `root/projects` may be one, as some have it on another disk.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _is_below(descriptor, path, root):
        return descriptor
    os.close(descriptor)
    return None


def _is_below(descriptor: int, path: str, root: str) -> bool:
    """Whether what was opened is what is called `path`, and no other name of something elsewhere.

    Asked after it was opened, so that nobody can be in between. Without /proc it is not known.
    """
    if not root:
        return True
    try:
        real = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return True
    top, slash, rest = path.removeprefix(root + os.sep).partition(os.sep)
    return real == _real(os.path.join(root, top)) + slash + rest


@lru_cache(maxsize=64)
def _real(path: str) -> str:
    return os.path.realpath(path)


def open_side_file(path: str, root: str = "") -> BinaryIO | None:
    """A file that only adds to what transcripts say: what cannot be read is not there."""
    try:
        descriptor = open_regular(path, root)
    except PermissionError:
        return None
    return None if descriptor is None else open(descriptor, "rb")


def read_side_file(path: str, max_bytes: int, root: str = "") -> bytes | None:
    """The whole content of a small file beside a transcript, or `None`."""
    file = open_side_file(path, root)
    if file is None:
        return None
    with file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            return None
        try:
            return file.read(max_bytes)
        except OSError:
            return None
