"""Small conversions of untrusted values that both readers need: times, uuids, counts."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ccgrep.hashing import sha256

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(value: Any) -> int | None:
    """Milliseconds since 1970 of an ISO time, or of a number of seconds or milliseconds."""
    if isinstance(value, str):
        return _iso_time(value)
    if isinstance(value, int | float) and 0 <= value < 1e14:
        return int(value if value >= 1e11 else value * 1000)
    return None


def _iso_time(value: str) -> int | None:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    delta = time - _EPOCH
    milliseconds: int = (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000
    return milliseconds


def uuid_bytes(value: Any) -> bytes:
    """16 bytes for a record's uuid, or for whatever stands in its place; empty for none."""
    if not isinstance(value, str) or not value:
        return b""
    try:
        raw = bytes.fromhex(value.replace("-", ""))
    except ValueError:
        raw = b""
    return raw if len(raw) == 16 else sha256(value.encode()).digest()[:16]


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A number of tokens; `None` for what is none."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**53 else None


@lru_cache(maxsize=64)  # the lines of a message follow each other
def usage_key(*parts: Any) -> bytes:
    """The 8 bytes under which an API message's tokens are counted once."""
    return sha256("\0".join(map(str, parts)).encode()).digest()[:8]


def added(known: tuple[str, ...], value: Any, most: int = 32) -> tuple[str, ...]:
    """`known` with `value` at its end, unless it is there or the tuple is full."""
    if not isinstance(value, str) or not value or value in known or len(known) >= most:
        return known
    return (*known, value[:100])


def one_more(counts: dict[str, int], kind: Any) -> dict[str, int]:
    """`counts` with an unknown record type counted, up to a hundred different ones."""
    name = kind[:64] if isinstance(kind, str) else "(none)"
    if name not in counts and len(counts) >= 100:
        return counts
    return {**counts, name: counts.get(name, 0) + 1}


def summed(*values: int | None) -> int | None:
    """The sum of what is known; `None` when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
