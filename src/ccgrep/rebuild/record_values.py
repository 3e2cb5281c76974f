"""Values that both writers of transcripts need: ids, times and JSON lines.

Ids follow from the session and the position, so rebuilding twice gives the same bytes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ccgrep.hashing import sha256
from ccgrep.model import Entry, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
