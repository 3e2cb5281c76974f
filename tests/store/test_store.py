"""Packs, permissions, the lock, the format number, fsck, gc and forget."""

import contextlib
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ccgrep.errors import CorruptError, FormatError, LockedError
from ccgrep.model import Turn
from ccgrep.store import fsck, fsio
from ccgrep.store.commit import Commit
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.objects import make_frame, unpack_frame
from tests.helpers.homes import Home, assert_same_as_fresh


def filled(home: Home, sessions: int = 5) -> list[str]:
    ids = []
    for seed in range(sessions):
        file = home.claude(seed + 1)
        for number in range(4):
            file.turn(f"prompt {seed} {number}", f"canary-{seed}-{number}", "ls", "x" * 300)
        file.write()
        ids.append(file.id)
    home.index()
    return ids


def files_of(home: Home) -> list[Path]:
    return [path for path in home.store_dir.rglob("*") if path.is_file()]


def test_object_is_named_by_kind_length_and_content() -> None:
    frame = make_frame("turn", Turn(prompt="hello"))
    raw = b"\x81\xa6prompt\xa5hello"
    assert unpack_frame(frame) == raw
    assert frame.id == hashlib.sha256(b"turn 14\0" + raw).digest()


def test_threads_freeze_side_by_side() -> None:
    """Each with a compressor of its own, which is used again."""
    turns = [Turn(prompt=f"hello {number} " * number) for number in range(300)]
    alone = [make_frame("turn", turn) for turn in turns]
    with ThreadPoolExecutor(4) as pool:
        made = [*pool.map(lambda _: [make_frame("turn", turn) for turn in turns], range(8))]
    assert all(frames == alone for frames in made)
    assert all(unpack_frame(frame) for frame in alone)


def test_damaged_object_is_never_given_out(home: Home) -> None:
    frame = make_frame("turn", Turn(prompt="hello"))
    with pytest.raises(CorruptError):
        unpack_frame(frame._replace(data=make_frame("turn", Turn(prompt="hallo")).data))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_store_is_private_whatever_the_umask(home: Home, umask: int) -> None:
    file = home.claude()
    file.turn("a", "b")
    file.write()
    code = f"import os, sys; os.umask({umask}); sys.argv = ['ccgrep', 'index']; " + (
        "from ccgrep.cli import main; sys.exit(main())"
    )
    subprocess.run([sys.executable, "-c", code], env=home.environment, check=True)
    modes = {
        stat.S_IMODE(path.stat().st_mode) & 0o077
        for path in [home.store_dir, *home.store_dir.rglob("*")]
    }
    assert modes == {0}


def test_loose_store_directory_is_tightened(home: Home) -> None:
    filled(home, 1)
    home.store_dir.chmod(0o755)
    home.index()
    assert stat.S_IMODE(home.store_dir.stat().st_mode) == 0o700


def test_store_of_a_newer_format_is_not_touched(home: Home) -> None:
    filled(home, 1)
    (home.store_dir / "FORMAT").write_text("ccgrep store\nformat 2\nfeatures \n")
    before = {path: path.read_bytes() for path in files_of(home)}
    for command in ("index", "list", "status", "gc", "fsck"):
        done = home.run(command)
        assert (done.returncode, "newer ccgrep" in done.stderr) == (2, True)
    assert {path: path.read_bytes() for path in files_of(home)} == before
    with pytest.raises(FormatError):
        open_store(str(home.store_dir))
    assert home.run("index", "--recreate").returncode == 0
    assert home.run("list").returncode == 0


def test_second_writer_is_told_who_holds_the_lock(home: Home) -> None:
    filled(home, 1)
    with home.store.lock(0):
        done = home.run("index", "--no-wait")
        assert done.returncode == 2
        assert f"process {os.getpid()}" in done.stderr
        with pytest.raises(LockedError), home.store.lock(0):
            pass
    assert home.run("index", "--no-wait").returncode == 0


def test_lock_of_a_dead_process_is_free(home: Home) -> None:
    filled(home, 1)
    code = (
        "import os, sys; from ccgrep.store.lifecycle import open_store\n"
        "with open_store(sys.argv[1]).lock(5): os.kill(os.getpid(), 9)"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code, str(home.store_dir)], check=False)
        with home.store.lock(0.1):
            pass


def test_lost_pack_index_is_made_again(home: Home) -> None:
    filled(home)
    for path in (home.store_dir / "objects" / "pack").glob("*.idx"):
        path.unlink()
    assert len(home.rows()) == 5
    assert home.run("fsck").returncode == 1
    home.index()
    assert home.run("fsck").returncode == 0
    assert_same_as_fresh(home)


def test_lost_head_is_not_an_empty_store(home: Home) -> None:
    ids = filled(home)
    (home.store_dir / "HEAD").unlink()
    done = home.run("list")
    assert (done.returncode, "fsck --repair" in done.stderr) == (2, True)
    assert home.run("fsck", "--repair").returncode == 0
    assert sorted(home.rows()) == sorted(ids)
    assert_same_as_fresh(home)


