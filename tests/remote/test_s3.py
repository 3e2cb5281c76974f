"""Remotes in buckets of real S3 servers."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from ccgrep.errors import CcgrepError, ClonedMachineError, RemoteError
from ccgrep.ops.sync import fsck_remote
from ccgrep.remote.storage import ChangedFileError, MissingFileError, Storage, open_storage
from tests.helpers import s3_servers, scale
from tests.helpers.faulty_proxy import NETWORK_FAULTS, faulty_proxy
from tests.helpers.faulty_storage import race_before_head
from tests.helpers.fleet import PUSH, Fleet, conversations
from tests.helpers.homes import Home
from tests.helpers.stored import write_session


@pytest.fixture(params=s3_servers.SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def endpoint(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in s3_servers.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_servers.serve(server, tmp_path / "server") as endpoint:
        yield endpoint


def test_bucket_is_a_remote(server: str, endpoint: str, tmp_path: Path) -> None:
    storage = open_storage(s3_servers.url("check"), endpoint)
    with pytest.raises(MissingFileError):
        storage.get("packs/none")
    storage.put("packs/a", b"1" * 10_000_000)
    storage.put("packs/a", b"2")
    assert storage.get("packs/a") == b"2"
    check_preconditions(storage, server == "seaweedfs")
    assert [(one.path, one.size) for one in storage.list()] == [("packs/a", 1)]
    storage.delete("packs/a")
    storage.delete("packs/a")
    assert storage.list() == []
    fleet = Fleet(tmp_path, 2, s3_servers.url("cc"), endpoint)
    forgotten = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    write_session(fleet[1], 3)
    for number in range(2):
        fleet[number].rest()  # A file that was just written is read again: that is a change.
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    report = fleet.sync(0)
    assert report.pushed is not None
    assert (report.pushed.is_changed, report.problems) == (False, [])
    fleet[1].run("forget", forgotten.id)
    fleet.settle()
    assert conversations(fleet[0]) == conversations(fleet[1])
    assert len(conversations(fleet[0])) == 2
    assert b"prompt 1 0" not in fleet.held_bytes()
    env = {**s3_servers.CREDENTIALS}
    other = fleet[0].run(
        "remote", "add", "second", s3_servers.url("d"), "--endpoint", endpoint, env=env
    )
    assert other.returncode == 0, other.stderr
    assert "versions or locks objects" in other.stderr
    assert fleet[0].run("push", "second", env=env).returncode == 0
    exported = fleet[0].run("remote", "key", "export", str(tmp_path / "key"), "--remote", "second")
    added = f"add second {s3_servers.url('d')} --endpoint {endpoint} --key FILE`\n"
    assert exported.stdout.endswith(added)


def test_credentials_come_from_the_files_of_the_aws_tools(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (home.directory / ".aws").mkdir()
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    text = "".join(f"{name.lower()} = {s3_servers.CREDENTIALS[name]}\n" for name in names)
    credentials = home.directory / ".aws" / "credentials"
    add = ("remote", "add", "r", s3_servers.url("cc"), "--endpoint")
    with s3_servers.serve("rclone", tmp_path / "server") as endpoint:
        credentials.write_text(f"[default]\naws_access_key_id = x\n[cc]\n{text}")
        done = home.run(*add, endpoint, env={"AWS_PROFILE": "cc"})
        assert done.returncode == 0, done.stderr
        credentials.write_text(f"[default]\n{text}")
        assert home.run("sync").returncode == 0
        credentials.write_text("[default]\naws_access_key_id = x\naws_secret_access_key = y\n")
        done = home.run("sync")
        refused = f"cannot list {s3_servers.url('cc')} at {endpoint} (403 Forbidden: The"
        assert (done.returncode, done.stderr.count(refused)) == (2, 1), done.stderr
        credentials.write_text("no section")
        done = home.run("sync")
        assert (done.returncode, done.stderr[:40]) == (2, f"ccgrep: {credentials} is damaged"[:40])


def check_preconditions(storage: Storage, are_obeyed: bool) -> None:
    """Replace a file three times: as expected, after another machine, and where none should be."""
    (file,) = storage.list()
    storage.replace(file.path, b"3", file.tag)
    for tag in (file.tag, ""):
        if are_obeyed:
            with pytest.raises(ChangedFileError):
                storage.replace(file.path, b"4", tag)
        else:
            storage.replace(file.path, b"4", tag)
    assert storage.get(file.path) == (b"3" if are_obeyed else b"4")


def test_clone_is_noticed_at_once_or_with_the_next_push(
    server: str, endpoint: str, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, 2, s3_servers.url("cc"), endpoint)
    write_session(fleet[0], 1)
    fleet[0].index()
    fleet.sync(0, PUSH)
    shutil.copytree(fleet[0].store_dir, fleet[1].store_dir, dirs_exist_ok=True)
    for home, seed in zip(fleet.homes, (2, 3), strict=True):
        write_session(home, seed)
        home.index()
    loser = 0
    with race_before_head(lambda: fleet.sync(1, PUSH)), suppress(ClonedMachineError):
        fleet.sync(0, PUSH)
        loser = 1
    assert loser == (0 if server == "seaweedfs" else 1)
    write_session(fleet[loser], 4)
    fleet[loser].index()
    with pytest.raises(ClonedMachineError, match="another machine pushes as 'machine0'"):
        fleet.sync(loser, PUSH)


def test_every_request_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    """A machine pulls one session and pushes another. A request fails; the next sync repairs it."""
    for name, value in s3_servers.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with (
        s3_servers.serve("seaweedfs", tmp_path / "server") as upstream,
        faulty_proxy(upstream) as proxy,
    ):
        fleet = Fleet(tmp_path, 2, s3_servers.url("cc"), proxy.endpoint)
        fleet.settle()
        prepare_case(fleet, 1)
        proxy.break_request(0, "status 500")
        fleet.sync(0)
        cases = list(product(range(1, proxy.requests + 1), NETWORK_FAULTS))
        chosen = [cases[number] for number in scale.some(range(len(cases)), 6)]
        for seed, (at, fault) in enumerate(chosen, start=2):
            prepare_case(fleet, seed)
            proxy.break_request(at, fault)
            with suppress(CcgrepError):
                fleet.sync(0)
            proxy.break_request(0, fault)
            fleet.sync(0)
            fleet.sync(1)
            assert len(conversations(fleet[0])) == 2 * seed
            assert conversations(fleet[0]) == conversations(fleet[1])
        assert fsck_remote(fleet[0].config, "r", reads_data=True).is_clean
    figure(f"remote: {len(chosen)} of {len(cases)} faults of HTTP requests, nothing lost")


def prepare_case(fleet: Fleet, seed: int) -> None:
    write_session(fleet[0], 2 * seed)
    write_session(fleet[1], 2 * seed + 1)
    fleet[0].index()
    fleet[1].index()
    fleet.sync(1)


def test_server_that_is_down_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3_servers.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    endpoint = "http://127.0.0.1:9"
    with pytest.raises(RemoteError) as caught:
        Fleet(tmp_path, 1, s3_servers.url("cc"), endpoint)
    assert str(caught.value) == (
        f"cannot read s3://history/cc/FORMAT at {endpoint} (HTTP error: error sending request): "
        "check the address and the credentials"
    )
