"""Filesystems that cannot do what a disk can: sync a directory, or lock for every machine.

There is none at hand, so here, and only here, functions are replaced.
"""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.store import fsio, lock
from tests.faults.test_concurrency import MAIN, SEARCHES, crowd, fill
from tests.helpers.homes import Home, assert_same_as_fresh

NO_FLOCK = "import fcntl; fcntl.flock = lambda *_: None\n"
NETWORK = "from ccgrep.store import lock; lock.network_filesystem = lambda _: 'nfs4'\n"
NO_SYNC = """
import os, stat
fsync = os.fsync
def refuse(descriptor):
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        raise OSError({code}, "no")
    fsync(descriptor)
os.fsync = refuse
"""


def run(home: Home, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code + MAIN, *arguments],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_directory_that_cannot_be_synced_is_no_error(home: Home, code: int) -> None:
    file = home.claude()
    file.turn("prompt", "answer")
    file.write()
    done = run(home, NO_SYNC.format(code=int(code)), "index", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert_same_as_fresh(home)


def test_filesystem_of_a_directory_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock.network_filesystem(str(tmp_path)) == ""
    device = tmp_path.stat().st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /home rw - {{}} host:/home rw\n"
    for kind, expected in (("nfs4", "nfs4"), ("cifs", "cifs"), ("ext4", ""), ("fuse.sshfs",) * 2):
        monkeypatch.setattr(lock, "_read_text", lambda _, kind=kind: line.format(kind))
        assert lock.network_filesystem(str(tmp_path)) == expected


def test_on_a_network_filesystem_a_directory_is_the_lock(
    home: Home, figure: Callable[[str], None]
) -> None:
    """As if flock worked for nobody: still one writes at a time, and no race is lost."""
    files = fill(home)
    commands = [["index", "-q"]] * 3 + [SEARCHES[0], ["gc"]]
    done = 0
    for said in crowd(home, files, commands, 3, NO_FLOCK + NETWORK + MAIN):
        assert "meanwhile" not in said.err, said
        assert said.code == 0 or "another ccgrep is writing" in said.err, said
        done += 1
    noted = run(home, NETWORK, "index")
    assert "the store is on a network filesystem (nfs4)" in noted.stderr
    assert not (home.store_dir / "lock.d").exists()
    assert_same_as_fresh(home)
    figure(f"network filesystem: {done} commands by a directory as lock, 0 races lost, = fresh")


HELD = """
import os, sys, time
from ccgrep.store.lock import WriterLock
with WriterLock(sys.argv[1], 5):
    os.kill(os.getpid(), 9)
"""


def test_directory_of_a_killed_writer_is_taken_over(home: Home) -> None:
    fill(home)
    for _ in range(3):
        child = subprocess.run(
            [sys.executable, "-c", NETWORK + HELD, str(home.store_dir / "lock")], check=False
        )
        assert child.returncode == -signal.SIGKILL
        assert (home.store_dir / "lock.d").is_dir()
        assert run(home, NETWORK, "index", "-q", "--no-wait").returncode == 2
        done = run(home, NETWORK, "index", "-q")
        assert (done.returncode, done.stderr) == (0, "")
    assert_same_as_fresh(home)


def test_directory_of_another_machine_is_respected_and_named(home: Home) -> None:
    fill(home)
    claim = home.store_dir / "lock.d"
    claim.mkdir()
    (claim / "owner").write_text("elsewhere process 12 345")
    done = run(home, NETWORK, "index", "--no-wait")
    assert done.returncode == 2
    assert "elsewhere process 12" in done.stderr
    assert f"delete {claim}" in done.stderr
    assert (claim / "owner").exists()
    assert_same_as_fresh(home)


def test_a_claim_given_back_may_be_taken_before_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file was deleted first, and another one could take what then was an empty directory."""
    path = str(tmp_path / "lock.d")
    assert fsio.claim(path, "first")
    unlink = os.unlink

    def beaten(name: str) -> None:
        unlink(name)
        monkeypatch.undo()
        assert fsio.claim(path, "second")

    monkeypatch.setattr(os, "unlink", beaten)
    fsio.release_claim(path)
    assert (tmp_path / "lock.d" / "owner").read_text() == "second"
    assert os.listdir(tmp_path) == ["lock.d"]
