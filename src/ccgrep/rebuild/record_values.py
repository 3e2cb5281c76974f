"""Values that both writers of transcripts need: ids, times, images and JSON lines.

Ids follow from the session and the position, so rebuilding twice gives the same bytes.
"""

from binascii import b2a_base64
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from ccgrep.errors import StoreError
from ccgrep.hashing import sha256
from ccgrep.model import Blob, Entry, ObjectId, Session
from ccgrep.rebuild.form import describe_blob
from ccgrep.store.store import Store

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ReadBlob = Callable[[Blob], bytes | None]

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MAX_BYTES = 3_750_000
"""Anthropic accepts 5 MB of base64. A larger image would make every request fail."""


class Media(NamedTuple):
    """A payload as the clients send it."""

    type: str
    base64: str


def make_uuid(*parts: object) -> str:
    """Return a UUID that follows from `parts`."""
    digits = sha256("\0".join(map(str, parts)).encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    groups = (digits[:8], digits[8:12], f"4{digits[13:16]}", variant + digits[17:20])
    return "-".join((*groups, digits[20:32]))


def make_id(prefix: str, *parts: object) -> str:
    """Return an id like those of messages and calls."""
    return prefix + sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]


def format_time(time_ms: int) -> str:
    """Return milliseconds since 1970 as both clients write a time."""
    time = _EPOCH + timedelta(milliseconds=time_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def turn_times(session: Session, entry: Entry) -> tuple[int, int]:
    """Return when a turn began and ended, or the session's start if that is unknown."""
    started = entry.started if entry.started is not None else session.started or 0
    return started, max(started, entry.ended or 0)


def join_lines(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def make_blob_reader(store: Store) -> ReadBlob:
    """Return a function that reads a stored blob, and returns None for others."""

    def read(blob: Blob) -> bytes | None:
        try:
            return store.read(ObjectId(bytes.fromhex(blob.sha256)))
        except (StoreError, ValueError):
            return None

    return read


def read_media(
    blobs: Sequence[Blob], types: Collection[str], read: ReadBlob
) -> tuple[list[Media], str]:
    """Return the blobs of some types, and a text with a line for each other one."""
    media, lines = [], []
    for blob in blobs:
        is_accepted = blob.media_type in types and blob.size <= _MAX_BYTES
        if is_accepted and (content := read(blob)):
            media.append(Media(blob.media_type, b2a_base64(content, newline=False).decode()))
        else:
            lines.append(describe_blob(blob))
    return media, "\n".join(lines)
