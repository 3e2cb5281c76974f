"""Transcripts that change while they are read, within one tick, or under another clock."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

MUTATORS = 8
INDEXERS = 4


class Mutator(threading.Thread):
    """Changes one transcript in every way until told to stop."""

    def __init__(self, home: Home, seed: int, until: float) -> None:
        super().__init__()
        self._chance = random.Random(seed)
        self._file = home.claude(seed + 1)
        self._until = until
        self.changes = 0

    def run(self) -> None:
        ways = (self._append, self._cut, self._rewind, self._rewrite, self._replace, self._swap)
        self._append()
        while time.monotonic() < self._until:
            self._chance.choice(ways)()
            self.changes += 1
            time.sleep(self._chance.random() / 20)
        self._file.write()

    def _append(self) -> None:
        self._file.turn(f"prompt {self.changes}", f"answer {self._chance.random()}")
        self._file.append()

    def _cut(self) -> None:
        """In the middle of a record, and then on."""
        size = self._file.path.stat().st_size
        os.truncate(self._file.path, self._chance.randrange(size + 1))

    def _rewind(self) -> None:
        del self._file.records[self._chance.randrange(len(self._file.records)) + 1 :]
        self._file.write()

    def _rewrite(self) -> None:
        """In place, at the same size."""
        content = self._file.path.read_bytes()
        with self._file.path.open("r+b") as file:
            file.write(content.replace(b"answer", b"reply:"))

    def _replace(self) -> None:
        other = self._file.path.with_suffix(".new")
        other.write_bytes(b"".join(self._file.lines()))
        other.replace(self._file.path)

    def _swap(self) -> None:
        """Away, and back."""
        away = self._file.path.with_suffix(".away")
        self._file.path.rename(away)
        time.sleep(0.01)
        away.rename(self._file.path)


def test_files_that_change_while_they_are_read_end_as_fresh(
    home: Home, figure: Callable[[str], None]
) -> None:
    seconds = scale.of(4, 60)
    until = time.monotonic() + seconds
    mutators = [Mutator(home, seed, until) for seed in range(MUTATORS)]
    for mutator in mutators:
        mutator.start()
    said: list[str] = []

    def keep_indexing() -> None:
        while time.monotonic() < until:
            done = home.run("index", "-q")
            said.append(f"{done.returncode}{done.stderr}")

    indexers = [threading.Thread(target=keep_indexing) for _ in range(INDEXERS)]
    for thread in indexers:
        thread.start()
    for thread in (*mutators, *indexers):
        thread.join()
    assert set(said) == {"0"}
    home.index()
    assert_same_as_fresh(home)
    changes = sum(mutator.changes for mutator in mutators)
    figure(
        f"changing files: {MUTATORS} mutators and {INDEXERS} indexers for {seconds} s, "
        f"{changes} changes, {len(said)} runs, 0 errors, = fresh"
    )


def prompts_in(file: ClaudeFile) -> list[str]:
    return [
        record["message"]["content"]
        for record in file.records
        if isinstance(record, dict) and record["type"] == "user"
    ]


def test_rewound_and_regrown_file_has_no_stale_turn(
    home: Home, figure: Callable[[str], None]
) -> None:
    chance = random.Random(7)
    file = home.claude()
    steps = scale.of(40, 500)
    for step in range(steps):
        if file.records and chance.random() < 0.5:
            del file.records[chance.randrange(len(file.records)) :]
        for _ in range(chance.randint(1, 3)):
            file.turn(f"prompt {step} {chance.random()}", "answer")
        file.write()
        home.index()
        assert home.prompts(file.id) == prompts_in(file)
    assert_same_as_fresh(home)
    figure(f"rewind and regrow: {steps} times, 0 stale turns, = fresh")


def test_same_size_rewrite_in_one_tick_is_noticed(
    home: Home, figure: Callable[[str], None]
) -> None:
    number = scale.of(25, 100)
    for seed in range(number):
        file = home.claude(seed + 1)
        file.turn("aaaa", "bbbb")
        file.write()
        stat = file.path.stat()
        home.index()
        content = file.path.read_bytes().replace(b"aaaa", b"cccc")
        with file.path.open("r+b") as handle:
            handle.write(content)
        os.utime(file.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        home.index()
        assert home.prompts(file.id) == ["cccc"]
        file.path.unlink()
    figure(f"same-size rewrites in one tick: {number}/{number} noticed")


YEARS_S = 10 * 365 * 86_400
CLOCK = """
import os, time
_shift, _time, _time_ns = int(os.environ["SHIFT_S"]), time.time, time.time_ns
time.time = lambda: _time() + _shift
time.time_ns = lambda: _time_ns() + _shift * 10**9
"""


def index_at(home: Home, clock: Path, shift_s: int) -> None:
    """A run whose clock is wrong, or right while all others were wrong."""
    path = f"{clock}{os.pathsep}{home.environment['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "ccgrep", "index", "-q"],
        env={**home.environment, "PYTHONPATH": path, "SHIFT_S": str(shift_s)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("is_kernel_wrong", [False, True], ids=["ours", "the kernel's too"])
def test_a_clock_that_jumps_by_ten_years_changes_nothing(
    home: Home, tmp_path: Path, is_kernel_wrong: bool, figure: Callable[[str], None]
) -> None:
    """Only Python's clock is moved here; what the kernel would write is set by hand."""
    (tmp_path / "sitecustomize.py").write_text(CLOCK, encoding="utf-8")
    files = [home.claude(seed + 1) for seed in range(3)]
    shifts = [0, YEARS_S, 0, -YEARS_S, YEARS_S, -YEARS_S, 0]
    for step, shift_s in enumerate(shifts):
        for file in files[: 1 + step % 3]:
            file.turn(f"prompt {step}", f"answer {step}")
            file.append()
            if is_kernel_wrong:
                now = time.time() + shift_s
                os.utime(file.path, (now, now))
        index_at(home, tmp_path, shift_s)
        index_at(home, tmp_path, shift_s)
        assert all(home.prompts(file.id) == prompts_in(file) for file in files if file.records)
    assert_same_as_fresh(home)
    whose = "and that of files" if is_kernel_wrong else "alone"
    figure(f"clock: {len(shifts)} runs, 10 years ahead and behind, ours {whose}, = fresh")
