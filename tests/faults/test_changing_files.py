"""Transcripts that change while they are read, within one clock tick, or under a wrong clock."""

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccgrep.ingest import file_reader
from ccgrep.sources.files import open_regular
from tests.faults.crowd import MAIN, PATIENT
from tests.helpers import scale
from tests.helpers.clock import shift_clock
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

MUTATORS = 4
INDEXERS = 2


class Mutator:
    """Changes one transcript in every way that agents and users do."""

    def __init__(self, home: Home, seed: int) -> None:
        self._chance = random.Random(seed)
        self._file = home.claude(seed + 1)
        self.changes = 0
        for number in range(3):
            self._file.turn(f"prompt {number}", f"answer {number}")
        self._file.write()

    def change(self, way: str) -> None:
        self.changes += 1
        getattr(self, way)()

    def append(self) -> None:
        self._file.turn(f"prompt {self.changes}", f"answer {self._chance.random()}")
        self._file.append()

    def cut(self) -> None:
        """Truncate in the middle of a record."""
        size = self._file.path.stat().st_size
        os.truncate(self._file.path, self._chance.randrange(size + 1))

    def rewind(self) -> None:
        del self._file.records[self._chance.randrange(len(self._file.records)) + 1 :]
        self._file.write()

    def rewrite(self) -> None:
        """Overwrite in place, with the same size."""
        content = self._file.path.read_bytes()
        with self._file.path.open("r+b") as file:
            file.write(content.replace(b"answer", b"reply:"))

    def replace(self) -> None:
        other = self._file.path.with_suffix(".new")
        other.write_bytes(b"".join(self._file.lines()))
        other.replace(self._file.path)

    def move_away(self) -> None:
        if self._file.path.exists():
            self._file.path.rename(self._file.path.with_suffix(".away"))

    def complete(self) -> None:
        """Write the whole transcript, wherever it was moved to."""
        self._file.path.with_suffix(".away").unlink(missing_ok=True)
        self._file.write()


WAYS = ("append", "cut", "rewind", "rewrite", "replace", "move_away", "complete")


class SlowFile:
    """An open transcript that is read in small blocks and reports each step."""

    def __init__(self, descriptor: int, on_step: Callable[[], None]) -> None:
        self._file = open(descriptor, "rb", buffering=0)  # noqa: SIM115 - closed on exit
        self._on_step = on_step

    def __enter__(self) -> "SlowFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int) -> bytes | None:
        self._on_step()
        return self._file.read(min(size, 700))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def index_slowly(home: Home, monkeypatch: pytest.MonkeyPatch, on_step: Callable[[], None]) -> None:
    """Index in this process; call `on_step` before a transcript is opened and before each read."""

    def open_slowly(*arguments: Any) -> int | None:
        on_step()
        return open_regular(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(file_reader, "open_regular", open_slowly)
        patch.setattr(
            file_reader, "open", lambda file, *_, **__: SlowFile(file, on_step), raising=False
        )
        home.index()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "grown"])
