"""The look at the source files that a search begins with."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccgrep.refresh import look
from ccgrep.refresh.look import READY, Check, begin, changed_since, where_lines
from ccgrep.refresh.messages import Line
from tests.helpers.homes import Home

if TYPE_CHECKING:
    from ccgrep.refresh.look import TakeIn

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
    check = begin(home.config.store_dir, lambda: take_in)
    check.want(where_lines(roots(home)))
    return check


def roots(home: Home) -> list[str]:
    return [root.path for root in home.config.roots]


def test_what_was_taken_in_is_told_before_the_store_is_in_order(home: Home, tmp_path: Path) -> None:
    marker = tmp_path / "tidied"

    def take_in(paths: list[str], _: bytes, line: Line) -> bool:
        line.send(READY)
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


@pytest.mark.parametrize("is_told", [False, True])
def test_a_new_file_is_left_to_a_refresh(home: Home, is_told: bool) -> None:
    """Whether or not the child takes in what it has seen first."""

    def take_in(_: list[str], __: bytes, line: Line) -> bool:
        if is_told:
            line.send(READY)
        return True

    grown(home)
    other = home.claude(2)
    other.turn("a new file", "yes")
    other.write()

    assert begun(home, take_in).outcome() == "stale"


@pytest.mark.parametrize("is_taken_in", [True, False])
def test_a_child_that_says_nothing_is_asked_by_its_exit(home: Home, is_taken_in: bool) -> None:
    grown(home)
    outcome = begun(home, lambda *_: is_taken_in).outcome()
    assert outcome == ("taken in" if is_taken_in else "stale")


def many(home: Home, number: int) -> list[Path]:
    """Sessions that were taken in and are at rest, the newest last."""
    paths = []
    for name in range(number):
        file = home.claude(name)
        file.turn(f"why {name}", "because")
        paths.append(file.write())
    home.rest()
    home.index()
    return paths


def changed_in(home: Home) -> list[str] | None:
    return changed_since(home.config.store_dir, roots(home))


@pytest.mark.parametrize("changed", [(), (0,), (5,), (0, 5), tuple(range(6))])
def test_two_processes_that_share_a_look_see_what_one_sees(
    home: Home, monkeypatch: pytest.MonkeyPatch, changed: tuple[int, ...]
) -> None:
    paths = many(home, 6)
    monkeypatch.setattr(look, "_NEWEST", 1)
    monkeypatch.setattr(look, "_MANY", 2)
    for number in changed:
        with paths[number].open("ab") as file:
            file.write(b"\n")

    assert sorted(changed_in(home) or []) == sorted(str(paths[number]) for number in changed)


@pytest.mark.parametrize("gone", range(4))
def test_a_transcript_that_is_gone_is_noticed_by_whoever_looks_at_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    paths = many(home, 4)
    monkeypatch.setattr(look, "_NEWEST", 1)
    monkeypatch.setattr(look, "_MANY", 1)
    assert changed_in(home) == []
    paths[gone].unlink()

    assert changed_in(home) is None


def test_no_length_to_which_the_note_is_cut_makes_a_look_say_that_nothing_changed(
    home: Home,
) -> None:
    many(home, 2)
    note = home.store_dir / "seen"
    whole = note.read_bytes()
    end = whole.rindex(b"crc32 ")
    for length in range(end):
        note.write_bytes(whole[:length])
        assert changed_in(home) is None, length
    note.write_bytes(whole[:end])
    assert changed_in(home) == []


def test_a_time_that_is_no_number_of_a_stat_counts_as_changed(home: Home) -> None:
    """Before 1970: such a time cannot be kept."""
    (path,) = many(home, 1)
    os.utime(path, (-1000, -1000))
    home.index()

    assert changed_in(home) == [str(path)]


def test_a_look_that_nobody_wants_takes_nothing_in(home: Home, tmp_path: Path) -> None:
    marker = tmp_path / "taken in"

    def take_in(*_: object) -> bool:
        marker.touch()
        return True

    grown(home)
    unwanted = begin(home.config.store_dir, lambda: take_in)
    while not unwanted.is_decided():
        time.sleep(0.001)
    unwanted.close()
    unwanted.close()

    assert not marker.exists()


@pytest.mark.parametrize("others", [[], ["/somewhere/else"], ["twice", "twice"]])
def test_a_look_at_other_roots_is_stale(home: Home, others: list[str]) -> None:
    grown(home)
    check = begin(home.config.store_dir, lambda: lambda *_: True)
    check.want(where_lines(others))

    assert check.outcome() == "stale"


def test_a_look_without_a_store_is_stale(tmp_path: Path) -> None:
    check = begin(str(tmp_path / "nowhere"), lambda: lambda *_: True)
    check.want(where_lines(["/somewhere"]))

    assert check.outcome() == "stale"


def test_who_asks_may_die_before_saying_so(home: Home, tmp_path: Path) -> None:
    """A child that waits to be told is not left behind."""
    many(home, 1)
    asker = os.fork()
    if asker == 0:
        check = begin(home.config.store_dir, lambda: lambda *_: True)
        (tmp_path / "child").write_text(str(check._child))
        os._exit(0)
    os.waitpid(asker, 0)
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)

    assert not _is_running(child)


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"
