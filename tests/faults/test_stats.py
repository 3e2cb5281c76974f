"""`ccgrep stats` answers correctly after a kill or an error at any of its file operations."""

import errno

import pytest

from tests.faults.injection import SavedHome, count_operations, run_failing_at, run_killed_at
from tests.faults.scenarios import append_turns, write_sessions
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

STATS = ("stats", "--no-refresh", "-q")


@pytest.fixture
def grown(home: Home) -> Home:
    """Return a home that grew after its first `ccgrep stats`."""
    files = write_sessions(home, sessions=3)
    home.index()
    assert home.run(*STATS).returncode == 0
    append_turns(files, 1)
    home.index()
    return home


def test_stats_after_a_kill_answer_correctly(grown: Home) -> None:
    before = SavedHome(grown)
    operations = count_operations(grown, *STATS)
    expected = grown.run(*STATS).stdout
    assert operations > 10
    for n in scale.some(range(1, operations + 1), 4):
        before.restore()
        run_killed_at(grown, n, *STATS)
        assert grown.run(*STATS).stdout == expected
    grown.index()
    assert_same_as_fresh(grown)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_stats_answer_although_writing_tallies_fails(grown: Home, code: int) -> None:
    before = SavedHome(grown)
    operations = count_operations(grown, *STATS)
    expected = grown.run(*STATS).stdout
    for n in scale.some(range(1, operations + 1), 4):
        before.restore()
        assert run_failing_at(grown, n, code, *STATS) == 0
        assert grown.run(*STATS).stdout == expected
    assert_same_as_fresh(grown)
