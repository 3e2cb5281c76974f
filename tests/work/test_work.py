"""How much is done for each operation, in counts that no machine and no noise can change.

A count that is not as it was fails with its name, before and after. Meant? Then
`python -m tests.work.accept` writes the table anew.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.errors import MissingModelError
from ccgrep.semantic import model
from tests.helpers import scale
from tests.helpers.homes import assert_same_as_fresh
from tests.work import table
from tests.work.operations import GROWTH, MEANING, PLAIN, Counts, Story, counted
from tests.work.strace import why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

FEW = 5
SESSION_BYTES = 400
"""At most so much is written of a session that nothing is done with: that it was seen, and the
shard that it is in."""


def test_each_operation_does_what_the_table_says(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    story = Story(tmp_path)
    was, now = table.accepted(), dict(counted(story, PLAIN))
    assert_same_as_fresh(story.home)
    if _has_model():
        now |= counted(story, MEANING)
    else:
        was = {name: counts for name, counts in was.items() if name in now}
    lines = list(table.differences(was, now))
    assert not lines, "\n".join(["what is done has changed:", *lines])
    numbers = sum(map(len, was.values()))
    figure(f"work: {numbers} counts of {len(now)} operations as accepted, by strace")


def _has_model() -> bool:
    try:
        model.find(None, {"HOME": "/nonexistent"})
    except MissingModelError:
        return False
    return True


def test_what_is_done_for_one_turn_does_not_grow_with_the_sessions(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    many = scale.of(50, 500)
    few_counts, many_counts = (_grown(tmp_path / str(n), n) for n in (FEW, many))
    for counts in many_counts.values():
        # What may grow, by how much is known.
        looks, written = "source files looked at", "bytes written"
        if counts.get(looks, 0) > FEW:
            counts[looks] -= many - FEW
        if counts.get(written, 0) > SESSION_BYTES:
            counts[written] -= (many - FEW) * SESSION_BYTES
    lines = list(table.differences(few_counts, many_counts))
    assert not lines, "\n".join([f"with {many} sessions instead of {FEW}:", *lines])
    numbers = sum(map(len, few_counts.values()))
    figure(
        f"work: {numbers} counts with {FEW} sessions hold with {many}, but for one look "
        f"and at most {SESSION_BYTES} bytes written a session"
    )


def _grown(directory: Path, sessions: int) -> dict[str, Counts]:
    directory.mkdir()
    story = Story(directory, sessions)
    story.home.run("index", "-q")
    made = dict(counted(story, GROWTH))
    assert_same_as_fresh(story.home)
    return made


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"syncs": 3}, ["gc: syncs grew from 2 to 3"]),
        ({"syncs": 1}, ["gc: syncs fell from 2 to 1: accept it"]),
        ({"syncs": 2, "renames": 1}, ["gc: renames grew from 0 to 1"]),
        ({"syncs": 2, "bytes written": 115}, []),
        ({"syncs": 2, "bytes written": 116}, ["gc: bytes written grew from 100 to 116"]),
        ({"syncs": 2, "library modules": 7}, []),
    ],
)
def test_a_count_that_changed_is_named_with_before_and_after(
    after: Counts, said: list[str]
) -> None:
    before = {"syncs": 2, "bytes written": 100}
    assert list(table.differences({"gc": before}, {"gc": {"bytes written": 100, **after}})) == said
