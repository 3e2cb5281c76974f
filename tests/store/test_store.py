"""Objects, permissions, the format number, the lock, commits and folding."""

import errno
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from ccgrep.errors import CorruptError, FormatError, LockedError
from ccgrep.model import Session, Turn
from ccgrep.store import fsio
from ccgrep.store.commit import Commit
from ccgrep.store.lifecycle import create_store, open_store
from ccgrep.store.manifest import Manifest, Row
from ccgrep.store.objects import make_frame, unpack_frame
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import index_sessions


def store_files(home: Home) -> list[Path]:
    return [path for path in home.store_dir.rglob("*") if path.is_file()]


def test_object_id_covers_kind_length_and_content() -> None:
    frame = make_frame("turn", Turn(prompt="hello"))
    raw = b"\x81\xa6prompt\xa5hello"
    assert unpack_frame(frame) == raw
    assert frame.id == hashlib.sha256(b"turn 14\0" + raw).digest()


def test_threads_make_frames_concurrently() -> None:
    """Each thread reuses a compressor of its own."""
    turns = [Turn(prompt=f"hello {number} " * number) for number in range(300)]
    alone = [make_frame("turn", turn) for turn in turns]
    with ThreadPoolExecutor(4) as pool:
        results = [*pool.map(lambda _: [make_frame("turn", turn) for turn in turns], range(8))]
    assert all(frames == alone for frames in results)
    assert all(unpack_frame(frame) for frame in alone)


def test_damaged_object_is_never_returned(home: Home) -> None:
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


def test_store_that_others_can_read_becomes_private(home: Home) -> None:
    index_sessions(home, 1)
    home.store_dir.chmod(0o755)
    home.index()
    assert stat.S_IMODE(home.store_dir.stat().st_mode) == 0o700


def test_store_of_newer_format_stays_untouched(home: Home) -> None:
    index_sessions(home, 1)
    (home.store_dir / "FORMAT").write_text("ccgrep store\nformat 2\nfeatures \n")
    before = {path: path.read_bytes() for path in store_files(home)}
    for command in ("index", "list", "status", "gc", "fsck"):
        done = home.run(command)
        assert (done.returncode, "newer ccgrep" in done.stderr) == (2, True)
    assert {path: path.read_bytes() for path in store_files(home)} == before
    with pytest.raises(FormatError):
        open_store(str(home.store_dir))
    assert home.run("index", "--recreate").returncode == 0
    assert home.run("list").returncode == 0


def test_second_writer_names_holder_of_lock(home: Home) -> None:
    index_sessions(home, 1)
    with home.store.lock(0):
        done = home.run("index", "--no-wait")
        assert done.returncode == 2
        assert f"process {os.getpid()}" in done.stderr
        with pytest.raises(LockedError), home.store.lock(0):
            pass
    assert home.run("index", "--no-wait").returncode == 0


def test_lock_of_killed_process_is_free(home: Home) -> None:
    index_sessions(home, 1)
    code = (
        "import os, sys; from ccgrep.store.lifecycle import open_store\n"
        "with open_store(sys.argv[1]).lock(5): os.kill(os.getpid(), 9)"
    )
    for _ in range(3):
        child = subprocess.run([sys.executable, "-c", code, str(home.store_dir)], check=False)
        assert child.returncode == -signal.SIGKILL
        with home.store.lock(0.1):
            pass


def test_small_commits_are_folded_geometrically(home: Home) -> None:
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


def test_commit_without_change_writes_nothing(tmp_path: Path) -> None:
    store = create_store(str(tmp_path / "s"))
    with Commit(store) as commit:
        head = commit.commit(1)
    assert head == store.head()
    assert store.pack_names() == []


def test_replaced_manifest_is_never_written(tmp_path: Path) -> None:
    store = create_store(str(tmp_path / "s"))
    session = Session("a", "codex")
    with Commit(store) as commit:
        first = commit.put("manifest", Manifest(session))
        assert commit.load(first, Manifest).session == session
        row = Row(session, first)
        commit.set_row(row)
        commit.set_session(row, replace(session, title="new"))
        commit.commit(1)
    (row,) = store.rows()
    assert store.manifest(row).session.title == "new"
    assert first not in store


def test_foreign_directory_is_never_used_as_store(home: Home) -> None:
    home.store_dir.mkdir()
    (home.store_dir / "thesis.tex").write_text("precious")
    done = home.run("index")
    assert (done.returncode, "not empty and not a store" in done.stderr) == (2, True)
    assert os.listdir(home.store_dir) == ["thesis.tex"]


def test_remove_tree_retries_while_another_thread_adds_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "busy"
    folder.mkdir()
    failures = [OSError(errno.ENOTEMPTY, "not empty")] * 3
    rmtree = shutil.rmtree

    def fail_at_first(path: str) -> None:
        if failures:
            raise failures.pop()
        rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", fail_at_first)
    monkeypatch.setattr(fsio, "_RMTREE_PAUSE_S", 0)
    fsio.remove_tree(str(folder))
    assert not folder.exists()


def test_unfinished_files_of_dead_processes_are_deleted(home: Home) -> None:
    """Files of running processes stay: where locks do not work, they may be in use."""
    index_sessions(home)
    dead = subprocess.Popen(["true"])
    dead.wait()
    unfinished = [
        home.store_dir / "tmp" / f"pack.{number}.00" for number in (os.getpid(), dead.pid)
    ]
    old = home.store_dir / "tmp" / f"HEAD.{os.getpid()}.01"
    for path in (*unfinished, old, home.store_dir / "tmp" / "junk"):
        path.write_bytes(b"")
    os.utime(old, (time.time() - 90_000,) * 2)
    home.index()
    assert list((home.store_dir / "tmp").iterdir()) == unfinished[:1]
