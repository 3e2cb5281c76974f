"""The times that users type."""

import pytest

from ccgrep.cli.time_argument import parse_when

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "days"), [("24h", 1), ("7d", 7), ("2w", 14), ("3mo", 90), ("1y", 365)]
)
def test_age_may_have_every_unit_that_lists_print(text: str, days: int) -> None:
    assert parse_when(text, 1_000 * DAY_MS) == (1_000 - days) * DAY_MS
