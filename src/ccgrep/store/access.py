"""Checks before a store is read: it belongs to this user, and this ccgrep knows its format.

FORMAT   "ccgrep store\\nformat 1\\nfeatures \\n": a number, and features that a reader must support

Every search imports this module, so it imports nothing heavy.
"""

from __future__ import annotations

import os
from stat import S_ISDIR

from ccgrep.errors import FormatError, StoreError
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

FORMAT = 1
USUAL_FEATURES = ("documents", "originals")
FEATURES = frozenset([*USUAL_FEATURES, "marks", "sources"])

_ANY_FORMAT = r"ccgrep store\nformat ([1-9]\d*)\nfeatures ?([a-z0-9 -]*)\n"


def format_text(features: Collection[str] = ()) -> str:
    """Return what FORMAT holds in a store with these features."""
    return f"ccgrep store\nformat {FORMAT}\nfeatures {' '.join(sorted(features))}\n"


def check_format(directory: str, is_repair: bool = False) -> None:
    """Raise FormatError for a store that this version cannot read. A repair ignores damage."""
    path = os.path.join(directory, "FORMAT")
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(4096)
    named = text.rpartition("features ")[2].split()
    if FEATURES.issuperset(named) and text == format_text(named):
        return
    match = compile_pattern(_ANY_FORMAT).fullmatch(text)
    if match is None:
        if is_repair:
            return
        raise FormatError(f"{path} is damaged: run `ccgrep fsck --repair`")
    number, features = int(match.group(1)), set(match.group(2).split())
    if number > FORMAT or features - FEATURES:
        raise FormatError(
            f"the store is from a newer ccgrep (format {number}, this one reads {FORMAT}): "
            "upgrade, or run `ccgrep index --recreate`"
        )


def check_owner(directory: str) -> None:
    """Raise StoreError if the store is no directory, or if another user owns it.

    That user could change it at any time. What root writes there, its owner could not delete.
    """
    status = os.stat(directory)
    if not S_ISDIR(status.st_mode):
        raise StoreError(f"{directory} is not a directory: set CCGREP_DIR to one")
    if status.st_uid not in (os.geteuid(), 0):
        raise StoreError(
            f"{directory} belongs to another user (uid {status.st_uid}): "
            "set CCGREP_DIR to a directory of your own"
        )


def check_usable(directory: str) -> None:
    """Check owner and format, if the store exists."""
    try:
        check_owner(directory)
        check_format(directory)
    except FileNotFoundError:
        return
