"""kill -9 at any moment: HEAD is the old or the new snapshot, and the next run heals."""

import random
import signal
from collections.abc import Callable

import pytest

from tests.faults.injection import (
    SEAMS,
    Fault,
    SavedHome,
    Seam,
    assert_heals,
    count_operations,
    run,
    run_killed_at,
)
from tests.faults.scenarios import (
    append_turns,
    embedded,
    live_sessions,
    not_indexed,
    write_sessions,
)
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile


def grown(home: Home) -> None:
    """Leave two packs, and turns that will be folded into them."""
    files = write_sessions(home)
    home.index()
    append_turns(files, 1)
    home.index()
    append_turns(files, 2)


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize(("prepare", "sample"), [(not_indexed, 3), (grown, 3), (embedded, 2)])
def test_index_killed_at_every_operation_heals(
    home: Home,
    prepare: Callable[[Home], None],
    sample: int,
    seam: Seam,
    figure: Callable[[str], None],
) -> None:
    prepare(home)
    saved = SavedHome(home)
    before = live_sessions(home)
    operations = count_operations(home, "index", "-q", seam=seam)
    after = live_sessions(home)
    moments = scale.some(range(1, operations + 1), sample)
    kills = 0
    for n in moments:
        saved.restore()
        is_killed = run(home, "index", "-q", fault=Fault(seam, n, "kill")).code == -signal.SIGKILL
        # tantivy's threads do not make the same number of operations each time.
        assert is_killed or (seam == "shim" and n > 0.8 * operations)
        kills += is_killed
        assert live_sessions(home) in (before, after)
        assert_heals(home)
        assert_same_as_fresh(home)
    assert run(home, "gc").code == 0
    assert_same_as_fresh(home, is_collected=True)
    state = prepare.__name__.replace("_", " ")
    figure(f"kill -9, index ({state}, {seam}): {kills} of {operations} operations, all = fresh")


def test_killed_recreate_keeps_the_turns_of_a_deleted_transcript(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = write_sessions(home, sessions=3)
    home.index()
    files[2].path.unlink()
    home.index()
    gone = home.prompts(files[2].id)
    saved = SavedHome(home)
    operations = count_operations(home, "index", "--recreate", "-q")
    moments = scale.some(range(1, operations + 1), 4)
    for n in moments:
        saved.restore()
        run_killed_at(home, n, "index", "--recreate", "-q")
        assert run(home, "index", "-q").code == 0
        assert home.prompts(files[2].id) == gone
        assert_same_as_fresh(home)
    figure(f"kill -9, index --recreate: {len(moments)} of {operations} operations, all turns kept")


def write_much(home: Home) -> list[ClaudeFile]:
    """Write enough that workers read it and tantivy writes with threads."""
    chance = random.Random(1)
    files = []
    for number in range(3):
        file = home.claude(number + 1)
        for turn in range(20):
            text = "".join(chance.choices("abcdefgh \n", k=500))
            file.turn(f"prompt {turn}", f"answer {turn}", "cat x", text * 40)
        file.write()
        files.append(file)
    return files


def test_index_killed_between_operations_heals(home: Home, figure: Callable[[str], None]) -> None:
    """Also while workers parse and while threads of tantivy write."""
    files = write_much(home)
    states = [SavedHome(home, "first")]
    calls = [count_operations(home, "index", "-q", seam="calls")]
    for file in files:
        file.turn("more", "done" * 1000)
        file.append()
    states.append(SavedHome(home, "second"))
    calls.append(count_operations(home, "index", "-q", seam="calls"))
    kills = 0
    for state, most in zip(states, calls, strict=True):
        # How often the parent waits for its workers differs, so the last calls may not come.
        for n in scale.some(range(1, most * 9 // 10, most // scale.of(100, 125)), 3):
            state.restore()
            run_killed_at(home, n, "index", "-q", seam="calls")
            kills += 1
            assert_heals(home)
            assert_same_as_fresh(home)
    assert kills
    figure(f"kill -9 between operations: {kills} of {sum(calls):,} function calls, all = fresh")


def test_killed_mark_is_there_or_not(home: Home, figure: Callable[[str], None]) -> None:
    files = write_sessions(home, sessions=2)
    home.index()
    assert run(home, "mark", files[0].id, "first").code == 0
    saved = SavedHome(home)
    words = ("mark", f"{files[1].id}:0", "todo", "--no-refresh")
    operations = count_operations(home, *words)
    moments = scale.some(range(1, operations + 1), 5)
    for n in moments:
        saved.restore()
        run_killed_at(home, n, *words)
        assert {mark.tags for mark in home.store.snapshot().marks} in (
            {("first",)},
            {("first",), ("todo",)},
        )
        assert_heals(home)
        assert_same_as_fresh(home)
    figure(f"kill -9, mark: {len(moments)} of {operations} operations, there or not, all = fresh")
