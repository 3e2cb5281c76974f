"""On which day of the people's calendar was a time? By columns, with the clock's changes."""

import time
from datetime import date, timedelta

import numpy as np

from ccgrep.stats.columns import Array

_DAY_S = 86_400
_HOUR_S = 3_600
_FIRST, _LAST = -719_162, 2_932_896  # the days that have a name: of the years 1 to 9999


def local_days(times_ms: Array) -> tuple[Array, int]:
    """For each time a number of its local day: 0 is unknown, n the day `first` + n - 1."""
    if not len(times_ms):
        return np.zeros(0, dtype=np.int64), 0
    seconds = times_ms // 1000
    days = np.clip((seconds + _offsets(seconds)) // _DAY_S, _FIRST, _LAST)
    is_known = times_ms != 0
    first = int(days.min(where=is_known, initial=_LAST))
    numbers: Array = np.where(is_known, days - first + 1, 0)
    return numbers, first


def _offsets(seconds: Array) -> Array:
    """Seconds east of Greenwich at each time."""
    days = np.clip(seconds // _DAY_S, _FIRST, _LAST)
    first = int(days.min())
    used = np.flatnonzero(np.bincount(days - first)).tolist()
    by_day = np.zeros(int(days.max()) - first + 1, dtype=np.int64)
    changing = np.zeros(len(by_day), dtype=bool)
    for day in used:
        start = (first + day) * _DAY_S
        by_day[day] = _offset(start)
        changing[day] = by_day[day] != _offset(start + _DAY_S - 1)
    offsets: Array = by_day[days - first]
    rows = np.flatnonzero(changing[days - first])
    offsets[rows] = [_offset(second) for second in (seconds[rows] // _HOUR_S * _HOUR_S).tolist()]
    return offsets


def _offset(second: int) -> int:
    try:
        return time.localtime(second).tm_gmtoff
    except (OverflowError, ValueError, OSError):
        return 0


def day_name(day: int) -> str:
    """`2026-09-21`"""
    return _date(day).isoformat()


def week_name(day: int) -> str:
    """`2026-W39`, as ISO counts them."""
    year, week, _ = _date(day).isocalendar()
    return f"{year}-W{week:02d}"


def _date(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)
