"""The look at the source files that a search begins with."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccgrep.index.freshness import Check, start_check
from tests.homes import Home

if TYPE_CHECKING:
    from ccgrep.index.freshness import TakeIn

_TIDYING_S = 1.0


def grown(home: Home) -> Path:
    """A session that was taken in and has grown since."""
    file = home.claude(1)
    file.turn("why", "because")
    file.write()
    home.rest()
    home.index()
    file.turn("really", "yes")
    return file.append()


def begun(home: Home, take_in: "TakeIn") -> Check:
    return start_check(home.config.store_dir, home.config.roots, lambda: take_in)


def test_what_was_taken_in_is_told_before_the_store_is_in_order(home: Home, tmp_path: Path) -> None:
    marker = tmp_path / "tidied"

    def take_in(paths: list[str], on_ready: Callable[[], object]) -> bool:
        on_ready()
        time.sleep(_TIDYING_S)
        marker.write_text("\n".join(paths))
        return True

    path = grown(home)
    check = begun(home, take_in)

    assert check.outcome() == "taken in"
    assert not marker.exists()
    check.close()
    check.close()
    assert marker.read_text() == str(path)


def test_nobody_refreshes_while_the_child_is_at_work(home: Home, tmp_path: Path) -> None:
    """A new file makes it stale, and the writer's lock has to be free for what follows."""
    marker = tmp_path / "tidied"

    def take_in(_: list[str], on_ready: Callable[[], object]) -> bool:
        on_ready()
        time.sleep(_TIDYING_S)
        marker.touch()
        return True

    grown(home)
    other = home.claude(2)
    other.turn("a new file", "yes")
    other.write()

    assert begun(home, take_in).outcome() == "stale"
    assert marker.exists()


@pytest.mark.parametrize("is_taken_in", [True, False])
def test_a_child_that_says_nothing_is_asked_by_its_exit(home: Home, is_taken_in: bool) -> None:
    grown(home)
    outcome = begun(home, lambda *_: is_taken_in).outcome()
    assert outcome == ("taken in" if is_taken_in else "stale")