def test_truncated_packs_are_found_and_repaired(home: Home) -> None:
    filled(home)
    pack = next((home.store_dir / "objects" / "pack").glob("*.pack"))
    whole = pack.read_bytes()
    for size in range(0, len(whole), len(whole) // 7):
        for path in pack.parent.iterdir():
            path.unlink()
        pack.write_bytes(whole[:size])
        assert home.run("fsck").returncode in (1, 2)
        assert home.run("fsck", "--repair").returncode == 0
        assert_same_as_fresh(home)


def test_repair_names_turns_that_are_lost_for_good(home: Home) -> None:
    file = home.claude()
    file.turn("lost", "for good " * 100)
    file.turn("kept", "well " * 100)
    file.write()
    home.index()
    file.path.unlink()
    home.index()
    target = home.store.read_frame(home.manifest(file.id).entries[0].turn).data
    for pack in (home.store_dir / "objects" / "pack").glob("*.pack"):
        pack.write_bytes(pack.read_bytes().replace(target, bytes(len(target))))
    done = home.run("fsck", "--repair")
    assert done.returncode == 1
    assert f"still lost: turn {file.id}:0" in done.stdout
    shown = home.run("show", file.id)
    assert "(this turn is lost" in shown.stdout
    assert "user: kept" in shown.stdout


def test_many_small_commits_are_folded_geometrically(home: Home) -> None:
    file = home.claude()
    for number in range(40):
        file.turn(f"prompt {number}", f"answer {number}")
        file.append()
        home.index()
        assert len(home.store.packs()) <= 8
    home.store.fold()
    sizes = sorted(pack.size for pack in home.store.packs())
    assert all(large >= sum(sizes[:n]) for n, large in enumerate(sizes[1:], 1))
    assert_same_as_fresh(home)


def test_forget_leaves_no_byte_and_the_session_stays_away(home: Home) -> None:
    secret = home.claude(1)
    secret.turn("canary-prompt-7731", "canary-answer-7732", "echo", "canary-output-7733")
    secret.write()
    agent = home.subagent(secret, "agent-a1b2c3d")
    agent.turn("canary-agent-7734", "x")
    agent.write()
    other = home.claude(2)
    other.turn("ordinary", "talk")
    other.write()
    for _ in range(3):
        home.index()
        secret.turn("canary-more-7735", "y")
        secret.append()
    done = home.run("forget", secret.id)
    assert done.returncode == 0, done.stderr
    assert sorted(home.rows()) == [other.id]
    home.index()
    home.index(is_full=True)
    assert sorted(home.rows()) == [other.id]
    held = _everything(home)
    assert [word for word in (b"canary", secret.id.encode()) if word in held] == []


def _everything(home: Home) -> bytes:
    """Every byte of the store, packs also unpacked."""
    raw = b"".join(path.read_bytes() for path in files_of(home))
    frames = [unpack_frame(frame) for pack in home.store.packs() for _, frame in pack.scan()]
    return raw + b"".join(frames)


def test_forgetting_a_fork_keeps_the_shared_turns_of_the_other(home: Home) -> None:
    parent = home.claude()
    parent.turn("shared", "turn")
    parent.turn("own", "turn")
    parent.write()
    fork = parent.fork(home.projects / "-x", 2, seed=5)
    fork.turn("forked", "turn")
    fork.write()
    home.index()
    assert home.run("forget", fork.id).returncode == 0
    assert home.prompts(parent.id) == ["shared", "own"]
    assert fsck.check(home.store).is_clean


def test_commit_without_change_writes_nothing(tmp_path: Path) -> None:
    store = create_store(str(tmp_path / "s"))
    with Commit(store) as commit:
        head = commit.commit(1)
    assert head == store.head()
    assert store.pack_names() == []


def test_foreign_directory_is_not_taken_for_a_store(home: Home) -> None:
    home.store_dir.mkdir()
    (home.store_dir / "thesis.tex").write_text("precious")
    done = home.run("index")
    assert (done.returncode, "not empty and not a store" in done.stderr) == (2, True)
    assert os.listdir(home.store_dir) == ["thesis.tex"]


def test_folder_that_is_still_written_to_is_removed_once_that_ends(tmp_path: Path) -> None:
    folder = tmp_path / "busy"
    folder.mkdir()
    until = time.monotonic() + 0.3

    def write() -> None:
        number = 0
        while time.monotonic() < until:
            number += 1
            with contextlib.suppress(FileNotFoundError):
                (folder / str(number)).touch()

    writer = threading.Thread(target=write)
    writer.start()
    fsio.remove_tree(str(folder))
    writer.join()
    assert not folder.exists()


def test_what_a_dead_process_left_half_made_is_removed(home: Home) -> None:
    """And what is of a running one is left, since it may be at work where locks do not hold."""
    filled(home)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [home.store_dir / "tmp" / f"pack.{number}.00" for number in (os.getpid(), dead.pid)]
    old = home.store_dir / "tmp" / f"HEAD.{os.getpid()}.01"
    for path in (*left, old, home.store_dir / "tmp" / "junk"):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 90_000,) * 2)
    home.index()
    assert list((home.store_dir / "tmp").iterdir()) == left[:1]
