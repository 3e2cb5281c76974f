"""Days and weeks follow the local calendar, also where daylight saving time begins or ends."""

import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from ccgrep.stats.days import day_name, local_days, week_name


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_day_and_week_names_match_zoneinfo(zone: str) -> None:
    times = np.arange(1_700_000_000_000, 1_735_000_000_000, 1_234_567, dtype=np.int64)
    numbers, first = local_days(times)
    timezone = ZoneInfo(zone)
    for ms, number in zip(times.tolist()[::7], numbers.tolist()[::7], strict=True):
        day = datetime.fromtimestamp(ms / 1000, timezone)
        assert day_name(first + number - 1) == day.date().isoformat()
        year, week, _ = day.isocalendar()
        assert week_name(first + number - 1) == f"{year}-W{week:02d}"


def test_unknown_times_have_no_day_and_absurd_ones_are_clipped() -> None:
    times = np.array([0, -(2**62), 2**62, 1_790_000_000_000], dtype=np.int64)
    numbers, first = local_days(times)
    assert numbers[0] == 0
    assert [day_name(first + int(n) - 1)[:4] for n in numbers[1:]] == ["0001", "9999", "2026"]
    assert len(local_days(np.zeros(0, dtype=np.int64))[0]) == 0
