"""Damaged, incomplete and recreated stores: no turn is lost."""

import shutil
import subprocess
import sys

import pytest

from ccgrep.store.fsio import remove_tree
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import index_sessions, object_bytes, pack_files, write_session


def test_repair_keeps_objects_of_truncated_pack_without_index(home: Home) -> None:
    files = [write_session(home, seed) for seed in (1, 2, 3)]
    home.index()
    for file in files:
        file.path.unlink()
    home.index()
    for pack in pack_files(home):
        pack.write_bytes(pack.read_bytes()[:-60])
        pack.with_suffix(".idx").unlink()
    home.run("fsck", "--repair")
    assert [home.prompts(file.id) for file in files] == [
        [f"prompt {seed} {number}" for number in range(3)] for seed in (1, 2, 3)
    ]


@pytest.mark.parametrize("position", [0, -33, -32, -1])
def test_flipped_bit_outside_of_objects_is_found_and_repaired(home: Home, position: int) -> None:
    """In the magic bytes, the end mark, and the first and last byte of the hash."""
    file = write_session(home)
    home.index()
    file.path.unlink()
    home.index()
    for pack in pack_files(home):
        data = bytearray(pack.read_bytes())
        data[position] ^= 1
        pack.write_bytes(data)
    assert home.run("fsck").returncode == 1
    assert home.run("fsck", "--repair").returncode == 0
    assert home.run("fsck").returncode == 0
    assert home.prompts(file.id) == [f"prompt 1 {number}" for number in range(3)]


def test_repair_finds_objects_behind_damage_without_index(home: Home) -> None:
    file = write_session(home, turns=6)
    home.index()
    file.path.unlink()
    home.index()
    victim = home.store.read_frame(home.manifest(file.id).entries[2].turn)
    for pack in pack_files(home):
        data = pack.read_bytes()
        at = data.find(victim.data)
        if at >= 0:
            pack.write_bytes(data[: at - 41] + bytes(50) + data[at + 9 :])
            pack.with_suffix(".idx").unlink()
    done = home.run("fsck", "--repair")
    assert f"still lost: turn {file.id}:2" in done.stdout
    assert home.run("show", f"{file.id}:5").stdout.count("prompt 1 5") == 1


def test_gc_refuses_to_copy_damaged_objects(home: Home) -> None:
    file = write_session(home)
    home.index()
    file.turn("more", "to come")
    file.append()
    home.index()
    victim = home.store.read_frame(home.manifest(file.id).entries[0].turn).data
    for pack in pack_files(home):
        pack.write_bytes(pack.read_bytes().replace(victim, victim[:-1] + b"\0"))
    done = home.run("gc")
    assert (done.returncode, "fsck --repair" in done.stderr) == (2, True)
    assert home.run("fsck", "--repair").returncode == 0
    assert_same_as_fresh(home)


def test_repair_reads_damaged_open_turn_again(home: Home) -> None:
    codex = home.codex()
    codex.meta()
    codex.turn("one", "two")
    codex.write()
    home.index()
    victim = home.store.read_frame(home.manifest(codex.id).entries[0].turn).data
    for pack in pack_files(home):
        pack.write_bytes(pack.read_bytes().replace(victim, bytes(len(victim))))
    codex.answer("three")
    codex.append()
    assert home.run("fsck", "--repair").returncode == 0
    assert_same_as_fresh(home)


def test_recreate_keeps_turns_of_deleted_longer_copy(home: Home) -> None:
    file = write_session(home, slug="-a")
    copy = home.projects / "-b" / file.path.name
    copy.parent.mkdir()
    copy.write_bytes(b"".join(file.lines()[:4]))
    home.index()
    file.path.unlink()
    assert home.run("index", "--recreate").returncode == 0
    kept = {prompt for id in home.rows() for prompt in home.prompts(id)}
    assert kept == {"prompt 1 0", "prompt 1 1", "prompt 1 2"}


def test_recreate_keeps_output_of_deleted_spill(home: Home) -> None:
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
    assert b"the whole output" in object_bytes(home)


def test_recreate_without_head_keeps_gone_and_forgotten_sessions(home: Home) -> None:
    gone, unwanted = write_session(home, 1), write_session(home, 2)
    home.index()
    gone.path.unlink()
    home.index()
    home.run("forget", unwanted.id)
    (home.store_dir / "HEAD").write_text("rubbish")
    assert home.run("index", "--recreate").returncode == 0
    assert list(home.rows()) == [gone.id]
    assert len(home.prompts(gone.id)) == 3


@pytest.mark.parametrize("name", ["FORMAT", "HEAD", "tmp", "objects", "lock"])
def test_store_without_one_of_its_parts_is_repaired(home: Home, name: str) -> None:
    write_session(home)
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


def test_store_without_format_and_head_is_not_recreated(home: Home) -> None:
    file = write_session(home)
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
def announce(self, deadline, owner):
    print("waiting", flush=True)
    pause(self, float("inf"), owner)
WriterLock._pause = announce
sys.exit(main())
"""


def test_writer_that_waited_through_recreate_locks_new_store(home: Home) -> None:
    write_session(home)
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
    assert waiter.wait() == 0
    assert_same_as_fresh(home)


def test_lost_pack_index_is_rebuilt(home: Home) -> None:
    index_sessions(home)
    for pack in pack_files(home):
        pack.with_suffix(".idx").unlink()
    assert len(home.rows()) == 5
    assert home.run("fsck").returncode == 1
    home.index()
    assert home.run("fsck").returncode == 0
    assert_same_as_fresh(home)


def test_store_without_head_is_damaged_not_empty(home: Home) -> None:
    ids = index_sessions(home)
    (home.store_dir / "HEAD").unlink()
    done = home.run("list")
    assert (done.returncode, "fsck --repair" in done.stderr) == (2, True)
    assert home.run("fsck", "--repair").returncode == 0
    assert sorted(home.rows()) == sorted(ids)
    assert_same_as_fresh(home)


def test_truncated_packs_are_repaired(home: Home) -> None:
    index_sessions(home)
    pack = pack_files(home)[0]
    whole = pack.read_bytes()
    for size in range(0, len(whole), len(whole) // 7):
        for path in pack.parent.iterdir():
            path.unlink()
        pack.write_bytes(whole[:size])
        assert home.run("fsck").returncode in (1, 2)
        assert home.run("fsck", "--repair").returncode == 0
        assert_same_as_fresh(home)


def test_repair_reports_turns_that_stay_lost(home: Home) -> None:
    file = home.claude()
    file.turn("lost", "for good " * 100)
    file.turn("kept", "well " * 100)
    file.write()
    home.index()
    file.path.unlink()
    home.index()
    target = home.store.read_frame(home.manifest(file.id).entries[0].turn).data
    for pack in pack_files(home):
        pack.write_bytes(pack.read_bytes().replace(target, bytes(len(target))))
    done = home.run("fsck", "--repair")
    assert done.returncode == 1
    assert f"still lost: turn {file.id}:0" in done.stdout
    shown = home.run("show", file.id)
    assert "(this turn is lost" in shown.stdout
    assert "user: kept" in shown.stdout
