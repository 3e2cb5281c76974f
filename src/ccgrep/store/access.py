"""May this user and this ccgrep use the store, and is a note in it what was written?

FORMAT   "ccgrep store\\nformat 1\\nfeatures \\n": a number, and words that a reader must know

A hint, which may be lost or wrong, ends in "crc32 <8 hex digits>\\n", so that `fsck` finds damage.
Imports nothing that a search does not need.
"""

from __future__ import annotations

import os
import re
import zlib

from ccgrep.errors import FormatError, StoreError

FORMAT = 1
FEATURES: frozenset[str] = frozenset()
FORMAT_TEXT = f"ccgrep store\nformat {FORMAT}\nfeatures {' '.join(sorted(FEATURES))}\n"

_ANY_FORMAT = r"ccgrep store\nformat ([1-9]\d*)\nfeatures ?([a-z0-9 -]*)\n"


def sealed(note: bytes) -> bytes:
    """A note with its checksum behind it."""
    return b"%bcrc32 %08x\n" % (note, zlib.crc32(note))


def unsealed(data: bytes) -> bytes | None:
    """The note without its checksum; nothing if it is damaged, or of an earlier version."""
    note = data[:-15]
    return note if data == sealed(note) else None


def read_note(path: str) -> bytes:
    """What a note says; nothing if it is damaged or not there."""
    try:
        with open(path, "rb") as file:
            return unsealed(file.read()) or b""
    except OSError:
        return b""


def is_damaged(path: str) -> bool:
    """Whether a note is there, and is not what was written."""
    try:
        with open(path, "rb") as file:
            return unsealed(file.read()) is None
    except FileNotFoundError:
        return False


def check_format(directory: str, is_repair: bool = False) -> None:
    """Refuses a store that this version cannot understand, without touching it."""
    path = os.path.join(directory, "FORMAT")
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(4096)
    if text == FORMAT_TEXT:
        return
    found = re.fullmatch(_ANY_FORMAT, text)
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


def check_owner(directory: str) -> None:
    """Refuses a store that another user made, and could change under our hands."""
    owner = os.stat(directory).st_uid
    if owner not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise StoreError(
            f"{directory} belongs to another user (uid {owner}): "
            "set CCGREP_DIR to a directory of your own"
        )


def check_usable(directory: str) -> None:
    """Both, of a store that may not be there yet."""
    try:
        check_owner(directory)
        check_format(directory)
    except FileNotFoundError:
        return
