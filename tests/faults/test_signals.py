"""Ctrl-C, SIGTERM, closed streams, readers that stop early, and too little memory."""

import os
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep import cli
from tests.faults.injection import Fault, SavedHome, count_operations, run
from tests.faults.scenarios import append_turns, live_sessions, write_sessions
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

CCGREP = f"{sys.executable} -m ccgrep"
TIMEOUT_S = 300


def bash(home: Home, line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-c", line],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def test_reader_that_stops_early_is_no_error(home: Home, figure: Callable[[str], None]) -> None:
    for seed in range(5):
        file = home.claude(seed + 1)
        for number in range(120):
            file.turn(f"prompt {number} " + "word " * 30, "answer " * 50)
        file.write()
    home.rest()
    home.index()
    id = home.claude(1).id
    commands = ["prompt -n 0", "-F prompt", "-n 0 --json prompt", "-n 0 --jsonl prompt"]
    commands += [f"show {id}", f"export {id}", "--no-index -F prompt", "-n 0 -c prompt"]
    outcomes: Counter[tuple[int, str]] = Counter()
    for number in range(scale.of(2, 100)):
        command = commands[number % len(commands)]
        done = bash(home, f"{CCGREP} {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}")
        outcomes[done.returncode, done.stderr] += 1
    assert set(outcomes) == {(0, "")}
    assert_same_as_fresh(home)
    figure(f"| head: {outcomes[0, '']} times silent, exit 0")


def test_closed_streams_harm_neither_command_nor_store(home: Home) -> None:
    files = write_sessions(home, sessions=2)
    some = (">&-", "2>&-", "<&-") if scale.IS_LONG else ()
    for number, closed in enumerate((*some, "<&- >&- 2>&-")):
        append_turns(files, number)
        printed = 2 if ">&-" in closed.split() else 0  # Output that nobody gets is an error.
        for command, code in (
            ("index -q", 0),
            ("prompt", printed),
            ("stats", printed),
            ("-F no-such-thing", 1),
            ("show nothing", 2),
        ):
            done = bash(home, f"{CCGREP} {command} {closed}")
            assert done.returncode == code, (command, closed, done)
            assert "Traceback" not in done.stderr
    assert_same_as_fresh(home)


def write_much(home: Home, chance: random.Random) -> None:
    """Write three sessions that workers read."""
    for number in range(3):
        file = home.claude(number + 10)
        for turn in range(30):
            text = "".join(chance.choices("abcdefgh \n", k=500))
            file.turn(f"{turn} {text}", text[::-1], "cat x", text * 16)
        file.write()


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (signal.SIGINT, (130, "ccgrep: interrupted; everything committed is kept\n")),
        (signal.SIGTERM, (-signal.SIGTERM, "")),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_interrupted_index_keeps_what_was_committed(
    home: Home, which: signal.Signals, expected: tuple[int, str], figure: Callable[[str], None]
) -> None:
    files = write_sessions(home, sessions=3)
    home.index()
    before = live_sessions(home)
    append_turns(files, 1)
    saved = SavedHome(home)
    operations = count_operations(home, "index", "-q")
    after = live_sessions(home)
    moments = scale.some(range(1, operations + 1), 4)
    kept = 0
    for n in moments:
        saved.restore()
        outcome = run(home, "index", "-q", fault=Fault("fsio", n, "signal", which))
        assert (outcome.code, outcome.errors) == expected, n
        kept += live_sessions(home) in (before, after)
        assert home.run("index", "-q").returncode == 0
        assert_same_as_fresh(home)
    assert kept == len(moments)
    figure(
        f"{which.name}: index stopped at {kept} of {operations} operations, "
        f"exit {which + 128}, all = fresh"
    )


def run_in_fork(home: Home, work: Callable[[], int], out: Path) -> int:
    """Run `work` in a fork; return its exit code, or minus the signal that killed it."""
    environment = home.environment
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environment)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stdout, sys.stderr = (open(n, "w", closefd=False) for n in (1, 2))  # noqa: SIM115
        signal.alarm(TIMEOUT_S)
        code = 98
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("command", [("index", "-q"), ("prompt",), ("-F", "prompt")])
def test_failed_allocation_leaves_a_snapshot(
    home: Home,
    tmp_path: Path,
    command: tuple[str, ...],
    figure: Callable[[str], None],
) -> None:
    """Python cannot allocate once, or twenty times in a row."""
    testing = pytest.importorskip("_testcapi", reason="this Python has no _testcapi")
    files = write_sessions(home, sessions=2)
    home.index()
    append_turns(files, 1)
    saved = SavedHome(home)
    before = live_sessions(home)
    out = tmp_path / "out"
    assert run_in_fork(home, lambda: cli.main(list(command)), out) == 0
    right, after = out.read_bytes(), live_sessions(home)
    chance = random.Random(" ".join(command))
    times = scale.of(3, 40)
    ends: Counter[int] = Counter()
    for number in range(times):
        saved.restore()
        at = int(10 ** chance.uniform(2, 5.5))

        def starve(at: int = at, until: int = at + (1, 20)[number % 2]) -> int:
            testing.set_nomemory(at, until)
            return cli.main(list(command))

        code = run_in_fork(home, starve, out)
        ends[code] += 1
        assert code in (0, 2, 98, -signal.SIGABRT, -signal.SIGSEGV), code
        if code == 0:
            assert out.read_bytes() == right
        assert live_sessions(home) in (before, after)
        home.index()
    assert_same_as_fresh(home)
    figure(f"failed allocations, {' '.join(command)}: {describe(ends)}, = fresh")


def describe(ends: Counter[int]) -> str:
    return ", ".join(f"{number} × exit {code}" for code, number in sorted(ends.items()))


def test_little_memory_leaves_a_snapshot(home: Home, figure: Callable[[str], None]) -> None:
    """This also limits tantivy, which aborts the process."""
    write_sessions(home, sessions=2)
    home.index()
    before = live_sessions(home)
    write_much(home, random.Random(2))
    saved = SavedHome(home)
    ends: Counter[int] = Counter()
    steps = scale.some(range(60, 400, 10), 2)
    for megabytes in steps:
        saved.restore()
        limit = megabytes * 1024 * 1024

        def limit_memory(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        ends[home.run("index", "-q", preexec_fn=limit_memory).returncode] += 1
        now = live_sessions(home)
        assert now == before or len(now) == len(before) + 3
        assert home.run("index", "-q").returncode == 0
    assert_same_as_fresh(home)
    figure(f"little memory: {len(steps)} limits from {steps[0]} MB on: {describe(ends)}, = fresh")
