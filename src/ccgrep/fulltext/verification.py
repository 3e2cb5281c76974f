"""Verify the files of one generation before they are used.

    <generation>/CHECKED   "<name> <size> <mtime_ns> <ctime_ns> <inode>\\n" for each file whose
                           checksum was verified, "<name> <commit> <crc32>\\n" for files without
                           one of their own, and a checksum

Tantivy ignores the checksum at the end of its files and returns wrong hits from damaged ones. So
each file is verified once. Its mtime can be set back, but its ctime cannot.
"""

from __future__ import annotations

import os
import zlib

from ccgrep.errors import TextIndexError
from ccgrep.lazy_re import compile_pattern
from ccgrep.store.checksummed_file import is_damaged, read_checksummed

_FOOTER = rb'\{"version":(\{[^}]*\}),"crc":(\d+)\}'
_MAGIC = (1337).to_bytes(4, "little")
_UNCHECKED = frozenset(["meta.json", ".managed.json"])
"""Files without a checksum of their own. Each commit replaces them."""
_HINTS = ("CHECKED", "PIECES")
_SEGMENT_FILES = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_BLOCK_BYTES = 1024 * 1024


def check(path: str) -> None:
    """Raise TextIndexError if a file of a generation is damaged. Verified files are not read."""
    verified = _read_checked(path)
    stamps = file_stamps(path)
    incomplete = _incomplete_segments(stamps)
    if incomplete and incomplete & _segment_ids(_read_meta(path)):  # Else a merge removed it.
        raise TextIndexError(f"the full-text index is damaged (files in {path} are missing)")
    for name, stamp in stamps.items():
        if stamp in verified:
            continue
        if name not in _UNCHECKED:
            check_file(os.path.join(path, name))
        elif name == "meta.json":
            # The same commit with other bytes. Another commit means that a process is writing.
            commit = stamp.rpartition(" ")[0] + " "
            if any(line.startswith(commit) for line in verified):
                raise _damage_error(os.path.join(path, name))


def is_last_commit_checked(path: str) -> bool:
    """Return whether CHECKED describes the last commit. Call it under the writer lock."""
    return file_stamps(path)["meta.json"] in _read_checked(path)


def _incomplete_segments(stamps: dict[str, str]) -> set[str]:
    """Return segments that lack a file. Tantivy opens some of them nevertheless."""
    ids = {name.partition(".")[0] for name in stamps if name not in _UNCHECKED}
    return {id for id in ids if not all(f"{id}.{part}" in stamps for part in _SEGMENT_FILES)}


def _segment_ids(meta: bytes) -> set[str]:
    """Return the segments in meta.json. Files of other segments are left from aborted merges."""
    ids = [value for value in _commit(meta) if value.startswith(b'"')]
    return {id.strip(b'"').replace(b"-", b"").decode("utf-8", "replace") for id in ids}


def _commit(meta: bytes) -> list[bytes]:
    """Return what identifies a commit: the segments and operation numbers in meta.json."""
    parts = meta.replace(b'"opstamp":', b'"segment_id":').split(b'"segment_id":')[1:]
    return [part.replace(b"}", b",").partition(b",")[0].strip() for part in parts]


def _read_meta(path: str) -> bytes:
    try:
        with open(os.path.join(path, "meta.json"), "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise TextIndexError("the full-text index was removed") from error


def file_stamps(path: str) -> dict[str, str]:
    """Return the line of CHECKED for each of Tantivy's files, as if it were intact."""
    stamps = {}
    meta = _read_meta(path)
    segments = _segment_ids(meta)
    with os.scandir(path) as listing:
        for entry in listing:
            name = entry.name
            if name not in _UNCHECKED and name.partition(".")[0] not in segments:
                continue
            try:
                stamps[name] = f"{name} {_stamp(entry, meta)}\n"
            except FileNotFoundError:
                continue  # a merge removed it
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


def _read_checked(path: str) -> set[str]:
    return set(read_checksummed(os.path.join(path, "CHECKED")).decode().splitlines(keepends=True))


def damaged_hints(path: str) -> list[str]:
    return [hint for name in _HINTS if is_damaged(hint := os.path.join(path, name))]


def damaged_index_files(path: str) -> list[str]:
    """Read every byte of Tantivy's files, and return the paths of damaged and missing ones."""
    verified = _read_checked(path)
    try:
        stamps = file_stamps(path)
    except TextIndexError:
        return [os.path.join(path, "meta.json")]
    missing = {line.partition(" ")[0] for line in verified} - {*stamps}
    damaged = [os.path.join(path, name) for name in sorted(missing)]
    versions: dict[str, bytes] = {}
    for name, stamp in stamps.items():
        file = os.path.join(path, name)
        try:
            if name not in _UNCHECKED:
                versions[file] = check_file(file)
            elif stamp not in verified:
                damaged.append(file)
        except TextIndexError:
            damaged.append(file)
    return damaged + _odd_versions(versions)


def _odd_versions(versions: dict[str, bytes]) -> list[str]:
    """Return files with another Tantivy version than most. No checksum covers the version."""
    found = [*versions.values()]
    usual = max(found, key=found.count, default=b"")
    return [path for path, version in versions.items() if version != usual]


def check_file(path: str) -> bytes:
    """Verify a file's checksum, and return the Tantivy version that wrote it.

    A file is its body, a JSON footer, the footer's length and a magic number.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - 8, 0))
            tail = file.read(8)
            body = size - 8 - int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or body < 0:
                raise _damage_error(path)
            file.seek(body)
            footer = compile_pattern(_FOOTER).fullmatch(file.read(size - 8 - body))
            file.seek(0)
            crc, left = 0, body
            while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
                crc = zlib.crc32(block, crc)
                left -= len(block)
    except FileNotFoundError as error:
        raise TextIndexError(f"the full-text index is damaged ({path} is missing)") from error
    if footer is None or int(footer[2]) != crc:
        raise _damage_error(path)
    return footer[1]


def _damage_error(path: str) -> TextIndexError:
    return TextIndexError(f"the full-text index is damaged ({path})")
