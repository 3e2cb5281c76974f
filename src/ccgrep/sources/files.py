"""Opens transcripts and the files beside them, in directories that other programs write to.

Only regular files are opened. A FIFO, a device or a symbolic link in a transcript's place is
skipped without blocking. So is anything behind a directory that is a link, even if the link
replaced the directory after it was listed.
"""

import os
import stat
from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec

_MAX_SIDE_FILE_BYTES = 64 * 1024 * 1024
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(path: str, root: str = "") -> int | None:
    """Return a descriptor of a regular file, or None for anything else.

    A file without read permission raises PermissionError: skipping it would hide a session. With
    `root`, no link below `root` is followed, except `root/projects` or `root/sessions` itself,
    which some users keep on another disk.
    """
    try:
        descriptor = _open_below(root, path) if root else os.open(path, _FLAGS | os.O_NOFOLLOW)
    except PermissionError:
        raise
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _open_below(root: str, path: str) -> int:
    """Open `path` one name at a time.

    `O_NOFOLLOW` guards only the last name of a path. Checking the path first would leave a moment
    in which a directory can be replaced by a link.
    """
    top, _, rest = path.removeprefix(root + os.sep).partition(os.sep)
    if not rest:
        return os.open(path, _FLAGS | os.O_NOFOLLOW)
    *folders, name = rest.split(os.sep)
    if os.pardir in folders:
        raise FileNotFoundError(path)
    return _descend(os.path.join(root, top), folders, name)


def _descend(top: str, folders: Sequence[str], name: str, owner: int | None = None) -> int:
    """Open a file below `top` without following links, in folders of `owner` if one is given."""
    parent = os.open(top, _FLAGS | os.O_DIRECTORY)
    try:
        for folder in folders:
            child = os.open(folder, _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = child
            if owner is not None and os.fstat(parent).st_uid != owner:
                raise PermissionError(folder)
        return os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)


def open_side_file(path: str, root: str = "") -> BinaryIO | None:
    """Open a file that only supplements transcripts, or return None if it cannot be read."""
    try:
        descriptor = open_regular(path, root)
    except PermissionError:
        return None
    return None if descriptor is None else open(descriptor, "rb")


def read_side_file(
    path: str, root: str = "", max_bytes: int = _MAX_SIDE_FILE_BYTES
) -> bytes | None:
    """Return the content of a file beside a transcript, or None if unreadable or too large."""
    file = open_side_file(path, root)
    return None if file is None else _read_bounded(file, max_bytes)


def read_own_file(
    top: str, folders: Sequence[str], name: str, max_bytes: int = _MAX_SIDE_FILE_BYTES
) -> bytes | None:
    """Return the content of a user's file in a directory that others can write to, such as /tmp.

    Return None unless the file and all folders below `top` belong to the user.
    """
    owner = os.getuid()
    if os.pardir in folders:
        return None
    try:
        descriptor = _descend(top, folders, name, owner)
    except OSError:
        return None
    return _read_bounded(open(descriptor, "rb"), max_bytes, owner)


def _read_bounded(file: BinaryIO, max_bytes: int, owner: int | None = None) -> bytes | None:
    with file:
        info = os.fstat(file.fileno())
        if info.st_size > max_bytes or not stat.S_ISREG(info.st_mode):
            return None
        if owner not in (None, info.st_uid):
            return None
        try:
            return file.read(max_bytes)
        except OSError:
            return None


def read_side_json(
    path: str, root: str = "", max_bytes: int = _MAX_SIDE_FILE_BYTES
) -> dict[str, Any]:
    """Return the JSON object in a file beside a transcript, empty if there is none."""
    try:
        value = msgspec.json.decode(read_side_file(path, root, max_bytes) or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
