"""HEAD and what else stands beside the objects: which snapshot is the current one.

HEAD        64 hex digits and a newline; 64 zeros before the first commit
forgotten   32 hex digits a line: what is not to be taken in again; a second copy of what the
            snapshot says, since a promise to forget must outlive a lost snapshot
"""

import os
from collections.abc import Iterable

from ccgrep.errors import CorruptError
from ccgrep.lazy_re import compile_pattern
from ccgrep.model import ObjectId
from ccgrep.store import fsio
from ccgrep.store.access import FORMAT_TEXT

NO_SNAPSHOT = ObjectId(bytes(32))

_HEX_DIGITS = b"0123456789abcdef"
_FORGOTTEN = rb"(?m)^[0-9a-f]{32}$"


def write_format(directory: str, tmp_dir: str) -> None:
    fsio.publish(tmp_dir, os.path.join(directory, "FORMAT"), FORMAT_TEXT.encode())


def read_forgotten(directory: str) -> list[bytes]:
    """What was forgotten, as written beside the snapshots; what of it can be read."""
    try:
        with open(os.path.join(directory, "forgotten"), "rb") as file:
            keys = compile_pattern(_FORGOTTEN).findall(file.read())
    except FileNotFoundError:
        return []
    return [bytes.fromhex(key.decode()) for key in keys]


def write_forgotten(directory: str, tmp_dir: str, keys: Iterable[bytes]) -> None:
    text = "".join(f"{key.hex()}\n" for key in keys)
    fsio.publish(tmp_dir, os.path.join(directory, "forgotten"), text.encode())


def read_head(directory: str) -> ObjectId | None:
    """The current snapshot's id; `None` when there is no HEAD."""
    path = os.path.join(directory, "HEAD")
    try:
        with open(path, "rb") as file:
            text = file.read(100)
    except FileNotFoundError:
        return None
    if len(text) != 65 or text[64:] != b"\n" or text[:64].strip(_HEX_DIGITS):
        raise CorruptError(f"{path} is damaged: run `ccgrep fsck --repair`")
    return ObjectId(bytes.fromhex(text.decode()))


def write_head(directory: str, tmp_dir: str, id: ObjectId) -> None:
    fsio.publish(tmp_dir, os.path.join(directory, "HEAD"), id.hex().encode() + b"\n")
