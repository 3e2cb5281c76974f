"""Writers and readers at the same time: one writes, the others wait or read a whole snapshot."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ccgrep.errors import LostRaceError
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.sync import sync
from ccgrep.fulltext.writer import TextWriter
from ccgrep.ingest import run
from ccgrep.refresh import update
from ccgrep.refresh.update import ingest_grown
from ccgrep.store import refs
from ccgrep.store.lifecycle import create_store
from ccgrep.store.store import Store
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

WAITS = "another ccgrep is writing to the store"
MAIN = "import sys; from ccgrep.cli import main; sys.exit(main(sys.argv[1:]))"


def fill(home: Home) -> list[ClaudeFile]:
    files = written(home)
    home.index()
    return files


def written(home: Home) -> list[ClaudeFile]:
    files = []
    for seed in range(6):
        file = home.claude(seed + 1)
        for number in range(3):
            file.turn(f"prompt {seed} {number}", "answer " * 200)
        file.write()
        files.append(file)
    return files


class Said(NamedTuple):
    """What a command printed. `who` is the place among the commands that it was started from."""

    who: int
    command: list[str]
    code: int
    out: str
    err: str


def crowd(
    home: Home, files: list[ClaudeFile], commands: list[list[str]], seconds: float, code: str = MAIN
) -> Iterator[Said]:
    """Runs all commands again and again beside each other, while transcripts grow."""
    running: dict[int, subprocess.Popen[bytes]] = {}
    deadline = time.monotonic() + seconds
    turn = 0
    while (is_on := time.monotonic() < deadline) or running:
        if is_on:
            turn += 1
            growing = files[turn % len(files)]
            growing.turn(f"more {turn}", "prompt answered")
            growing.append()
        for who, command in enumerate(commands):
            out, err = (home.directory / f"{name}-{who}" for name in ("out", "err"))
            child = running.get(who)
            if child is not None and child.poll() is not None:
                del running[who]
                yield Said(who, command, child.returncode, out.read_text(), err.read_text())
            if who not in running and is_on:
                with out.open("wb") as stdout, err.open("wb") as stderr:
                    running[who] = subprocess.Popen(
                        [sys.executable, "-c", code, *command],
                        env=home.environment,
                        stdout=stdout,
                        stderr=stderr,
                    )
        time.sleep(0.05)


SEARCHES = (
    ["-F", "prompt", "--json", "-n", "0", "--timeout", "0"],
    ["prompt", "--json", "-n", "0", "--no-refresh"],
    ["-E", "prom[p]t", "--json", "-n", "0", "--timeout", "0"],
    ["prompt", "--json", "-n", "0"],
)


def sizes(out: str) -> dict[str, int]:
    """How many turns of each session were found. Of any snapshot that was committed these are
    the first ones of a session, without a gap: every turn has the word."""
    places: dict[str, set[int]] = {}
    for hit in json.loads(out)["results"]:
        for place in (hit, *hit.get("also_in", ())):
            places.setdefault(place["session_id"], set()).add(place["turn"])
    assert all(turns == set(range(len(turns))) for turns in places.values()), places
    return {id: len(turns) for id, turns in places.items()}


def test_indexers_searchers_and_gc_never_trip_over_each_other(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = fill(home)
    number, seconds = scale.of(4, 16), scale.of(6, 60)
    commands = [["index", "-q"]] * number
    commands += [SEARCHES[n % len(SEARCHES)] for n in range(number)]
    commands += [["gc", "--json"], ["list", "--json"], ["show", files[0].id], ["fsck"]]
    done: dict[str, int] = {}
    waited = 0
    last: dict[int, dict[str, int]] = {}
    for said in crowd(home, files, commands, seconds):
        name = said.command[0] if said.command[0] in ("index", "gc", "list", "show", "fsck") else ""
        assert "Traceback" not in said.err, said
        if said.code == 2 and WAITS in said.err and name in ("index", "gc"):
            waited += 1
            continue
        assert said.code == 0, said
        done[name or "search"] = done.get(name or "search", 0) + 1
        if name == "list":
            assert len(json.loads(said.out)["sessions"]) == len(files)
        if not name:
            assert not said.err or WAITS in said.err, said
            found = sizes(said.out)
            assert set(found) == {file.id for file in files}
            before = last.get(said.who, {})
            assert all(found[id] >= size for id, size in before.items()), said.command
            last[said.who] = found
    assert min(done.values()) > 0
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"concurrency: {number} indexers, {number} searchers, gc, fsck, list and show side by side "
        f"for {seconds} s: {sum(done.values())} commands ({done['search']} searches, {done['gc']} "
        f"gc), 0 errors, {waited} gave way after 10 s, every answer one snapshot's, = fresh"
    )


def test_index_that_does_not_wait_says_who_writes(home: Home) -> None:
    fill(home)
    with home.store.lock(0):
        begun = time.monotonic()
        done = home.run("index", "--no-wait")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{WAITS} (process {os.getpid()})" in done.stderr
        assert time.monotonic() - begun < 5
    assert_same_as_fresh(home)


HOLDER = """
import sys, time
from ccgrep.store.lock import WriterLock
with WriterLock(sys.argv[1], 10):
    print("held", flush=True)
    time.sleep(100)
