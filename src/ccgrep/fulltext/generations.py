"""Find the current generation of the full-text index, and open it.

    text/<version>-<number>/         a generation: a Tantivy directory that only commits change
    text/<version>-<number>/SYNCED   "<snapshot> <level> <newest> <crc32>\\n": the snapshot that it
                                     reflects, `whole` or `discussion`, and when the newest turn
                                     started (ms)
    text/<version>-<number>/KINDS    "thinking,tool\\n", or which of them are indexed
    text/<version>-<number>/CHECKED  the files that were verified: see `verification`

All of it is derived from the store and may be deleted.
"""

from __future__ import annotations

import os
import zlib

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.verification import check, damaged_hints, damaged_index_files
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.store.refs import read_head

if TYPE_CHECKING:
    from ccgrep.fulltext.reader import TextReader
    from ccgrep.kinds import Level

VERSION = "v8"

ALL_KINDS = "thinking,tool"
_KINDS = ("thinking,tool\n", "thinking\n", "tool\n", "\n")


def _read_kinds(path: str) -> str | None:
    """Return the text kinds to index besides the discussion, or None if `path` is unreadable."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            kinds = file.read(100)
    except OSError:
        return None
    return kinds.strip() if kinds in _KINDS else None


def configured_kinds(store_dir: str) -> str:
    """Return the text kinds that the store's index should have: all, unless configured."""
    kinds = _read_kinds(os.path.join(store_dir, "kinds"))
    return ALL_KINDS if kinds is None else kinds


def indexed_kinds(path: str) -> str | None:
    """Return the text kinds that a generation has."""
    return _read_kinds(os.path.join(path, "KINDS"))


class Generation(NamedTuple):
    path: str
    snapshot: str
    level: Level
    newest: int


def text_dir(store_dir: str) -> str:
    return os.path.join(store_dir, "text")


def all_paths(store_dir: str) -> list[str]:
    """Return the directories of all versions, the newest first."""
    try:
        names = os.listdir(text_dir(store_dir))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(text_dir(store_dir), name) for name in sorted(names, reverse=True)]


def generation_paths(store_dir: str) -> list[str]:
    """Return the directories of this version, the newest first."""
    prefix = os.path.join(text_dir(store_dir), VERSION + "-")
    return [path for path in all_paths(store_dir) if path.startswith(prefix)]


def current(store_dir: str) -> Generation | None:
    """Return the newest finished generation."""
    for path in generation_paths(store_dir):
        try:
            generation = _read_synced(path)
        except FileNotFoundError:
            continue
        if generation is not None:
            return generation
    return None


def _read_synced(path: str) -> Generation | None:
    with open(os.path.join(path, "SYNCED"), encoding="utf-8", errors="replace") as file:
        text, _, crc = file.read(200).rpartition(" ")
    if crc != f"{zlib.crc32(text.encode())}\n":
        return None
    snapshot, name, newest = text.split(" ")
    level: Level = "whole" if name == "whole" else "discussion"
    return Generation(path, snapshot, level, int(newest))


def encode_synced(generation: Generation) -> bytes:
    text = f"{generation.snapshot} {generation.level} {generation.newest}"
    return f"{text} {zlib.crc32(text.encode())}\n".encode()


def open_reader(path: str) -> TextReader:
    """Open a generation. Raises TextIndexError if it is damaged."""
    from ccgrep.fulltext.reader import TextReader  # noqa: PLC0415 - Tantivy

    check(path)
    try:
        return TextReader(path)
    except TextIndexError as error:
        if "Permission denied" not in str(error) and "Read-only" not in str(error):
            raise
    from ccgrep.store.fsio import linked_dir  # noqa: PLC0415 - only for read-only stores

    # Tantivy writes a lock, which it can do in a directory of links.
    names = [name for name in os.listdir(path) if not name.endswith(".lock")]
    try:
        with linked_dir(path, names) as links:
            return TextReader(links)
    except FileNotFoundError as error:
        raise TextIndexError(f"cannot open the full-text index ({error})") from error


def damaged_files(store_dir: str) -> list[str]:
    """Read every byte of the full-text index, and return the paths of damaged files.

    A generation that does not reflect HEAD is ignored: the next sync changes it.
    """
    paths = [os.path.join(store_dir, "kinds")]
    for path in generation_paths(store_dir):
        paths += [os.path.join(path, name) for name in ("SYNCED", "KINDS")]
    damaged = [path for path in paths if os.path.exists(path) and not _is_readable(path)]
    damaged += [hint for path in generation_paths(store_dir) for hint in damaged_hints(path)]
    found = current(store_dir)
    if found is not None and found.snapshot == read_head(store_dir):
        damaged += damaged_index_files(found.path)
    return damaged


def _is_readable(path: str) -> bool:
    if os.path.basename(path) == "SYNCED":
        return _read_synced(os.path.dirname(path)) is not None
    return _read_kinds(path) is not None
