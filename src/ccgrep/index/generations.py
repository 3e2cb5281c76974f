"""Which text index is the current one, and is it whole?

    text/<version>-<number>/         a generation: a tantivy directory, changed only by its commits
    text/<version>-<number>/SYNCED   "<snapshot> <level> <newest>\\n": what it reflects, `whole`
                                     or `discussion`, and when the newest turn began (ms)
    text/<version>-<number>/KINDS    "thinking,tool\\n", or which of them are indexed
    text/<version>-<number>/CHECKED  "<name> <size> <mtime_ns> <inode>\\n" for each file whose
                                     checksum was found right; with a crc32 where there is none

All of it is derived and may be deleted. Tantivy does not look at the checksum that its files
end in, and answers wrongly from damaged ones; so each file is checked once, before it is used.
"""

from __future__ import annotations

import os
import re
import zlib

from ccgrep.errors import TextIndexError
from ccgrep.index.text import TextReader
from ccgrep.named import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ccgrep.kinds import Level

VERSION = "v2"

_ALL_KINDS = "thinking,tool"
_FOOTER = rb'"crc":(\d+)'
_SEGMENT = re.compile(rb'"segment_id": ?"([0-9a-f-]+)"')
_MAGIC = (1337).to_bytes(4, "little")
_UNCHECKED = frozenset(["meta.json", ".managed.json"])
"""Files without a checksum of their own; CHECKED has it."""
_PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_BLOCK_BYTES = 1024 * 1024


