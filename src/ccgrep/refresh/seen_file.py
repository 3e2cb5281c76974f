"""The seen file: what the last ingest saw of each transcript.

    seen    "ccgrep seen 6 <HEAD>", "root <path>" for each root, "exclude <pattern>" for each
            excluded pattern; an empty line,
            "<mtime_ns> <path>" for each folder (-1: it did not exist); an empty line,
            "<path>" for each transcript; an empty line,
            mtime_ns, ctime_ns, size and inode of each transcript, 8 bytes each in native byte
            order; a checksum

A time within two seconds of the scan is written as `?` (folders) or as all ones (transcripts):
such a file can change again without a new mtime, so it counts as changed. Files with titles are
listed like transcripts. `history.jsonl` and databases are not: every prompt changes them, and an
ingest that reads anything new reads them too. The file is a hint:
if it is lost or damaged, the next command scans the roots. Change detection skips the checksum,
because every field is compared with the disk anyway.
"""

from __future__ import annotations

import os
import sys

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.sources.registry import LISTED_KINDS, is_racy
from ccgrep.store.refs import read_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccgrep.sources.scan import FoundFile, Scan

_VERSION = "ccgrep seen 6"
_NAME = "seen"
_STAT_BYTES = 32
_UNSETTLED = 2**64 - 1  # no file has this mtime


class SeenFile(NamedTuple):
    """The parsed seen file; large parts stay views of its bytes."""

    head: bytes
    locations: bytes
    folders: bytes
    paths: list[bytes]
    stats: memoryview  # mtime_ns, ctime_ns, size and inode of each path


def describe_locations(roots: Sequence[str], exclude: Sequence[str] = ()) -> bytes:
    """Return the lines that name the roots and the excluded patterns."""
    lines = [f"root {path}" for path in roots] + [f"exclude {pattern!r}" for pattern in exclude]
    return os.fsencode("\n".join(lines))


def read_seen(store_dir: str) -> SeenFile | None:
    """Return the seen file if it is whole and describes HEAD, else None."""
    try:
        with open(os.path.join(store_dir, _NAME), "rb") as file:
            seen = parse_seen(file.read())
    except (OSError, ValueError):
        return None
    return seen if seen.head == _head_line(read_head(store_dir)) else None


def parse_seen(data: bytes) -> SeenFile:
    """Parse a seen file; raise ValueError if it is malformed or truncated."""
    start, folders, names, rest = data.split(b"\n\n", 3)
    head, _, locations = start.partition(b"\n")
    paths = names.split(b"\n") if names else []
    stats = memoryview(rest)[: len(paths) * _STAT_BYTES]
    if len(stats) < len(paths) * _STAT_BYTES:
        raise ValueError("the seen file is truncated")
    return SeenFile(head, locations, folders, paths, stats.cast("Q"))


def describe_scan(head: str, locations: bytes, scan: Scan, scanned_ns: int) -> bytes | None:
    """Return the seen file after an ingest of everything in `scan`.

    Return None if the scan met errors or a path contains a newline: then nothing is known for sure.
    """
    if scan.errors or any("\n" in path for path in (*scan.files, *scan.folders)):
        return None
    files = [file for file in scan.files.values() if file.kind in LISTED_KINDS]
    folders = [
        f"{'?' if is_racy(time, scanned_ns) else time} {path}"
        for path, time in scan.folders.items()
    ]
    return _encode(
        _head_line(head) + b"\n" + locations,
        os.fsencode("\n".join(folders)),
        [os.fsencode(file.path) for file in files],
        b"".join(_encode_stat(file, scanned_ns) for file in files),
    )


def update_seen(store_dir: str, head: str, scan: Scan, scanned_ns: int) -> bytes | None:
    """Return the seen file with new stats for the files of `scan`.

    Return None if it is damaged or does not list one of the files.
    """
    from ccgrep.store.checksummed_file import read_checksummed  # noqa: PLC0415 - only to write

    try:
        seen = parse_seen(read_checksummed(os.path.join(store_dir, _NAME)))
        stats = bytearray(seen.stats)
        for path, file in scan.files.items():
            at = seen.paths.index(os.fsencode(path)) * _STAT_BYTES
            stats[at : at + _STAT_BYTES] = _encode_stat(file, scanned_ns)
    except ValueError:
        return None
    return _encode(_head_line(head) + b"\n" + seen.locations, seen.folders, seen.paths, stats)


def _head_line(head: str) -> bytes:
    return f"{_VERSION} {head}".encode()


def _encode(start: bytes, folders: bytes, paths: list[bytes], stats: bytes | bytearray) -> bytes:
    from ccgrep.store.checksummed_file import add_checksum  # noqa: PLC0415 - only to write

    return add_checksum(b"\n\n".join((start, folders, b"\n".join(paths), stats)))


def _encode_stat(file: FoundFile, scanned_ns: int) -> bytes:
    is_settled = min(file.mtime_ns, file.ctime_ns) >= 0 and not is_racy(file.mtime_ns, scanned_ns)
    times = (file.mtime_ns, file.ctime_ns) if is_settled else (_UNSETTLED, _UNSETTLED)
    numbers = (*times, file.size, file.inode)
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)
