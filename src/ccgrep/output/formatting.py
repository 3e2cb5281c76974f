"""Formats times, sizes, counts and project names. Pure."""

from datetime import UTC, datetime, tzinfo

from ccgrep.sources.registry import find_source

STAR = "★"
"""What has a mark."""
_SHORT_UNITS = ((365 * 86400, "y"), (30 * 86400, "mo"), (7 * 86400, "w"), (86400, "d"), (3600, "h"))
_LONG_UNITS = ((365 * 86400, "year"), (30 * 86400, "month"), (7 * 86400, "week"), (86400, "day"),
               (3600, "hour"), (60, "minute"))  # fmt: skip


def agent_name(source: str) -> str:
    """Return the name of an agent in conversations."""
    found = find_source(source or "claude_code")
    return found.speaker or found.title


def short_age(time_ms: int | None, now_ms: int) -> str:
    """Return the age in one unit, such as `3d`."""
    if time_ms is None:
        return "?"
    seconds = max(now_ms - time_ms, 0) // 1000
    for size, unit in _SHORT_UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds // 60}m"


def long_age(time_ms: int, now_ms: int) -> str:
    """Return the age in words, such as `3 days ago`."""
    if not time_ms:
        return "unknown time"
    seconds = max(now_ms - time_ms, 0) // 1000
    for size, unit in _LONG_UNITS:
        if seconds >= size:
            return f"{pluralize(seconds // size, unit)} ago"
    return "just now"


def local_time(time_ms: int | None) -> str:
    time = _to_datetime(time_ms)
    return time.strftime("%Y-%m-%d %H:%M") if time is not None else "unknown time"


def iso_time(time_ms: int | None) -> str | None:
    """Return the time in UTC as ISO 8601, or None if it is unknown or out of range."""
    time = _to_datetime(time_ms, UTC)
    if time is None:
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _to_datetime(time_ms: int | None, zone: tzinfo | None = None) -> datetime | None:
    try:
        return datetime.fromtimestamp(time_ms / 1000, zone) if time_ms is not None else None
    except (OverflowError, ValueError, OSError):
        return None


def byte_size(number: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def format_usd(cost: int, decimals: int = 2) -> str:
    """Return trillionths of a dollar as dollars, rounded half up."""
    unit = 10 ** (12 - decimals)
    whole, rest = divmod((abs(cost) + unit // 2) // unit, 10**decimals)
    return f"{'-' if cost < 0 and (whole or rest) else ''}{whole}.{rest:0{decimals}d}"


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun: `1 turn`, `2 turns`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
