"""Imports sessions from files that are not below a root: exchange files and data exports of chats.

Nothing of a file with an error is stored. The sessions have no file that a later ingest could read
again, so `ccgrep index --recreate` copies them.
"""

import os
import time
from collections.abc import Callable, Iterator
from io import BufferedReader, RawIOBase
from typing import BinaryIO, cast

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import UsageError
from ccgrep.fulltext.sync import sync
from ccgrep.ingest.merge import Merge
from ccgrep.model import ObjectId, Turn
from ccgrep.refresh.update import build, make_options
from ccgrep.sources.chat_exports import read_chatgpt_export, read_claude_export
from ccgrep.sources.exchange import read_exchange
from ccgrep.sources.json_array import read_array
from ccgrep.sources.reading import SessionReading
from ccgrep.sources.turns import Sink
from ccgrep.store.commit import Commit
from ccgrep.store.gc import collect_garbage
from ccgrep.store.lifecycle import create_store
from ccgrep.text import one_line

_MAX_EXPORT_BYTES = 4 * 1024 * 1024 * 1024
_MAX_LINE_BYTES = 512 * 1024 * 1024
_START_BYTES = 64
_CONVERSATIONS = "conversations"


class ImportReport(Struct):
    """What an import did. Sessions that were forgotten are not stored again."""

    sessions: int = 0
    new_sessions: int = 0
    turns: int = 0
    forgotten: int = 0


def import_file(
    config: Config, path: str, wait_s: float = 10.0, warn: Callable[[str], None] = lambda _: None
) -> ImportReport:
    """Store the sessions of a file."""
    is_new = not os.path.exists(os.path.join(config.store_dir, "FORMAT"))
    store = create_store(config.store_dir)
    if is_new:
        build(store, make_options(config, wait_s), warn=warn)
    report = ImportReport()
    with store.lock(wait_s, warn), open_file(path) as file:
        with Commit(store) as commit:

            def sink(turn: Turn) -> ObjectId:
                return commit.put("turn", turn)

            merge = Merge(commit, store.rows(commit.snapshot), ())
            for reading in read_sessions(file, path, sink):
                if merge.add_imported(reading):
                    report.sessions += 1
                    report.turns += len(reading.entries)
                else:
                    report.forgotten += 1
            report.new_sessions = merge.new_sessions
            commit.commit(
                time.time_ns() // 1_000_000,
                garbage_bytes=commit.snapshot.garbage_bytes + merge.garbage_bytes,
            )
        sync(store)
        if merge.is_forgotten_seen:
            collect_garbage(store)  # Their turns were stored before their end was read.
    return report


def open_file(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"cannot read {one_line(path)}: {error.strerror}") from None


def read_sessions(file: BinaryIO, path: str, sink: Sink) -> Iterator[SessionReading]:
    """Yield the sessions of a file in any of the forms that can be imported."""
    name = one_line(path)
    # A pipe cannot go back to its start.
    reader = file if isinstance(file, BufferedReader) else BufferedReader(cast(RawIOBase, file))
    start = reader.peek(_START_BYTES)
    if start.startswith(b"PK"):
        yield from _read_zip(reader, name, sink)
    elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from _read_export(reader, name, sink, _MAX_EXPORT_BYTES)
    else:
        yield from read_exchange(_read_lines(reader, name), name, sink)


def _read_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(_MAX_LINE_BYTES + 1):
        if len(line) > _MAX_LINE_BYTES:
            raise UsageError(f"{name} has a line of more than 512 MiB: see docs/sources.md")
        yield line


def _read_zip(file: BinaryIO, name: str, sink: Sink) -> Iterator[SessionReading]:
    """Yield the sessions of all files with conversations in a ZIP. Large exports have several."""
    from zipfile import BadZipFile, ZipFile  # noqa: PLC0415 - slow to import
    from zlib import error as ZlibError  # noqa: N812, PLC0415

    left = _MAX_EXPORT_BYTES
    try:
        with ZipFile(file) as archive:
            members = [info for info in archive.infolist() if _has_conversations(info.filename)]
            for info in sorted(members, key=lambda info: info.filename):
                with archive.open(info) as member:
                    yield from _read_export(cast(BinaryIO, member), name, sink, left)
                left -= info.file_size
    except (BadZipFile, EOFError, RuntimeError, OSError, ValueError, ZlibError) as error:
        raise UsageError(f"{name} is damaged ({error}): request the export again") from None
    if not members:
        raise UsageError(f"{name} has no conversations.json: use the data export of a chat")


def _has_conversations(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith(_CONVERSATIONS) and name.endswith(".json")


def _read_export(file: BinaryIO, name: str, sink: Sink, max_bytes: int) -> Iterator[SessionReading]:
    is_export = False
    try:
        for chat in read_array(file, max_bytes):
            if not isinstance(chat, dict):
                continue
            if "chat_messages" in chat:
                is_export = True
                yield from read_claude_export([chat], sink)
            elif "mapping" in chat:
                is_export = True
                yield from read_chatgpt_export([chat], sink)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{name} is not a JSON array ({error}): request the export again"
        ) from None
    if not is_export:
        raise UsageError(
            f"{name} is not an export of claude.ai or ChatGPT: see docs/sources.md for other files"
        )
