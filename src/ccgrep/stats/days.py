"""On which day of the people's calendar was a time? By columns, with the clock's changes."""

import time
from datetime import date, timedelta

import numpy as np

from ccgrep.stats.columns import Array

UNKNOWN = np.iinfo(np.int32).min
_DAY_S = 86_400
_HOUR_S = 3_600
_FIRST, _LAST = -719_162 + 1, 2_932_896 - 1  # the days that have a name


def local_days(times_ms: Array) -> Array:
    """For each time the number of its local day since 1970; UNKNOWN for a time of 0."""
    seconds = times_ms // 1000
    utc_days = seconds // _DAY_S
    shown, back = np.unique(utc_days, return_inverse=True)
    offsets = np.array([_day_offset(int(day)) for day in shown], dtype=np.float64)
    offset = offsets[back]
    changing = np.flatnonzero(np.isnan(offset))
    if len(changing):
        hours, at = np.unique(seconds[changing] // _HOUR_S, return_inverse=True)
        by_hour = np.array([_offset(int(hour) * _HOUR_S) for hour in hours], dtype=np.float64)
        offset[changing] = by_hour[at]
    days: Array = (seconds + offset.astype(np.int64)) // _DAY_S
    days[times_ms == 0] = UNKNOWN
    return days


def _day_offset(day: int) -> float:
    """Seconds east of Greenwich on a day of Greenwich; not a number if that changes."""
    first, last = _offset(day * _DAY_S), _offset((day + 1) * _DAY_S - 1)
    return first if first == last else float("nan")


def _offset(second: int) -> int:
    try:
        return time.localtime(second).tm_gmtoff
    except (OverflowError, ValueError, OSError):
        return 0


def day_name(day: int) -> str:
    """`2026-09-21`"""
    return _date(day).isoformat() if _FIRST <= day <= _LAST else ""


def week_name(day: int) -> str:
    """`2026-W39`, as ISO counts them."""
    if not _FIRST <= day <= _LAST:
        return ""
    year, week, _ = _date(day).isocalendar()
    return f"{year}-W{week:02d}"


def _date(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)
