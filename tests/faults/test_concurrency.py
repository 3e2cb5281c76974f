"""Writers and readers side by side: one process writes, the others read a whole snapshot."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccgrep.errors import LostRaceError
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.sync import sync
from ccgrep.fulltext.writer import TextWriter
from ccgrep.ingest.run import find_grown_rows
from ccgrep.refresh import update
from ccgrep.refresh.update import ingest_grown
from ccgrep.store import refs
from ccgrep.store.lifecycle import create_store
from ccgrep.store.store import Store
from tests.faults.crowd import MAIN, NO_FLOCK, PATIENT, SEARCHES, run_crowd, write_prompts
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

IS_WRITING = "another ccgrep is writing to the store"
NAMED = ("index", "gc", "list", "show", "fsck")


def indexed(home: Home) -> list[ClaudeFile]:
    files = write_prompts(home)
    home.index()
    return files


def turns_found(out: str) -> dict[str, int]:
    """Return how many turns of each session a search found.

    Every turn contains the word. So in any committed snapshot the hits of a session are its first
    turns, without a gap.
    """
    places: dict[str, set[int]] = {}
    for hit in json.loads(out)["results"]:
        for place in (hit, *hit.get("also_in", ())):
            places.setdefault(place["session_id"], set()).add(place["turn"])
    assert all(turns == set(range(len(turns))) for turns in places.values()), places
    return {id: len(turns) for id, turns in places.items()}


def test_indexers_searchers_and_gc_do_not_disturb_each_other(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = indexed(home)
    number, rounds = scale.of(3, 16), scale.of(2, 10)
    commands = [["index", "-q"]] * number
    commands += [SEARCHES[n % len(SEARCHES)] for n in range(number + 1)]
    commands += [["gc", "--json"], ["list", "--json"], ["show", files[0].id], ["fsck"]]
    done: Counter[str] = Counter()
    last: dict[int, dict[str, int]] = {}
    for reply in run_crowd(home, files, commands, rounds, PATIENT + MAIN):
        name = reply.command[0] if reply.command[0] in NAMED else "search"
        assert "Traceback" not in reply.err, reply
        assert reply.code == 0, reply
        done[name] += 1
        if name == "list":
            assert len(json.loads(reply.out)["sessions"]) == len(files)
        if name == "search":
            assert not reply.err or IS_WRITING in reply.err, reply
            found = turns_found(reply.out)
            assert set(found) == {file.id for file in files}
            before = last.get(reply.caller, {})
            assert all(found[id] >= turns for id, turns in before.items()), reply.command
            last[reply.caller] = found
    assert done.total() == rounds * len(commands)
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"concurrency: {number} indexers, {number + 1} searchers, gc, fsck, list and show side by "
        f"side, {rounds} times each: {done.total()} commands succeeded, every answer from one "
        "snapshot, = fresh"
    )


NEVER_SLEEPS = """
import time
def fail(_): raise AssertionError("waited for the lock")
time.sleep = fail
"""


def test_no_wait_exits_at_once_and_names_the_writer(home: Home) -> None:
    indexed(home)
    with home.store.lock(0):
        done = subprocess.run(
            [sys.executable, "-c", NEVER_SLEEPS + MAIN, "index", "--no-wait"],
            env=home.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{IS_WRITING} (process {os.getpid()})" in done.stderr
    assert_same_as_fresh(home)


HOLD_LOCK = """
import fcntl, sys
from ccgrep.store.lock import WriterLock
flock, attempts = fcntl.flock, 0
def attempt(*arguments):
    global attempts
    attempts += 1
    if attempts != 2:
        return flock(*arguments)
    print("waiting", flush=True)
    sys.stdin.readline()  # until the holder is dead
    flock(*arguments)
    print("taken at once", flush=True)
fcntl.flock = attempt
with WriterLock(sys.argv[1], 600):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def next_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_lock_of_a_killed_writer_is_free_at_once(home: Home, figure: Callable[[str], None]) -> None:
    """Each waiter takes the lock at its first attempt after the holder died, and dies in turn."""
    indexed(home)
    path = home.store_dir / "lock"
    kills = scale.of(3, 100)
    holder = start_holder(path)
    assert next_line(holder) == "held"
    taken = 0
    for _ in range(kills):
        waiter = start_holder(path)
        assert next_line(waiter) == "waiting"
        holder.kill()
        assert holder.wait() == -signal.SIGKILL
        assert waiter.stdin is not None
        waiter.stdin.write("go on\n")
        waiter.stdin.flush()
        taken += next_line(waiter) == "taken at once"
        assert next_line(waiter) == "held"
        holder = waiter
    holder.kill()
    holder.wait()
    assert taken == kills
    home.index()
    assert_same_as_fresh(home)
    figure(f"stale locks: holder killed {kills} times, next attempt took the lock {taken} times")


def test_full_text_index_is_not_recorded_as_synced_to_a_later_snapshot(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without locks another process may commit before the full-text index is recorded."""
    files = indexed(home)
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


def test_append_uses_one_snapshot(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks a process that began earlier may commit during change detection.

    With the watermark of one snapshot and the turns of the other, turns would be lost.
    """
    files = indexed(home)
    earlier = home.store.head()
    for number in range(3):
        files[0].turn(f"prompt {number} of one", "answer")
    files[0].append()
    home.index()
    files[0].turn("prompt of another", "answer")
    files[0].append()

    def late(*arguments: Any) -> Any:
        rows = find_grown_rows(*arguments)
        refs.write_head(home.store.directory, earlier)
        return rows

    monkeypatch.setattr(update, "find_grown_rows", late)
    assert not ingest_grown(home.config, [str(files[0].path)])
    home.index()
    assert_same_as_fresh(home)


def test_without_locks_a_race_costs_work_and_no_turn(
    home: Home, figure: Callable[[str], None]
) -> None:
    files = indexed(home)
    number, rounds = scale.of(3, 16), scale.of(2, 20)
    commands = [["index", "-q"]] * number + [*SEARCHES] + [["gc"]]
    codes: Counter[int] = Counter()
    for reply in run_crowd(home, files, commands, rounds, NO_FLOCK + MAIN):
        assert "Traceback" not in reply.err, reply
        assert reply.code in (0, 1, 2), reply
        codes[reply.code] += 1
    last = home.run("index", "-q")
    assert (last.returncode, last.stderr) == (0, "")
    assert_same_as_fresh(home)
    checked = home.run("fsck")
    assert checked.returncode == 0, checked.stdout
    figure(
        f"without locks: {number} indexers, {len(SEARCHES)} searchers and gc, {rounds} times each: "
        f"{codes.total()} commands, {codes[2]} lost a race, fsck clean, = fresh"
    )


def test_store_created_by_another_process_meanwhile_is_used(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process creates the store after this one found none."""
    names = Store.pack_names

    def late(store: Store) -> list[str]:
        monkeypatch.setattr(Store, "pack_names", names)
        indexed(home)
        return []

    monkeypatch.setattr(Store, "pack_names", late)
    assert list(create_store(str(home.store_dir)).rows())


def test_first_runs_at_the_same_time_all_succeed(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    times, at_once = scale.of(2, 100), 6
    for number in range(times):
        home = Home(tmp_path / f"home{number}")
        write_prompts(home)
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", PATIENT + MAIN, "index", "-q"],
                env=home.environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(at_once)
        ]
        assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * at_once
        assert_same_as_fresh(home)
    figure(f"first runs: {at_once} at once, {times} times, all succeeded, all = fresh")
