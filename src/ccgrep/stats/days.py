"""Local calendar days of many times at once, with daylight saving time."""

import time
from datetime import date, timedelta

import numpy as np

from ccgrep.stats.column_file import Array

_DAY_S = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, which `date` can hold


def local_days(times_ms: Array) -> tuple[Array, int]:
    """Return a number for each time, and a day `first`: number n > 0 is the day `first` + n - 1.

    Days count from 1970-01-01. The number of an unknown time is 0.
    """
    if not len(times_ms):
        return np.zeros(0, dtype=np.int64), 0
    seconds = times_ms // 1000
    days = np.clip((seconds + _utc_offsets(seconds)) // _DAY_S, _FIRST_DAY, _LAST_DAY)
    is_known = times_ms != 0
    first = int(days.min(where=is_known, initial=_LAST_DAY))
    numbers: Array = np.where(is_known, days - first + 1, 0)
    return numbers, first


def _utc_offsets(seconds: Array) -> Array:
    """Return the local offset from UTC at each time.

    It asks the C library once per day, and for each time only on days when the offset changes.
    """
    days = np.clip(seconds // _DAY_S, _FIRST_DAY, _LAST_DAY)
    first = int(days.min())
    by_day = np.zeros(int(days.max()) - first + 1, dtype=np.int64)
    is_changing = np.zeros(len(by_day), dtype=bool)
    for day in np.flatnonzero(np.bincount(days - first)).tolist():
        start = (first + day) * _DAY_S
        by_day[day] = _utc_offset(start)
        is_changing[day] = by_day[day] != _utc_offset(start + _DAY_S - 1)
    offsets: Array = by_day[days - first]
    rows = np.flatnonzero(is_changing[days - first])
    offsets[rows] = [_utc_offset(second) for second in seconds[rows].tolist()]
    return offsets


def _utc_offset(second: int) -> int:
    try:
        return time.localtime(second).tm_gmtoff
    except (OverflowError, ValueError, OSError):
        return 0


def day_name(day: int) -> str:
    """Return a day as `2026-09-21`."""
    return _date(day).isoformat()


def week_name(day: int) -> str:
    """Return the ISO week of a day as `2026-W39`."""
    year, week, _ = _date(day).isocalendar()
    return f"{year}-W{week:02d}"


def _date(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)
