"""Groups of turns, sessions or days, and the sums of their columns."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ccgrep.stats import days
from ccgrep.stats.column_file import Array
from ccgrep.stats.duplicates import sum_by_code


class Grouping(NamedTuple):
    """Rows with a group code each, the names of the groups, and columns to sum."""

    codes: Array
    name: Callable[[int], str]
    columns: Sequence[Array]

    @property
    def size(self) -> int:
        return int(self.codes.max(initial=-1)) + 1

    def sum(self, column: Array) -> Array:
        return sum_by_code(self.codes, column, self.size)


def group_weeks(by_day: Grouping, first: int) -> Grouping:
    """Group days by ISO week. Weeks start on Monday, and 1970-01-01 was a Thursday."""
    numbers = np.arange(by_day.size)
    weeks = (first + numbers - 1 + 3) // 7
    first_week = (first + 3) // 7
    codes = np.where(numbers > 0, weeks - first_week + 1, 0)
    return Grouping(
        codes,
        lambda i: days.week_name((first_week + i - 1) * 7 - 3) if i else "",
        [by_day.sum(column) for column in by_day.columns],
    )


def group_months(by_day: Grouping, first: int) -> Grouping:
    names = [days.day_name(first + i - 1)[:7] if i else "" for i in range(by_day.size)]
    distinct = sorted(set(names))
    at = {name: code for code, name in enumerate(distinct)}
    codes = np.array([at[name] for name in names], dtype=np.int64)
    return Grouping(codes, distinct.__getitem__, [by_day.sum(column) for column in by_day.columns])
