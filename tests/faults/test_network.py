"""Filesystems that cannot sync a directory, or whose locks do not work across machines.

No such filesystem is available to the tests, so these tests replace functions.
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
from tests.faults.crowd import MAIN, NO_FLOCK, PATIENT, SEARCHES, run_crowd, write_prompts
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

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
        timeout=300,
    )


def fill(home: Home) -> None:
    write_prompts(home)
    home.index()


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_directory_that_cannot_be_synced_is_no_error(home: Home, code: int) -> None:
    file = home.claude()
    file.turn("prompt", "answer")
    file.write()
    done = run(home, NO_SYNC.format(code=int(code)), "index", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert_same_as_fresh(home)


def test_network_filesystems_are_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock.network_filesystem(str(tmp_path)) == ""
    device = tmp_path.stat().st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /home rw - {{}} host:/home rw\n"
    for kind, expected in (("nfs4", "nfs4"), ("cifs", "cifs"), ("ext4", ""), ("fuse.sshfs",) * 2):
        monkeypatch.setattr(lock, "_read_text", lambda _, kind=kind: line.format(kind))
        assert lock.network_filesystem(str(tmp_path)) == expected


def test_network_filesystem_uses_a_directory_as_lock(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Even if flock has no effect, one process writes at a time and no race is lost."""
    files = write_prompts(home)
    home.index()
    commands = [["index", "-q"]] * 3 + [SEARCHES[0], ["gc"]]
    replies = lost = 0
    code = NO_FLOCK + NETWORK + PATIENT + MAIN
    for reply in run_crowd(home, files, commands, scale.of(2, 10), code):
        assert reply.code == 0 or "another ccgrep is writing" in reply.err, reply
        replies += 1
        lost += "meanwhile" in reply.err
    assert lost == 0
    warned = run(home, NETWORK, "index")
    assert "the store is on a network filesystem (nfs4)" in warned.stderr
    assert not (home.store_dir / "lock.d").exists()
    assert_same_as_fresh(home)
    figure(f"network filesystem: {replies} commands with a directory as lock, {lost} races lost")


HELD = """
import os, sys
from ccgrep.store.lock import WriterLock
with WriterLock(sys.argv[1], 600):
    os.kill(os.getpid(), 9)
"""


def test_lock_directory_of_a_killed_writer_is_taken_over(home: Home) -> None:
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


def test_lock_directory_of_another_machine_is_respected_and_named(home: Home) -> None:
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


def test_released_claim_can_be_taken_before_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the owner file were deleted first, another process could claim the empty directory."""
    path = str(tmp_path / "lock.d")
    assert fsio.claim(path, "first")
    unlink = os.unlink

    def claim_first(name: str) -> None:
        unlink(name)
        monkeypatch.undo()
        assert fsio.claim(path, "second")

    monkeypatch.setattr(os, "unlink", claim_first)
    fsio.release_claim(path)
    assert (tmp_path / "lock.d" / "owner").read_text() == "second"
    assert os.listdir(tmp_path) == ["lock.d"]