"""
WAITER = """
import sys, time
from ccgrep.store import lock
tries = []
really = lock.WriterLock._try
def noted(self):
    tries.append(time.monotonic())
    if len(tries) == 1:
        print("waiting", flush=True)
    return really(self)
lock.WriterLock._try = noted
with lock.WriterLock(sys.argv[1], 30):
    print(*tries, time.monotonic(), flush=True)
    time.sleep(100)
"""


def start(code: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_lock_of_a_killed_writer_is_taken_by_the_next_at_once(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Who waits becomes the holder, is killed in turn, and so on."""
    fill(home)
    path = home.store_dir / "lock"
    kills, slowest = scale.of(10, 100), 0.0
    holder = start(HOLDER, path)
    assert line(holder) == "held\n"
    for _ in range(kills):
        waiter = start(WAITER, path)
        assert line(waiter) == "waiting\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        dead = time.monotonic()
        *tries, taken = map(float, line(waiter).split())
        assert len([one for one in tries if one > dead]) <= 1
        slowest = max(slowest, taken - dead)
        holder = waiter
    holder.kill()
    holder.wait()
    assert slowest * 1000 < scale.of(1000, 100)  # Others may have the cores.
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"stale locks: holder killed {kills} times, taken by the first try after its death "
        f"{kills} times, at the latest after {slowest * 1000:.0f} ms"
    )


def test_text_index_is_not_taken_for_one_of_a_later_snapshot(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no lock keeps another from committing before the text index is noted as finished."""
    files = fill(home)
    files[0].turn("prompt of one", "answer")
    files[0].append()
    reader = TextWriter.reader
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)

    def late(writer: TextWriter) -> TextReader:
        monkeypatch.setattr(TextWriter, "reader", reader)
        monkeypatch.setattr(update, "sync", lambda *_: 0)
        files[1].turn("prompt of another", "answer")
        files[1].append()
        home.index()
        monkeypatch.setattr(update, "sync", sync)
        return reader(writer)

    monkeypatch.setattr(TextWriter, "reader", late)
    with pytest.raises(LostRaceError):
        home.index()
    home.index()
    assert_same_as_fresh(home)


def test_append_goes_by_one_snapshot(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no lock keeps another, who began earlier, from committing while it is looked at what
    has grown: by its watermark of one snapshot and the turns of the other, some would be lost."""
    files = fill(home)
    earlier = home.store.head()
    for number in range(3):
        files[0].turn(f"prompt {number} of one", "answer")
    files[0].append()
    home.index()
    files[0].turn("prompt of another", "answer")
    files[0].append()
    has_one_file = run._has_one_file

    def late(*arguments: Any) -> bool:
        refs.write_head(home.store.directory, earlier)
        return has_one_file(*arguments)

    monkeypatch.setattr(run, "_has_one_file", late)
    assert not ingest_grown(home.config, [str(files[0].path)])
    home.index()
    assert_same_as_fresh(home)


LOCKLESS = "import fcntl; fcntl.flock = lambda *_: None\n" + MAIN


def test_without_locks_a_race_costs_work_and_no_turn(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = fill(home)
    number, seconds = scale.of(4, 16), scale.of(5, 60)
    commands = [["index", "-q"]] * number + [*SEARCHES] + [["gc"]]
    codes: dict[int, int] = {}
    for said in crowd(home, files, commands, seconds, LOCKLESS):
        assert "Traceback" not in said.err, said
        assert said.code in (0, 1, 2), said
        codes[said.code] = codes.get(said.code, 0) + 1
    assert codes[0]
    last = home.run("index", "-q")
    assert (last.returncode, last.stderr) == (0, "")
    assert_same_as_fresh(home)
    checked = home.run("fsck")
    assert checked.returncode == 0, checked.stdout
    lost = codes.get(2, 0)
    figure(
        f"without locks: {number} indexers, {len(SEARCHES)} searchers and gc for {seconds} s: "
        f"{sum(codes.values())} commands, {lost} lost a race, 0 corrupt stores, = fresh"
    )


def test_store_that_is_made_meanwhile_is_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it was not there yet, and before it is looked at what is."""
    names = Store.pack_names

    def late(store: Store) -> list[str]:
        monkeypatch.setattr(Store, "pack_names", names)
        written(home)
        home.index()
        return []

    monkeypatch.setattr(Store, "pack_names", late)
    assert list(create_store(str(home.store_dir)).rows())


def test_first_runs_at_once_all_succeed(tmp_path: Path, figure: Callable[[str], None]) -> None:
    times = scale.of(3, 100)
    for number in range(times):
        home = Home(tmp_path / f"home{number}")
        written(home)
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", MAIN, "index", "-q"],
                env=home.environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(6)
        ]
        assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * 6
        assert_same_as_fresh(home)
    figure(f"first runs: 6 at once, {times} times, 0 errors, all = fresh")
