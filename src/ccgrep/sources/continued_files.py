"""Finds sessions of Claude Code that continue in another project folder.

A client in another directory may write the next records of a session to a file with the same name
in that directory's project folder. ccgrep reads both files as one, in order of time. A file that
begins before the other ends is not a continuation: usually it is a copy of it.
"""

import os
from collections.abc import Iterable
from itertools import islice
from typing import BinaryIO

import msgspec

from ccgrep.sources.files import open_side_file
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.values import parse_time

_MAX_BYTES = 1024 * 1024
_MAX_LINES = 1000


class _Record(msgspec.Struct, rename="camel"):
    session_id: object = None
    timestamp: object = None


def group_continued(transcripts: Iterable[FoundFile]) -> dict[str, tuple[FoundFile, ...]]:
    """Map the last file of each continued session to the earlier ones, in order of time.

    `transcripts` are those of sessions, not of the agents in them.
    """
    namesakes: dict[tuple[str, str], list[FoundFile]] = {}
    for found in transcripts:
        namesakes.setdefault((found.root, os.path.basename(found.path)), []).append(found)
    chains = (_chain(group) for group in namesakes.values() if len(group) > 1)
    return {last.path: tuple(earlier) for *earlier, last in filter(None, chains) if earlier}


def _chain(group: Iterable[FoundFile]) -> list[FoundFile]:
    """Return the files that continue each other, without those that overlap an earlier one."""
    spans = ((*span, found) for found in group if (span := _read_span(found)))
    chain: list[FoundFile] = []
    end = None
    for first, last, found in sorted(spans, key=lambda span: (span[0], -span[1], span[2].path)):
        if end is None or first > end:
            chain.append(found)
            end = last
    return chain


def _read_span(found: FoundFile) -> tuple[int, int] | None:
    """Return the times of the first and last records of a session, or None without any."""
    session_id = os.path.basename(found.path).removesuffix(".jsonl")
    file = open_side_file(found.path, found.root)
    if file is None:
        return None
    with file:
        lines = islice(iter(lambda: file.readline(_MAX_BYTES), b""), _MAX_LINES)
        first = _find_time(session_id, lines)
        last = _find_time(session_id, reversed(_read_last_lines(file)))
    return None if first is None or last is None else (first, last)


def _read_last_lines(file: BinaryIO) -> list[bytes]:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MAX_BYTES))
    return file.read(_MAX_BYTES).splitlines()


def _find_time(session_id: str, lines: Iterable[bytes]) -> int | None:
    """Return the time of the first record of the session that has one."""
    for line in lines:
        try:
            record = msgspec.json.decode(line, type=_Record)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        time = parse_time(record.timestamp)
        if record.session_id == session_id and time is not None:
            return time
    return None
