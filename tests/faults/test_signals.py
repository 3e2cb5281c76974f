"""Ctrl-C, SIGTERM, closed streams, readers that have seen enough, and too little memory."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep import cli
from ccgrep.store.fsio import remove_tree
from tests.faults.scenarios import append_turns, live_sessions, write_sessions
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

CCGREP = f"{sys.executable} -m ccgrep"
ENTRY = "from ccgrep.cli import entry; print('on', flush=True); entry()"


def bash(home: Home, line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-c", line],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_reader_that_has_seen_enough_is_no_error(home: Home, figure: Callable[[str], None]) -> None:
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
    times = scale.of(5, 100)
    for number in range(times):
        command = commands[number % len(commands)]
        done = bash(home, f"{CCGREP} {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) == (0, ""), command
    assert_same_as_fresh(home)
    figure(f"| head: {times} times quiet, exit 0")


def test_closed_streams_harm_neither_command_nor_store(home: Home) -> None:
    files = write_sessions(home, sessions=2)
    some = (">&-", "2>&-", "<&-") if scale.IS_LONG else ()
    for number, closed in enumerate((*some, "<&- >&- 2>&-")):
        append_turns(files, number)
        for command, codes in (
            ("index -q", (0,)),
            ("prompt", (0,)),
            ("stats", (0,)),
            ("-F no-such-thing", (1,)),
            ("show nothing", (2,)),
        ):
            done = bash(home, f"{CCGREP} {command} {closed}")
            assert done.returncode in codes, (command, closed, done)
            assert "Traceback" not in done.stderr
    assert_same_as_fresh(home)


def much(home: Home, chance: random.Random) -> None:
    """Takes a while to index."""
    for number in range(3):
        file = home.claude(number + 10)
        for turn in range(30):
            text = "".join(chance.choices("abcdefgh \n", k=2000))
            file.turn(f"{turn} {text}", text[::-1], "cat x", text * 4)
        file.write()


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_index_keeps_what_was_committed(
    home: Home, which: signal.Signals, figure: Callable[[str], None]
) -> None:
    write_sessions(home, sessions=2)
    home.index()
    before = live_sessions(home)
    much(home, random.Random(1))
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    chance = random.Random(int(which))
    stopped, times = 0, scale.of(2, 40)
    for _ in range(times):
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        child = subprocess.Popen(
            [sys.executable, "-c", ENTRY, "index", "-q", "--no-embed"],
            env=home.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0.02, 0.3))
        os.killpg(child.pid, which)
        _, err = child.communicate(timeout=60)
        expected = (130, "ccgrep: interrupted; everything committed is kept\n")
        if which == signal.SIGTERM:
            expected = (-signal.SIGTERM, "")
        assert (child.returncode, err) in (expected, (0, "")), err
        stopped += child.returncode != 0
        now = live_sessions(home)
        assert now == before or len(now) == len(before) + 3
        assert home.run("index", "-q").returncode == 0
    assert stopped
    assert_same_as_fresh(home)
    code = 130 if which == signal.SIGINT else 143
    figure(f"{which.name}: {stopped} of {times} index runs stopped, exit {code}, 0 lost, = fresh")


def in_child(home: Home, work: Callable[[], int], out: Path) -> int:
    """Runs `work` in a fork; a negative number is the signal that it died of."""
    environment = home.environment
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environment)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stdout, sys.stderr = (open(n, "w", closefd=False) for n in (1, 2))  # noqa: SIM115
        signal.alarm(60)
        code = 98
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("command", [("index", "-q"), ("prompt",), ("-F", "prompt")])
def test_memory_that_runs_out_leaves_a_snapshot(
    home: Home,
    tmp_path: Path,
    command: tuple[str, ...],
    figure: Callable[[str], None],
) -> None:
    """At a random allocation of Python's, or some after each other."""
    testing = pytest.importorskip("_testcapi", reason="this Python has no _testcapi")
    files = write_sessions(home, sessions=2)
    home.index()
    append_turns(files, 1)
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    before = live_sessions(home)
    out = tmp_path / "said"
    assert in_child(home, lambda: cli.main(list(command)), out) == 0
    right, after = out.read_bytes(), live_sessions(home)
    chance = random.Random(" ".join(command))
    times = scale.of(5, 40)
    ends: Counter[int] = Counter()
    for number in range(times):
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        at = int(10 ** chance.uniform(2, 5.5))

        def starved(at: int = at, until: int = at + (1, 20)[number % 2]) -> int:
            testing.set_nomemory(at, until)
            return cli.main(list(command))

        code = in_child(home, starved, out)
        ends[code] += 1
        assert code in (0, 2, 98, -signal.SIGABRT, -signal.SIGSEGV), code
        if code == 0:
            assert out.read_bytes() == right
        assert live_sessions(home) in (before, after)
        home.index()
    assert_same_as_fresh(home)
    told = ", ".join(f"{number} × {code}" for code, number in sorted(ends.items()))
    figure(f"no memory, {' '.join(command)}: {times} allocations failed ({told}), 0 lost, = fresh")


def test_little_memory_leaves_a_snapshot(home: Home, figure: Callable[[str], None]) -> None:
    """Also what tantivy allocates, which ends the process."""
    write_sessions(home, sessions=2)
    home.index()
    before = live_sessions(home)
    much(home, random.Random(2))
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    ends: Counter[int] = Counter()
    steps = scale.some(range(60, 400, 10), 2)
    for megabytes in steps:
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        limit = megabytes * 1024 * 1024

        def little(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        ends[home.run("index", "-q", preexec_fn=little).returncode] += 1
        now = live_sessions(home)
        assert now == before or len(now) == len(before) + 3
        assert home.run("index", "-q").returncode == 0
    assert_same_as_fresh(home)
    told = ", ".join(f"{number} × {code}" for code, number in sorted(ends.items()))
    figure(f"little memory: {len(steps)} limits from {steps[0]} MB on ({told}), 0 lost, = fresh")
