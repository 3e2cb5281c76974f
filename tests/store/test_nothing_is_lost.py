"""Damage, odd orders of events and half-done commands: no turn is lost, none comes back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ccgrep.store.fsio import remove_tree
from ccgrep.store.objects import unpack_frame
from tests.faults.injection import SavedHome, count_operations, run_killed_at
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, encode


def packs(home: Home) -> list[Path]:
    return sorted((home.store_dir / "objects" / "pack").glob("*.pack"))


def everything(home: Home) -> bytes:
    frames = [unpack_frame(frame) for pack in home.store.packs() for _, frame in pack.scan()]
    return b"".join(frames)


def session(home: Home, seed: int = 1, turns: int = 3, **fields: str) -> ClaudeFile:
    file = home.claude(seed, **fields)
    for number in range(turns):
        file.turn(f"prompt {seed} {number}", f"answer {seed} {number}")
    file.write()
    return file


def test_repair_keeps_what_a_cut_pack_without_index_still_holds(home: Home) -> None:
    files = [session(home, seed) for seed in (1, 2, 3)]
    home.index()
    for file in files:
        file.path.unlink()
    home.index()
    for pack in packs(home):
        pack.write_bytes(pack.read_bytes()[:-60])
        pack.with_suffix(".idx").unlink()
    home.run("fsck", "--repair")
    assert [home.prompts(file.id) for file in files] == [
        [f"prompt {seed} {number}" for number in range(3)] for seed in (1, 2, 3)
    ]


def test_repair_finds_objects_behind_damage_in_a_pack_without_index(home: Home) -> None:
    file = session(home, turns=6)
    home.index()
    file.path.unlink()
    home.index()
    victim = home.store.read_frame(home.manifest(file.id).entries[2].turn)
    for pack in packs(home):
        data = pack.read_bytes()
        at = data.find(victim.data)
        if at >= 0:
            pack.write_bytes(data[: at - 41] + bytes(50) + data[at + 9 :])
            pack.with_suffix(".idx").unlink()
    done = home.run("fsck", "--repair")
    assert f"still lost: turn {file.id}:2" in done.stdout
    assert home.run("show", f"{file.id}:5").stdout.count("prompt 1 5") == 1


def test_gc_does_not_give_damage_a_valid_name(home: Home) -> None:
    file = session(home)
    home.index()
    file.turn("more", "to come")
    file.append()
    home.index()
    victim = home.store.read_frame(home.manifest(file.id).entries[0].turn).data
    for pack in packs(home):
        pack.write_bytes(pack.read_bytes().replace(victim, victim[:-1] + b"\0"))
    done = home.run("gc")
    assert (done.returncode, "fsck --repair" in done.stderr) == (2, True)
    assert home.run("fsck", "--repair").returncode == 0
    assert_same_as_fresh(home)


def test_damaged_open_turn_of_codex_is_read_again(home: Home) -> None:
    codex = home.codex()
    codex.meta()
    codex.turn("one", "two")
    codex.write()
    home.index()
    victim = home.store.read_frame(home.manifest(codex.id).entries[0].turn).data
    for pack in packs(home):
        pack.write_bytes(pack.read_bytes().replace(victim, bytes(len(victim))))
    codex.answer("three")
    codex.append()
    assert home.run("fsck", "--repair").returncode == 0
    assert_same_as_fresh(home)


def test_recreate_keeps_turns_that_only_a_vanished_longer_copy_had(home: Home) -> None:
    file = session(home, slug="-a")
    copy = home.projects / "-b" / file.path.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(file.lines()[:4]))
    home.index()
    file.path.unlink()
    assert home.run("index", "--recreate").returncode == 0
    kept = {prompt for id in home.rows() for prompt in home.prompts(id)}
    assert kept == {"prompt 1 0", "prompt 1 1", "prompt 1 2"}


def test_recreate_keeps_an_output_whose_spill_was_deleted(home: Home) -> None:
    file = home.claude()
    file.prompt("build")
    call = file.call("Bash", {"command": "make"})
    spill = file.path.with_suffix("") / "tool-results" / f"{call}.txt"
    spill.parent.mkdir(parents=True)
    spill.write_text("the whole output")
    file.result(call, f"<persisted-output>\nsaved to: {spill}\n</persisted-output>")
    file.write()
    home.index()
    spill.unlink()
    assert home.run("index", "--recreate").returncode == 0
    assert b"the whole output" in everything(home)


def test_recreate_of_a_store_without_head_keeps_gone_and_forgotten_sessions(home: Home) -> None:
    gone, unwanted = session(home, 1), session(home, 2)
    home.index()
    gone.path.unlink()
    home.index()
    home.run("forget", unwanted.id)
    (home.store_dir / "HEAD").write_text("rubbish")
    assert home.run("index", "--recreate").returncode == 0
    assert list(home.rows()) == [gone.id]
    assert len(home.prompts(gone.id)) == 3


def test_transcript_without_turns_does_not_wipe_recovered_prompts(home: Home) -> None:
    file = home.claude()
    history = home.directory / ".claude" / "history.jsonl"
    lines = [
        {"display": text, "timestamp": 1_790_000_000_000 + n, "sessionId": file.id}
        for n, text in enumerate(("first thought", "second thought"))
    ]
    history.write_bytes(b"".join(map(encode, lines)))
    home.index()
    assert home.prompts(file.id) == ["first thought", "second thought"]
    file.meta("custom-title", customTitle="only a title")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["first thought", "second thought"]
    file.turn("first thought", "an answer")
    file.turn("second thought", "another")
    file.write()
    home.index()
    assert [len(turn.steps) for turn in home.turns(file.id)] == [1, 1]


def test_recovered_prompts_are_the_same_in_whatever_order_hints_come(home: Home) -> None:
    id = home.claude(5).id
    prompt = "why does the consumer lag behind on one partition only, and since when exactly"
    folder = home.projects / "-p"
    folder.mkdir()
    entry = {"sessionId": id, "firstPrompt": prompt[:60] + "…", "created": "2026-09-21T10:00:00Z"}
    (folder / "sessions-index.json").write_bytes(encode({"version": 1, "entries": [entry]}))
    home.index()
    history = home.directory / ".claude" / "history.jsonl"
    for number, text in enumerate((prompt, "go on")):
        line = {"display": text, "timestamp": 1_790_000_000_000 + number, "sessionId": id}
        history.open("ab").write(encode(line))
        home.index()
    assert home.prompts(id) == [prompt, "go on"]
    history.write_bytes(
        encode({"display": "third", "timestamp": 1_790_000_000_009, "sessionId": id})
    )
    home.index()
    assert home.prompts(id) == [prompt, "go on", "third"]


def test_tail_that_is_rewritten_at_the_same_size_is_read(home: Home) -> None:
    file = home.claude()
    file.turn("one", "two")
    whole = b"".join(file.lines())
    file.path.parent.mkdir(parents=True)
    cut = len(whole) - 40
    file.path.write_bytes(whole[:cut] + bytes(40))
    home.index()
    file.path.write_bytes(whole)
    home.index()
    assert_same_as_fresh(home)
    assert len(home.turns(file.id)[0].steps) == 1


def test_emptied_transcript_keeps_its_turns_in_sight(home: Home) -> None:
    file = session(home)
    home.index()
    file.path.write_bytes(b"")
    home.index()
    assert len(home.prompts(file.id)) == 3
    assert home.run("list").stdout.startswith(file.id[:8])


# What is forgotten.


def test_forgotten_session_stays_away_when_its_file_moves(home: Home) -> None:
    codex = home.codex()
    codex.meta()
    codex.turn("canary-prompt", "canary-answer")
    codex.write()
    home.index()
    home.run("forget", codex.id)
    target = home.codex_sessions.parent / "archived_sessions" / codex.path.name
    target.parent.mkdir()
    codex.path.rename(target)
    home.index()
    assert home.rows() == {}
    assert b"canary" not in everything(home)


def test_forget_that_was_killed_is_finished_by_the_next_run(home: Home) -> None:
    file = session(home)
    other = session(home, 2)
    home.index()
    saved = SavedHome(home)
    operations = count_operations(home, "forget", file.id)
    for n in scale.some(range(1, operations + 1), 15):
        saved.restore()
        run_killed_at(home, n, "forget", file.id)
        home.index()
        if file.id not in home.rows():
            assert b"answer 1" not in everything(home), n
        assert len(home.prompts(other.id)) == 3


def test_forgetting_a_namesake_leaves_the_other_alone(home: Home) -> None:
    first = session(home, 1, slug="-a")
    second = session(home, 2, slug="-b", name=first.id)
    home.index()
    assert sorted(home.rows()) == [first.id, f"{first.id}~2"]
    forgotten = next(id for id in home.rows() if home.prompts(id)[0] == "prompt 1 0")
    home.run("forget", forgotten)
    second.turn("more", "to come")
    second.append()
    target = home.projects / "-c" / first.path.name
    target.parent.mkdir()
    first.path.rename(target)
    home.index()
    assert [home.prompts(id)[0] for id in home.rows()] == ["prompt 2 0"]
    assert len(home.prompts(next(iter(home.rows())))) == 4


def test_forgetting_a_superseded_session_keeps_the_sub_agents_of_the_live_one(home: Home) -> None:
    file = session(home)
    agent = home.subagent(file, "agent-a1b2c3d")
    agent.turn("look", "seen")
    agent.write()
    home.index()
    file.records.clear()
    file.turn("another", "story")
    file.write()
    home.index()
    home.run("forget", f"{file.id}~2")
    assert sorted(home.rows()) == sorted([file.id, agent.id])


def test_new_sub_agent_of_a_forgotten_session_is_not_taken_in(home: Home) -> None:
    file = session(home)
    home.index()
    home.run("forget", file.id)
    agent = home.subagent(file, "agent-a1b2c3d")
    agent.turn("look", "seen")
    agent.write()
    home.index()
    assert home.rows() == {}


def test_forgetting_an_inline_sub_agent_leaves_its_parent(home: Home) -> None:
    file = home.claude(version="1.0.90")
    file.turn("one", "two")
    root = file.add("user", message={"role": "user", "content": "side"}, isSidechain=True)
    file.add(
        "assistant",
        message={"id": "m", "role": "assistant", "content": [{"type": "text", "text": "done"}]},
        isSidechain=True,
        parentUuid=root["uuid"],
    )
    root["parentUuid"] = None
    file.write()
    home.index()
    side = next(id for id in home.rows() if id.startswith("agent-"))
    home.run("forget", side)
    file.turn("three", "four")
    file.append()
    home.index()
    assert list(home.rows()) == [file.id]
    assert home.prompts(file.id) == ["one", "three"]
    assert not home.rows()[file.id].is_gone


def test_what_is_forgotten_outlives_a_lost_snapshot(home: Home) -> None:
    file, other = session(home, 1), session(home, 2)
    home.index()
    home.run("forget", file.id)
    remove_tree(str(home.store_dir / "objects"))
    (home.store_dir / "HEAD").unlink()
    assert home.run("fsck", "--repair").returncode == 0
    assert list(home.rows()) == [other.id]


# The store's own files.


@pytest.mark.parametrize("name", ["FORMAT", "HEAD", "tmp", "objects", "lock"])
def test_store_that_lost_a_part_is_repaired(home: Home, name: str) -> None:
    session(home)
    home.index()
    path = home.store_dir / name
    if path.is_dir():
        remove_tree(str(path))
    else:
        path.unlink()
    repaired = home.run("fsck", "--repair")
    assert (repaired.returncode, "Traceback" in repaired.stderr) == (0, False)
    home.index()
    assert_same_as_fresh(home)


def test_store_without_format_and_head_is_not_begun_anew(home: Home) -> None:
    file = session(home)
    home.index()
    file.path.unlink()
    home.index()
    (home.store_dir / "FORMAT").unlink()
    (home.store_dir / "HEAD").unlink()
    done = home.run("index")
    assert (done.returncode, "fsck --repair" in done.stderr) == (2, True)
    assert home.run("fsck", "--repair").returncode == 0
    assert len(home.prompts(file.id)) == 3


ANNOUNCE_WAITING = """
import sys
from ccgrep.cli import main
from ccgrep.store.lock import WriterLock
pause = WriterLock._pause
def announce(*arguments):
    print("waiting", flush=True)
    pause(*arguments)
