"""Parse the times that users type: `7d`, `yesterday`, `2026-01-15T10:30`."""

import re
from datetime import date, datetime, time, timedelta

from ccgrep.errors import UsageError
from ccgrep.text import one_line

_AGO = re.compile(r"(\d{1,6})(mo|[mhdwy])")
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "mo": 30 * 86400, "y": 365 * 86400}


def parse_when(text: str, now_ms: int, is_end: bool = False) -> int:
    """Return milliseconds since 1970. Times are local unless the text names a zone.

    A day is the time at which it begins, or its last millisecond if `is_end`.
    """
    word = text.strip().lower()
    if ago := _AGO.fullmatch(word):
        return now_ms - int(ago.group(1)) * _UNITS[ago.group(2)] * 1000
    try:
        day = _parse_day(word, now_ms)
        if day is None:
            return _to_ms(datetime.fromisoformat(text.strip()))
        return _to_ms(day + timedelta(days=1)) - 1 if is_end else _to_ms(day)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"invalid time '{one_line(text)}': use 30m, 24h, 7d, 2w, 3mo, yesterday, 2026-01-15 or "
            "2026-01-15T10:30"
        ) from None


def _parse_day(word: str, now_ms: int) -> datetime | None:
    """Return the local midnight at which a day begins, or None if the text is not a day."""
    if word in ("today", "yesterday"):
        today = datetime.fromtimestamp(now_ms / 1000).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        return today - timedelta(days=word == "yesterday")
    try:
        return datetime.combine(date.fromisoformat(word), time())
    except ValueError:
        return None


def _to_ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)
