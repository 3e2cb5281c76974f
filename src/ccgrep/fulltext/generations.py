"""Which text index is the current one, and is it whole?

    text/<version>-<number>/         a generation: a tantivy directory, changed only by its commits
    text/<version>-<number>/SYNCED   "<snapshot> <level> <newest> <crc32>\\n": what it reflects,
                                     `whole` or `discussion`, and when the newest turn began (ms)
    text/<version>-<number>/KINDS    "thinking,tool\\n", or which of them are indexed
    text/<version>-<number>/CHECKED  "<name> <size> <mtime_ns> <ctime_ns> <inode>\\n" for each file
                                     whose checksum was found right, and for files that have none
                                     "<name> <commit> <crc32>\\n"; and a checksum

All of it is derived and may be deleted. Tantivy does not look at the checksum that its files
end in, and answers wrongly from damaged ones; so each file is checked once, before it is used.
A time of modification can be set back, that of a file's last change by nobody.
"""

from __future__ import annotations

import os
import zlib

from ccgrep.errors import TextIndexError
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.store.checksummed_file import is_damaged, read_checksummed
from ccgrep.store.refs import read_head

if TYPE_CHECKING:
    from ccgrep.fulltext.reader import TextReader
    from ccgrep.kinds import Level

VERSION = "v6"

ALL_KINDS = "thinking,tool"
_KINDS = ("thinking,tool\n", "thinking\n", "tool\n", "\n")
_FOOTER = rb'\{"version":(\{[^}]*\}),"crc":(\d+)\}'
_MAGIC = (1337).to_bytes(4, "little")
_UNCHECKED = frozenset(["meta.json", ".managed.json"])
"""Files without a checksum of their own; CHECKED has it. They are replaced with each commit."""
_HINTS = ("CHECKED", "PIECES")
_PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_BLOCK_BYTES = 1024 * 1024


def _kinds_in(path: str) -> str | None:
    """Kinds of text that are indexed besides what was said; nothing if that cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = file.read(100)
    except OSError:
        return None
    return found.strip() if found in _KINDS else None


def wanted_kinds(store_dir: str) -> str:
    """What is to be indexed: all, unless something else is said."""
    found = _kinds_in(os.path.join(store_dir, "kinds"))
    return ALL_KINDS if found is None else found


def made_kinds(path: str) -> str | None:
    """What a generation was made with."""
    return _kinds_in(os.path.join(path, "KINDS"))


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
            found = _read_synced(path)
        except FileNotFoundError:
            continue
        if found is not None:
            return found
    return None


def _read_synced(path: str) -> Generation | None:
    with open(os.path.join(path, "SYNCED"), encoding="utf-8", errors="replace") as file:
        said, _, crc = file.read(200).rpartition(" ")
    if crc != f"{zlib.crc32(said.encode())}\n":
        return None
    snapshot, name, newest = said.split(" ")
    level: Level = "whole" if name == "whole" else "discussion"
    return Generation(path, snapshot, level, int(newest))


def synced_text(generation: Generation) -> str:
    said = f"{generation.snapshot} {generation.level} {generation.newest}"
    return f"{said} {zlib.crc32(said.encode())}\n"


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
        elif name == "meta.json" and _has_commit(known, stamp):
            # The same commit with another content. Another commit is a writer's that is at work.
            raise TextIndexError(f"{os.path.join(path, name)} is damaged")


def _has_commit(known: set[str], stamp: str) -> bool:
    commit = stamp.rpartition(" ")[0] + " "
    return any(line.startswith(commit) for line in known)


def is_as_left(path: str) -> bool:
    """Whether the last commit is the one that was noted; for the holder of the writer's lock."""
    return file_stamps(path)["meta.json"] in _checked(path)


def _lost(stamps: dict[str, str]) -> set[str]:
    """Segments of which a file is not there; tantivy opens some of them all the same."""
    found = {name.partition(".")[0] for name in stamps if name not in _UNCHECKED}
    return {id for id in found if not all(f"{id}.{part}" in stamps for part in _PARTS)}


def open_reader(path: str) -> TextReader:
    """A reader of a generation that is whole; damage is an error."""
    from ccgrep.fulltext.reader import TextReader  # noqa: PLC0415 - who only checks does without tantivy

    check(path)
    try:
        return TextReader(path)
    except TextIndexError as error:
        if "Permission denied" in str(error) or "Read-only" in str(error):
            return _open_read_only(path)
        raise


