"""kill -9 at every operation: HEAD is the old or the new snapshot, and the next run heals."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccgrep.store.fsio import remove_tree
from tests.faults.faulty import count_operations, run_killed_at
from tests.homes import Home, assert_same_as_fresh, live
from tests.transcripts import ClaudeFile


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


def held(home: Home) -> list[tuple[Any, ...]]:
    """What the store gives to a reader; nothing before it is made."""
    return live(home.store) if (home.store_dir / "FORMAT").exists() else []


def check_killed(home: Home, prepare: Callable[[], None], *command: str) -> int:
    """Kills `command` before each of its operations, each time from the same state."""
    prepare()
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    before = held(home)
    operations = count_operations(home, *command)
    after = held(home)
    for n in range(1, operations + 1):
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        run_killed_at(home, n, *command)
        assert held(home) in (before, after)
        done = home.run("index", "-q")
        assert (done.returncode, done.stderr) == (0, "")
        assert_same_as_fresh(home)
        assert os.listdir(home.store_dir / "tmp") == []
    return operations


def test_killed_first_run_heals_at_every_operation(home: Home) -> None:
    def prepare() -> None:
        fill(home)

    made = check_killed(home, prepare, "index", "-q")
    print(f"kill -9, first index: {made} of {made} operations = fresh")


def test_killed_second_run_heals_at_every_operation(home: Home) -> None:
    def prepare() -> None:
        files = fill(home)
        home.index()
        grow(files, 1)
        home.index()
        grow(files, 2)

    made = check_killed(home, prepare, "index", "-q")
    print(f"kill -9, second index with folding: {made} of {made} operations = fresh")


def test_killed_gc_heals_at_every_operation(home: Home) -> None:
    def prepare() -> None:
        files = fill(home)
        for round in range(3):
            home.index()
            grow(files, round)
        home.index()

    made = check_killed(home, prepare, "gc")
    print(f"kill -9, gc: {made} of {made} operations = fresh")


def test_killed_recreate_loses_no_turn_of_a_gone_transcript(home: Home) -> None:
    files = fill(home, sessions=3)
    home.index()
    files[2].path.unlink()
    home.index()
    gone = home.prompts(files[2].id)
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    operations = count_operations(home, "index", "--recreate", "-q")
    for n in range(1, operations + 1):
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        run_killed_at(home, n, "index", "--recreate", "-q")
        assert home.run("index", "-q").returncode == 0
        assert home.prompts(files[2].id) == gone
        assert_same_as_fresh(home)
    print(f"kill -9, index --recreate: {operations} of {operations} operations, 0 lost")


@pytest.mark.parametrize("seed", range(50))
def test_killed_at_a_random_moment_heals(home: Home, tmp_path: Path, seed: int) -> None:
    """The whole process group dies: also between operations and inside workers."""
    chance = random.Random(seed)
    for number in range(3):
        file = home.claude(number + 1)
        for turn in range(40):
            text = "".join(chance.choices("abcdefgh \n", k=2000))
            file.turn(f"{turn} {text}", text[::-1], "cat x", text * 20)
        file.write()
    child = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", "index", "-q"],
        env=home.environment,
        start_new_session=True,
    )
    time.sleep(chance.uniform(0.05, 0.6))
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert home.run("index", "-q").returncode == 0
    assert_same_as_fresh(home)
