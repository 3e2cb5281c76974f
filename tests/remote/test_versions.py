"""Machines with different versions of ccgrep share a remote."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ccgrep.errors import NewerVersionError
from ccgrep.ops import sync as ops
from ccgrep.remote.head import Head
from tests.compat.make import HERE
from tests.helpers.fleet import PULL, PUSH, Fleet, conversations
from tests.helpers.stored import write_session

STORES = ("format1-text1", "format1-marks")
NEWER: dict[str, Callable[[Head], Head]] = {
    "format": lambda head: replace(head, format=2),
    "feature": lambda head: replace(head, features=("originals", "telepathy")),
}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Return two homes that have each pushed a session and pulled nothing."""
    fleet = Fleet(tmp_path)
    for number in range(2):
        write_session(fleet[number], number)
        fleet[number].index()
        fleet.sync(number, PUSH)
    return fleet


def test_newer_remote_is_left_alone(fleet: Fleet) -> None:
    path = fleet.folder / "FORMAT"
    old = path.read_text()
    path.write_text(old.replace("format 1", "format 2"))
    before = {path: path.read_bytes() for path in fleet.files()}
    write_session(fleet[1], 2)
    for command in (["sync"], ["fsck", "--remote", "r"]):
        done = fleet[1].run(*command)
        message = "ccgrep: the remote has format 2, from a newer ccgrep: upgrade ccgrep\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message), command
    assert {path: path.read_bytes() for path in fleet.files()} == before
    path.write_text(old)
    fleet.settle()
    assert len(conversations(fleet[0])) == 3


@pytest.mark.parametrize("kind", NEWER)
def test_head_of_a_newer_version_is_named_and_kept(fleet: Fleet, kind: str) -> None:
    remote, name = fleet.remote(), fleet.head_path(0).stem
    head = remote.read_head(name)
    remote.write_head(NEWER[kind](head), is_forced=True)
    newer = fleet.head_path(0).read_bytes()
    problem = "'machine0' has pushed with a newer ccgrep: upgrade ccgrep here to read its sessions"
    report = fleet.sync(1)
    assert report.problems == [problem]
    assert len(conversations(fleet[1])) == 1
    forgotten = next(iter(fleet[1].rows()))
    fleet[1].run("forget", forgotten)
    packs = fleet.files("packs")
    assert fleet.sync(1).problems == [problem]
    with pytest.raises(NewerVersionError, match=problem):
        ops.gc_remote(fleet[1].config, "r", grace_days=0)
    assert set(fleet.files("packs")) >= set(packs), "what the newer head lists is unknown"
    checked = fleet[1].run("fsck", "--remote", "r")
    assert (checked.returncode, checked.stdout.count(f"not checked: {problem}\n")) == (1, 1)
    status = fleet[1].run("remote", "status")
    assert status.stderr == f"ccgrep: {problem}\n"
    assert "machine1 (this machine): pushed" in status.stdout
    assert fleet.head_path(0).read_bytes() == newer
    remote.write_head(head, is_forced=True)  # as after an upgrade
    fleet.sync(1, PULL)
    assert [prompts[0] for *_, prompts in conversations(fleet[1])] == ["prompt 0 0"]


def test_pack_of_a_newer_version_is_named(fleet: Fleet) -> None:
    remote = fleet.remote()
    pack = next(
        name
        for name in remote.list().packs
        if name in remote.read_head(fleet.head_path(0).stem).packs
    )
    path = fleet.folder / "packs" / f"{pack}.age"
    good = path.read_bytes()
    path.write_bytes(remote.key.seal(b"CCGPACK2 and what follows"))
    first, second = fleet.sync(1, PULL).problems
    assert first == f"packs/{pack}.age is from a newer ccgrep: upgrade ccgrep"
    assert "is incomplete in the remote" in second
    path.write_bytes(good)
    assert fleet.sync(1, PULL).problems == []
    assert len(conversations(fleet[1])) == 2


def test_stores_of_earlier_versions_are_pushed_and_pulled(tmp_path: Path) -> None:
    """The oldest one has neither transcripts nor original bytes."""
    fleet = Fleet(tmp_path, 0)
    for name in STORES:
        with tarfile.open(HERE / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path / f"home{len(fleet.homes)}", filter="data")
        fleet.add_home()
    write_session(fleet[1], 9)
    fleet[1].index()
    before = conversations(fleet[1])
    fleet.sync(0)
    fleet.sync(1)
    fleet.sync(0)
    assert conversations(fleet[0]) == conversations(fleet[1]) == before
    assert "prompt 9 0" in fleet[0].run("prompt 9", "-F").stdout
    assert fleet[0].run("-l", "login").stdout == fleet[1].run("-l", "login").stdout != ""
    assert fleet[0].run("fsck").returncode == 0
    assert fleet[0].run("fsck", "--remote", "r", "--read-data").returncode == 0
