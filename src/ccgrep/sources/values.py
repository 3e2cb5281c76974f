"""Converts untrusted JSON values that both readers need: times, UUIDs, counts."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ccgrep.hashing import sha256

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_VALUES = 32
_MAX_VALUE_CHARS = 100
_MAX_TYPES = 100
_MAX_TYPE_CHARS = 64


def parse_time(value: Any) -> int | None:
    """Return milliseconds since 1970, from an ISO time or a number of seconds or milliseconds."""
    if isinstance(value, str):
        return _parse_iso_time(value)
    if isinstance(value, int | float) and 0 <= value < 1e14:
        return int(value if value >= 1e11 else value * 1000)
    return None


def _parse_iso_time(value: str) -> int | None:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    delta = time - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def uuid_bytes(value: Any) -> bytes:
    """Return a record's UUID as 16 bytes, hashed if it is malformed, empty if there is none."""
    if not isinstance(value, str) or not value:
        return b""
    try:
        raw = bytes.fromhex(value.replace("-", ""))
    except ValueError:
        raw = b""
    return raw if len(raw) == 16 else sha256(value.encode()).digest()[:16]


def as_string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """Return a number of tokens, or None if `value` is not a plausible one."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**53 else None


@lru_cache(maxsize=64)  # consecutive lines often belong to one message
def usage_key(*parts: Any) -> bytes:
    """Return the 8 bytes that identify an API message, so that its tokens are counted once."""
    return sha256("\0".join(map(str, parts)).encode()).digest()[:8]


def append_unique(known: tuple[str, ...], value: Any) -> tuple[str, ...]:
    """Return `known` with `value` appended, unless it is present or the tuple is full."""
    if not isinstance(value, str) or not value or value in known or len(known) >= _MAX_VALUES:
        return known
    return (*known, value[:_MAX_VALUE_CHARS])


def count_type(counts: dict[str, int], record_type: Any) -> dict[str, int]:
    """Return `counts` with one more unknown record type, for a limited number of types."""
    name = record_type[:_MAX_TYPE_CHARS] if isinstance(record_type, str) else "(none)"
    if name not in counts and len(counts) >= _MAX_TYPES:
        return counts
    return {**counts, name: counts.get(name, 0) + 1}


def sum_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values, or None if all are unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
