"""kill -9 at every operation: HEAD is the old or the new snapshot, and the next run heals."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.faulty import (
    Fault,
    Saved,
    Seam,
    assert_heals,
    count_operations,
    needs_shim,
    run,
    run_killed_at,
)
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh, live
from tests.helpers.transcripts import ClaudeFile

SEAMS = ["fsio", pytest.param("shim", marks=needs_shim)]


def fill(home: Home, sessions: int = 6, turns: int = 4) -> list[ClaudeFile]:
    """Sessions of both agents, a fork and a sub-agent."""
    files = []
    for seed in range(sessions):
        file = home.claude(seed + 1, slug=f"-p{seed % 3}")
        for number in range(turns):
            file.turn(f"prompt {seed}-{number}", f"answer {seed}-{number}", "make", "ok\n" * 50)
        file.write()
        files.append(file)
    files[0].fork(home.projects / "-p0", 5, seed=77).write()
    agent = home.subagent(files[-1], "agent-a1b2c3d")
    agent.turn("look around", "nothing there")
    agent.write()
    codex = home.codex(5)
    codex.meta()
    codex.turn("list files", "done", "ls", "a b c")
    codex.write()
    return files


def grow(files: list[ClaudeFile], round: int) -> None:
    for file in files[:3]:
        file.turn(f"more {round}", f"done {round}")
        file.append()


def snapshot(home: Home) -> list[tuple[Any, ...]]:
    """What the store gives to a reader; nothing before it is made."""
    return live(home.store) if (home.store_dir / "FORMAT").exists() else []


def not_indexed(home: Home) -> None:
    fill(home)


def grown(home: Home) -> None:
    """Two packs, and what will be folded into them."""
    files = fill(home)
    home.index()
    grow(files, 1)
    home.index()
    grow(files, 2)


def embedded(home: Home) -> None:
    """Vectors of two turns, and more texts to come."""
    home.embed = "auto"
    for seed in (1, 2):
        file = home.claude(seed)
        file.turn(f"login case {seed}", "mended")
        file.write()
        run(home, "index", "-q")
    file = home.claude(3)
    file.turn("build is slow", "it is fast again")
    file.turn("worker hangs", "no more")
    file.write()


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize(("prepare", "sample"), [(not_indexed, 6), (grown, 6), (embedded, 3)])
def test_killed_index_heals_at_every_operation(
    home: Home,
    prepare: Callable[[Home], None],
    sample: int,
    seam: Seam,
    figure: Callable[[str], None],
) -> None:
    prepare(home)
    saved = Saved(home)
    before = snapshot(home)
    operations = count_operations(home, "index", "-q", seam=seam)
    after = snapshot(home)
    kills = 0
    tried = scale.some(range(1, operations + 1), sample)
    for n in tried:
        saved.restore()
        # What tantivy's threads do is not the same to the last operation each time.
        kills += run(home, "index", "-q", fault=Fault(seam, n, "kill")).code == -signal.SIGKILL
        assert snapshot(home) in (before, after)
        assert_heals(home)
        assert_same_as_fresh(home)
    assert kills > 0.8 * len(tried)
    assert run(home, "gc").code == 0
    assert_same_as_fresh(home, is_collected=True)
    name = prepare.__name__.replace("_", " ")
    figure(f"kill -9, index ({name}, {seam}): {kills} of {operations} operations, all = fresh")


def test_killed_recreate_loses_no_turn_of_a_gone_transcript(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = fill(home, sessions=3)
    home.index()
    files[2].path.unlink()
    home.index()
    gone = home.prompts(files[2].id)
    saved = Saved(home)
    operations = count_operations(home, "index", "--recreate", "-q")
    tried = scale.some(range(1, operations + 1), 6)
    for n in tried:
        saved.restore()
        run_killed_at(home, n, "index", "--recreate", "-q")
        assert run(home, "index", "-q").code == 0
        assert home.prompts(files[2].id) == gone
        assert_same_as_fresh(home)
    figure(f"kill -9, index --recreate: {len(tried)} of {operations} operations, 0 lost")


def much(home: Home) -> list[ClaudeFile]:
    """So much that a run takes a while: workers read it, and tantivy writes with threads."""
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


def test_killed_at_a_random_moment_heals(home: Home, figure: Callable[[str], None]) -> None:
    """The whole process group dies: also between operations and inside workers."""
    chance = random.Random(7)
    files = much(home)
    first = Saved(home, "first")
    home.index()
    for file in files:
        file.turn("more", "done" * 1000)
        file.append()
    second = Saved(home, "second")
    began = time.monotonic()
    assert home.run("index", "-q").returncode == 0
    longest_s = time.monotonic() - began
    kills, wanted = 0, scale.of(10, 200)
    while kills < wanted:
        (first if kills % 2 else second).restore()
        if killed_after(home, chance.uniform(0.05, longest_s), "index", "-q"):
            kills += 1
        else:
            longest_s *= 0.9  # It takes less by now.
        assert_heals(home)
        assert_same_as_fresh(home)
    figure(f"kill -9 of the process group: {kills} random moments, all = fresh")


def killed_after(home: Home, seconds: float, *command: str) -> bool:
    """Whether a run was killed in its midst; else it was done."""
    child = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", *command],
        env=home.environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGKILL)
    return child.wait() == -signal.SIGKILL
