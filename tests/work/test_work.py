"""How much work each command does, in counts that do not depend on the machine or its load.

A count that changed fails with its name and both values. If the change is intended, run
`python -m tests.work.accept`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers import scale
from tests.helpers.extras import has_model
from tests.helpers.homes import assert_same_as_fresh
from tests.work import table
from tests.work.operations import (
    GROWTH,
    PLAIN,
    SEMANTIC,
    Counts,
    Story,
    count_steps,
    make_directory,
)
from tests.work.strace import why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

FEW = 5
MOST_FOR_A_SESSION = {"source stat calls": 2, "bytes written": 400}
"""Work for each unchanged session: change detection and scan, the seen file and the shard."""


@pytest.fixture
def directory() -> Iterator[Path]:
    with make_directory() as directory:
        yield directory


def test_each_command_does_the_accepted_work(
    directory: Path, figure: Callable[[str], None]
) -> None:
    story = Story(directory)
    was, now = table.read_accepted(), dict(count_steps(story, PLAIN))
    assert_same_as_fresh(story.home)
    if has_model():
        now |= count_steps(story, SEMANTIC)
    else:
        was = {name: counts for name, counts in was.items() if name in now}
    lines = list(table.differences(was, now))
    assert not lines, "\n".join(["the work has changed:", *lines])
    numbers = sum(map(len, was.values()))
    figure(f"work: {numbers} counts of {len(now)} commands as accepted, by strace")


def test_work_for_one_turn_does_not_grow_with_the_sessions(
    directory: Path, figure: Callable[[str], None]
) -> None:
    many = scale.of(25, 500)
    few_counts, many_counts = (_count_growth(directory / str(n), n) for n in (FEW, many))
    for name, counts in many_counts.items():
        for count, most in MOST_FOR_A_SESSION.items():
            few = few_counts[name].get(count, 0)
            if few < counts.get(count, 0) <= few + most * (many - FEW):
                counts[count] = few
    lines = list(table.differences(few_counts, many_counts))
    assert not lines, "\n".join([f"with {many} sessions instead of {FEW}:", *lines])
    numbers = sum(map(len, few_counts.values()))
    figure(
        f"work: {numbers} counts of {FEW} sessions hold with {many}; each session adds at most "
        + " and ".join(f"{most} {count}" for count, most in MOST_FOR_A_SESSION.items())
    )


def _count_growth(directory: Path, sessions: int) -> dict[str, Counts]:
    directory.mkdir()
    story = Story(directory, sessions)
    story.home.run("index", "-q")
    counts = dict(count_steps(story, GROWTH))
    assert_same_as_fresh(story.home)
    return counts


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ({"syncs": 3}, ["gc: syncs grew from 2 to 3"]),
        ({"syncs": 1}, ["gc: syncs fell from 2 to 1: accept it"]),
        ({"syncs": 2, "renames": 1}, ["gc: renames grew from 0 to 1"]),
        ({"syncs": 2, "bytes written": 115}, []),
        ({"syncs": 2, "bytes written": 116}, ["gc: bytes written grew from 100 to 116"]),
        ({"syncs": 2, "library modules": 7}, []),
    ],
)
def test_changed_count_is_named_with_both_values(after: Counts, lines: list[str]) -> None:
    before = {"syncs": 2, "bytes written": 100}
    assert list(table.differences({"gc": before}, {"gc": {"bytes written": 100, **after}})) == lines
