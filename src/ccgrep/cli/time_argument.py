"""Parse the times that users type: `7d`, `yesterday`, `2026-01-15T10:30`."""

import re
from datetime import datetime, timedelta

from ccgrep.errors import UsageError
from ccgrep.text import one_line

_AGO = re.compile(r"(\d{1,6})([mhdwy])")
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


def parse_when(text: str, now_ms: int) -> int:
    """Return milliseconds since 1970. Times are local unless the text names a zone."""
    word = text.strip().lower()
    if ago := _AGO.fullmatch(word):
        return now_ms - int(ago.group(1)) * _UNITS[ago.group(2)] * 1000
    now = datetime.fromtimestamp(now_ms / 1000)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("today", "yesterday"):
        day = today if word == "today" else today - timedelta(days=1)
        return int(day.timestamp() * 1000)
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"invalid time '{one_line(text)}': use 30m, 24h, 7d, 2w, yesterday, 2026-01-15 or "
            "2026-01-15T10:30"
        ) from None