def _open_read_only(path: str) -> TextReader:
    """Tantivy wants to write its lock, so it gets a directory of links instead."""
    from ccgrep.fulltext.reader import TextReader  # noqa: PLC0415
    from ccgrep.store.fsio import linked_dir  # noqa: PLC0415 - only for such stores

    names = [name for name in os.listdir(path) if not name.endswith(".lock")]
    try:
        with linked_dir(path, names) as links:
            return TextReader(links)
    except FileNotFoundError as error:
        raise TextIndexError(f"the text index cannot be opened ({error})") from error


def pieces(path: str) -> set[str]:
    """The segments that a generation consists of. Files of others were left by merges that came
    to nothing."""
    return _pieces(_meta(path))


def _pieces(meta: bytes) -> set[str]:
    ids = [value for value in _commit(meta) if value.startswith(b'"')]
    return {id.strip(b'"').replace(b"-", b"").decode("utf-8", "replace") for id in ids}


def _commit(meta: bytes) -> list[bytes]:
    """What tells one commit from another: the segments in meta.json, and numbers of operations."""
    parts = meta.replace(b'"opstamp":', b'"segment_id":').split(b'"segment_id":')[1:]
    return [part.replace(b"}", b",").partition(b",")[0].strip() for part in parts]


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
                stamps[name] = f"{name} {_stamp(entry, meta)}\n"
            except FileNotFoundError:
                continue  # merged meanwhile
    return stamps


def _stamp(entry: os.DirEntry[str], meta: bytes) -> str:
    if entry.name not in _UNCHECKED:
        info = entry.stat()
        return f"{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}"
    data = meta
    if entry.name != "meta.json":
        with open(entry.path, "rb") as file:
            data = file.read()
    return f"{zlib.crc32(b' '.join(_commit(data)))} {zlib.crc32(data)}"


def _checked(path: str) -> set[str]:
    return set(read_checksummed(os.path.join(path, "CHECKED")).decode().splitlines(keepends=True))


def hints_damaged(path: str) -> list[str]:
    """The hints of a generation that are not what was written."""
    return [hint for name in _HINTS if is_damaged(hint := os.path.join(path, name))]


def damaged_files(store_dir: str) -> list[str]:
    """The files that are not what was written, every byte read.

    Of a generation that does not reflect HEAD nothing is said: it is being brought there.
    """
    damaged = [path for path in _notes(store_dir) if not _is_note_right(path)]
    damaged += [hint for path in generation_paths(store_dir) for hint in hints_damaged(path)]
    found = current(store_dir)
    if found is None or found.snapshot != read_head(store_dir):
        return damaged
    known = _checked(found.path)
    try:
        stamps = file_stamps(found.path)
    except TextIndexError:
        return [*damaged, os.path.join(found.path, "meta.json")]
    lost = {line.partition(" ")[0] for line in known} - {*stamps}
    damaged += [os.path.join(found.path, name) for name in sorted(lost)]
    versions: dict[str, bytes] = {}
    for name, stamp in stamps.items():
        path = os.path.join(found.path, name)
        try:
            if name not in _UNCHECKED:
                versions[path] = check_file(path)
            elif stamp not in known:
                damaged.append(path)
        except TextIndexError:
            damaged.append(path)
    return damaged + _unlike(versions)


def _unlike(versions: dict[str, bytes]) -> list[str]:
    """The files that are of another version of tantivy than most. All are made by one, and no
    checksum covers that."""
    all_of_them = [*versions.values()]
    usual = max(all_of_them, key=all_of_them.count, default=b"")
    return [path for path, version in versions.items() if version != usual]


def _notes(store_dir: str) -> list[str]:
    names = [(path, name) for path in generation_paths(store_dir) for name in ("SYNCED", "KINDS")]
    paths = [os.path.join(store_dir, "kinds"), *(os.path.join(*name) for name in names)]
    return [path for path in paths if os.path.exists(path)]


def _is_note_right(path: str) -> bool:
    if os.path.basename(path) == "SYNCED":
        return _read_synced(os.path.dirname(path)) is not None
    return _kinds_in(path) is not None


def check_file(path: str) -> bytes:
    """Compares a file's content with the checksum at its end: body, json, its length, a mark.
    Gives the version of tantivy that it is of."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - 8, 0))
            tail = file.read(8)
            body = size - 8 - int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or body < 0:
                raise TextIndexError(f"{path} is damaged")
            file.seek(body)
            footer = compile_pattern(_FOOTER).fullmatch(file.read(size - 8 - body))
            file.seek(0)
            crc, left = 0, body
            while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
                crc = zlib.crc32(block, crc)
                left -= len(block)
    except FileNotFoundError as error:
        raise TextIndexError(f"{path} is gone") from error
    if footer is None or int(footer[2]) != crc:
        raise TextIndexError(f"{path} is damaged")
    return footer[1]
