"""FORMAT and HEAD: what the store is, and which snapshot is the current one.

FORMAT   "ccgrep store\\nformat 1\\nfeatures \\n": a number, and words that a reader must know
HEAD     64 hex digits and a newline; 64 zeros before the first commit
    forgotten   32 hex digits a line: what is not to be taken in again; a second copy of what the
                snapshot says, since a promise to forget must outlive a lost snapshot
"""

import os
import re
from collections.abc import Iterable

from ccgrep.errors import CorruptError, FormatError
from ccgrep.model import ObjectId
from ccgrep.store import fsio

FORMAT = 1
FEATURES: frozenset[str] = frozenset()
NO_SNAPSHOT = ObjectId(bytes(32))

_FORMAT_TEXT = re.compile(r"ccgrep store\nformat (\d+)\nfeatures ?([a-z0-9 -]*)\n")


def write_format(directory: str, tmp_dir: str) -> None:
    text = f"ccgrep store\nformat {FORMAT}\nfeatures {' '.join(sorted(FEATURES))}\n"
    fsio.publish(tmp_dir, os.path.join(directory, "FORMAT"), text.encode())


def check_format(directory: str, is_repair: bool = False) -> None:
    """Refuses a store that this version cannot understand, without touching it."""
    path = os.path.join(directory, "FORMAT")
    with open(path, encoding="utf-8", errors="replace") as file:
        found = _FORMAT_TEXT.fullmatch(file.read(4096))
    if found is None:
        if is_repair:
            return
        raise FormatError(f"{path} is damaged: run `ccgrep fsck --repair`")
    number, features = int(found.group(1)), set(found.group(2).split())
    if number > FORMAT or features - FEATURES:
        raise FormatError(
            f"the store is from a newer ccgrep (format {number}, this one reads {FORMAT}): "
            "upgrade, or run `ccgrep index --recreate`"
        )


def read_forgotten(directory: str) -> list[bytes]:
    """What was forgotten, as written beside the snapshots; nothing when that is lost."""
    try:
        with open(os.path.join(directory, "forgotten"), "rb") as file:
            return [bytes.fromhex(line.decode()) for line in file.read().split()]
    except (FileNotFoundError, ValueError):
        return []


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
    if not re.fullmatch(rb"[0-9a-f]{64}\n", text):
        raise CorruptError(f"{path} is damaged: run `ccgrep fsck --repair`")
    return ObjectId(bytes.fromhex(text.decode()))


def write_head(directory: str, tmp_dir: str, id: ObjectId) -> None:
    fsio.publish(tmp_dir, os.path.join(directory, "HEAD"), id.hex().encode() + b"\n")
