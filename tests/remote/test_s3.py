"""Remotes in buckets of real S3 servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.errors import RemoteError
from ccgrep.remote.storage import MissingFileError, open_storage
from tests.helpers import s3_servers
from tests.helpers.fleet import Fleet, conversations
from tests.helpers.stored import write_session


@pytest.fixture(params=s3_servers.SERVERS)
def endpoint(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    for name, value in s3_servers.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_servers.serve(request.param, tmp_path / "server") as endpoint:
        yield endpoint


def test_bucket_is_a_remote(endpoint: str, tmp_path: Path) -> None:
    storage = open_storage(s3_servers.url("check"), endpoint)
    with pytest.raises(MissingFileError):
        storage.get("packs/none")
    storage.put("packs/a", b"1" * 10_000_000)
    storage.put("packs/a", b"2")
    assert storage.get("packs/a") == b"2"
    assert [(one.path, one.size) for one in storage.list()] == [("packs/a", 1)]
    storage.delete("packs/a")
    storage.delete("packs/a")
    assert storage.list() == []
    fleet = Fleet(tmp_path, 2, s3_servers.url("cc"), endpoint)
    forgotten = write_session(fleet[0], 1)
    write_session(fleet[0], 2)
    write_session(fleet[1], 3)
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


def test_server_that_is_down_is_named(tmp_path: Path) -> None:
    with pytest.raises(RemoteError, match="s3://history/cc"):
        Fleet(tmp_path, 1, s3_servers.url("cc"), "http://127.0.0.1:9")
