"""Push and pull between homes over a folder."""

from pathlib import Path

import pytest

from tests.helpers.fleet import PULL, PUSH, Fleet, conversations
from tests.helpers.stored import write_session


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_sessions_of_one_machine_are_found_on_the_other(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    write_session(fleet[1], 2)
    for home in fleet.homes:
        home.index()
    fleet.sync(0)
    fleet.sync(1)
    fleet.sync(0)
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 2
    assert "answer 2 1" in fleet[0].run("answer 2", "-F").stdout


def test_second_sync_changes_nothing(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    fleet[0].index()
    fleet.sync(0)
    before = {path: path.stat().st_mtime_ns for path in fleet.files()}
    report = fleet.sync(0)
    assert report.pushed is not None
    assert not report.pushed.is_changed
    assert {path: path.stat().st_mtime_ns for path in fleet.files()} == before