def test_transcript_changed_at_any_step_of_reading_ends_as_fresh(
    tmp_path: Path,
    way: str,
    is_known: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at, changes, is_over = 0, 0, False
    while not is_over:
        home = Home(tmp_path / f"home{at}")
        mutator = Mutator(home, 1)
        if is_known:
            home.index()
            mutator.change("append")
        step = 0

        def interfere(mutator: Mutator = mutator, at: int = at) -> None:
            nonlocal step, changes
            if step == at:
                changes += 1
                mutator.change(way)
            step += 1

        index_slowly(home, monkeypatch, interfere)
        is_over = step <= at
        home.index()
        assert_same_as_fresh(home)
        mutator.change("complete")
        home.index()
        assert_same_as_fresh(home)
        at += scale.of(8, 1)
    assert changes > 1


def test_transcripts_that_change_while_many_index_end_as_fresh(
    home: Home, figure: Callable[[str], None]
) -> None:
    mutators = [Mutator(home, seed) for seed in range(MUTATORS)]
    rounds = scale.of(2, 50)
    is_over = threading.Event()
    outcomes: Counter[tuple[int, str]] = Counter()

    def mutate(mutator: Mutator, chance: random.Random) -> None:
        while not is_over.wait(chance.random() / 50):
            mutator.change("complete")
            mutator.change(chance.choice(WAYS))
        mutator.change("complete")

    def keep_indexing() -> None:
        for _ in range(rounds):
            done = subprocess.run(
                [sys.executable, "-c", PATIENT + MAIN, "index", "-q"],
                env=home.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            outcomes[done.returncode, done.stderr] += 1

    changing = [
        threading.Thread(target=mutate, args=(mutator, random.Random(seed)))
        for seed, mutator in enumerate(mutators)
    ]
    indexing = [threading.Thread(target=keep_indexing) for _ in range(INDEXERS)]
    for thread in (*changing, *indexing):
        thread.start()
    for thread in indexing:
        thread.join()
    is_over.set()
    for thread in changing:
        thread.join()
    assert outcomes == {(0, ""): INDEXERS * rounds}
    home.index()
    assert_same_as_fresh(home)
    changes = sum(mutator.changes for mutator in mutators)
    figure(
        f"changing files: {MUTATORS} mutators, {INDEXERS} indexers, {changes} changes, "
        f"{outcomes[0, '']} runs succeeded, = fresh"
    )


def prompts_in(file: ClaudeFile) -> list[str]:
    return [
        record["message"]["content"]
        for record in file.records
        if isinstance(record, dict) and record["type"] == "user"
    ]


def test_rewound_and_regrown_transcript_has_no_stale_turn(
    home: Home, figure: Callable[[str], None]
) -> None:
    chance = random.Random(7)
    file = home.claude()
    steps = scale.of(8, 500)
    stale = 0
    for step in range(steps):
        if file.records and chance.random() < 0.5:
            del file.records[chance.randrange(len(file.records)) :]
        for _ in range(chance.randint(1, 3)):
            file.turn(f"prompt {step} {chance.random()}", "answer")
        file.write()
        home.index()
        stale += home.prompts(file.id) != prompts_in(file)
    assert stale == 0
    assert_same_as_fresh(home)
    figure(f"rewind and regrow: {steps} times, {stale} with stale turns, = fresh")


def test_same_size_rewrite_in_one_clock_tick_is_detected(
    home: Home, figure: Callable[[str], None]
) -> None:
    number, detected = scale.of(5, 100), 0
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
        detected += home.prompts(file.id) == ["cccc"]
        file.path.unlink()
    assert detected == number
    figure(f"same-size rewrites in one clock tick: {detected} of {number} detected")


YEARS_S = 10 * 365 * 86_400


def index_at(home: Home, clock: Path, shift_s: int) -> None:
    """Index with a clock that is off by `shift_s`."""
    done = subprocess.run(
        [sys.executable, "-m", "ccgrep", "index", "-q"],
        env=shift_clock(home.environment, clock, shift_s),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("is_kernel_wrong", [False, True], ids=["ours", "the kernel's too"])
def test_clock_that_jumps_by_ten_years_changes_nothing(
    home: Home, tmp_path: Path, is_kernel_wrong: bool, figure: Callable[[str], None]
) -> None:
    """The test moves Python's clock, and sets the mtimes that the kernel would write."""
    files = [home.claude(seed + 1) for seed in range(3)]
    shifts = [0, YEARS_S, 0, -YEARS_S, YEARS_S, -YEARS_S, 0]
    for step, shift_s in enumerate(shifts):
        for file in files[: 1 + step % 3]:
            file.turn(f"prompt {step}", f"answer {step}")
            file.append()
            if is_kernel_wrong:
                now = time.time() + shift_s
                os.utime(file.path, (now, now))
        index_at(home, tmp_path / "clock", shift_s)
        index_at(home, tmp_path / "clock", shift_s)
        assert all(home.prompts(file.id) == prompts_in(file) for file in files if file.records)
    assert_same_as_fresh(home)
    whose = "and that of files" if is_kernel_wrong else "alone"
    figure(f"clock: {len(shifts)} runs, 10 years ahead and behind, ours {whose}, = fresh")