WriterLock._pause = announce
sys.exit(main())
"""


def test_writer_that_waited_through_recreate_locks_the_new_store(home: Home) -> None:
    session(home)
    home.index()
    with home.store.lock(0):
        waiter = subprocess.Popen(
            [sys.executable, "-c", ANNOUNCE_WAITING, "index", "-q"],
            env=home.environment,
            stdout=subprocess.PIPE,
        )
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == b"waiting\n"
        aside = home.store_dir.with_name("store.old-1")
        shutil.copytree(home.store_dir, home.store_dir.with_name("store.new"))
        home.store_dir.rename(aside)
        home.store_dir.with_name("store.new").rename(home.store_dir)
    with home.store.lock(5):
        pass
    assert waiter.wait(20) == 0
    assert_same_as_fresh(home)


def test_unreadable_transcript_is_reported(home: Home) -> None:
    file = session(home, 1)
    session(home, 2)
    file.path.chmod(0)
    # Root may read everything, unless it gives up its capabilities.
    drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*drop, sys.executable, "-m", "ccgrep", "index"],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{file.path}: Permission denied" in done.stderr
    assert "1 read" in done.stderr


def test_closed_and_full_streams_are_no_traceback(home: Home) -> None:
    file = session(home)
    home.index()
    run = f"{sys.executable} -m ccgrep"
    for line, code in (
        *([(f"{run} list >/dev/full", 2)] if os.path.exists("/dev/full") else []),
        (f"{run} list >&-", 0),
        (f"{run} show - <&-", 2),
        (f"{run} show {file.id} 2>&-", 0),
    ):
        done = subprocess.run(
            ["bash", "-c", line],
            env=home.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), line
