"""May this user and this ccgrep use the store? Asked before anything of it is read.

FORMAT   "ccgrep store\\nformat 1\\nfeatures \\n": a number, and words that a reader must know

Imports nothing that a search does not need.
"""

from __future__ import annotations

import os

from ccgrep.errors import FormatError, StoreError
from ccgrep.lazy_re import compile_pattern

FORMAT = 1
FEATURES: frozenset[str] = frozenset()
FORMAT_TEXT = f"ccgrep store\nformat {FORMAT}\nfeatures {' '.join(sorted(FEATURES))}\n"

_ANY_FORMAT = r"ccgrep store\nformat ([1-9]\d*)\nfeatures ?([a-z0-9 -]*)\n"


def check_format(directory: str, is_repair: bool = False) -> None:
    """Refuses a store that this version cannot understand, without touching it."""
    path = os.path.join(directory, "FORMAT")
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(4096)
    if text == FORMAT_TEXT:
        return
    found = compile_pattern(_ANY_FORMAT).fullmatch(text)
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