def kinds_in(path: str) -> str:
    """Which kinds of text are indexed besides what was said: those that `path` names, else all."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100).strip()
    except OSError:
        return _ALL_KINDS


def wanted_kinds(store_dir: str) -> str:
    """What is to be indexed."""
    return kinds_in(os.path.join(store_dir, "kinds"))


def made_kinds(path: str) -> str:
    """What a generation was made with."""
    return kinds_in(os.path.join(path, "KINDS"))


class Generation(NamedTuple):
    path: str
    snapshot: str
    level: Level
    newest: int


def text_dir(store_dir: str) -> str:
    return os.path.join(store_dir, "text")


def all_paths(store_dir: str) -> list[str]:
    """The directories of all versions, the newest first."""
    try:
        names = os.listdir(text_dir(store_dir))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(text_dir(store_dir), name) for name in sorted(names, reverse=True)]


def generation_paths(store_dir: str) -> list[str]:
    """Those of this version."""
    prefix = os.path.join(text_dir(store_dir), VERSION + "-")
    return [path for path in all_paths(store_dir) if path.startswith(prefix)]


def current(store_dir: str) -> Generation | None:
    """The newest generation that was finished."""
    for path in generation_paths(store_dir):
        try:
            with open(os.path.join(path, "SYNCED"), encoding="utf-8", errors="replace") as file:
                found = _generation(path, file.read(200))
        except FileNotFoundError:
            continue
        if found:
            return found
    return None


def _generation(path: str, synced: str) -> Generation | None:
    """What SYNCED says, if it is whole. By hand: a pattern takes longer to compile."""
    snapshot, _, rest = synced.partition(" ")
    name, _, newest = rest.partition(" ")
    is_id = len(snapshot) == 64 and not snapshot.strip("0123456789abcdef")
    is_time = newest.endswith("\n") and newest[:-1].isdecimal()
    if not is_id or not is_time or name not in ("whole", "discussion"):
        return None
    level: Level = "whole" if name == "whole" else "discussion"
    return Generation(path, snapshot, level, int(newest))


def synced_text(generation: Generation) -> str:
    return f"{generation.snapshot} {generation.level} {generation.newest}\n"


def check(path: str) -> None:
    """Makes sure that a generation is whole, as far as it was not checked before."""
    known = _checked(path)
    stamps = file_stamps(path)
    lost = _lost(stamps)
    if lost and lost & pieces(path):  # Else it was merged meanwhile.
        raise TextIndexError(f"{path} is not whole")
    for name, stamp in stamps.items():
        if stamp in known:
            continue
        if name not in _UNCHECKED:
            check_file(os.path.join(path, name))
        elif any(line.startswith(stamp.rpartition(" ")[0] + " ") for line in known):
            raise TextIndexError(f"{os.path.join(path, name)} is damaged")


def _lost(stamps: dict[str, str]) -> set[str]:
    """Segments of which a file is not there; tantivy opens some of them all the same."""
    found = {name.partition(".")[0] for name in stamps if name not in _UNCHECKED}
    return {id for id in found if not all(f"{id}.{part}" in stamps for part in _PARTS)}


def open_reader(path: str) -> TextReader:
    """A reader of a generation that is whole; damage is an error."""
    check(path)
    try:
        return TextReader(path)
    except TextIndexError as error:
        if "Permission denied" in str(error) or "Read-only" in str(error):
            return _open_read_only(path)
        raise


def _open_read_only(path: str) -> TextReader:
    """Tantivy wants to write its lock, so it gets a directory of links instead."""
    from ccgrep.store.fsio import links_to  # noqa: PLC0415 - only for such stores

    names = [name for name in os.listdir(path) if not name.endswith(".lock")]
    with links_to(path, names) as links:
        return TextReader(links)


def pieces(path: str) -> set[str]:
    """The segments that a generation consists of. Files of others were left by merges that came
    to nothing."""
    return _pieces(_meta(path))


def _pieces(meta: bytes) -> set[str]:
    return {id.replace(b"-", b"").decode() for id in _SEGMENT.findall(meta)}


def _meta(path: str) -> bytes:
    try:
        with open(os.path.join(path, "meta.json"), "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise TextIndexError("the text index is gone") from error


def file_stamps(path: str) -> dict[str, str]:
    """The files of tantivy, and what CHECKED says of each when it is right."""
    stamps = {}
    meta = _meta(path)
    own = _pieces(meta)
    with os.scandir(path) as listing:
        for entry in listing:
            name = entry.name
            if name not in _UNCHECKED and name.partition(".")[0] not in own:
                continue
            try:
                info = entry.stat()
                crc = f" {_crc(entry.path, meta)}" if name in _UNCHECKED else ""
            except FileNotFoundError:
                continue  # merged meanwhile
            stamps[name] = f"{name} {info.st_size} {info.st_mtime_ns} {info.st_ino}{crc}\n"
    return stamps


def _crc(path: str, meta: bytes) -> int:
    if path.endswith("/meta.json"):
        return zlib.crc32(meta)
    with open(path, "rb") as file:
        return zlib.crc32(file.read())


def _checked(path: str) -> set[str]:
    try:
        with open(os.path.join(path, "CHECKED"), encoding="utf-8", errors="replace") as file:
            return set(file)
    except FileNotFoundError:
        return set()


def damaged_files(store_dir: str) -> list[str]:
    """The files of the current generation that are not what was written, every byte read."""
    found = current(store_dir)
    if found is None:
        return []
    known = _checked(found.path)
    damaged = []
    for name, stamp in file_stamps(found.path).items():
        path = os.path.join(found.path, name)
        try:
            if name not in _UNCHECKED:
                check_file(path)
            elif stamp not in known:
                damaged.append(path)
        except TextIndexError:
            damaged.append(path)
    return damaged


def check_file(path: str) -> None:
    """Compares a file's content with the checksum at its end: body, json, its length, a mark."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - 8, 0))
            tail = file.read(8)
            body = size - 8 - int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or body < 0:
                raise TextIndexError(f"{path} is damaged")
            file.seek(body)
            footer = re.search(_FOOTER, file.read(size - 8 - body))
            file.seek(0)
            crc, left = 0, body
            while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
                crc = zlib.crc32(block, crc)
                left -= len(block)
    except FileNotFoundError as error:
        raise TextIndexError(f"{path} is gone") from error
    if footer is None or int(footer[1]) != crc:
        raise TextIndexError(f"{path} is damaged")
