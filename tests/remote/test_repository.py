"""Checkouts of one git repository on several machines."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ccgrep.remote.repository import move_to_checkout, normalize_url, read_repository
from tests.helpers.fleet import PUSH, Fleet
from tests.helpers.homes import Home
from tests.helpers.stored import write_session

SAME = [
    "git@github.com:octo/shop.git",
    "github.com:octo/shop",
    "https://github.com/octo/shop",
    "https://user:token@GitHub.com/octo/shop.git/",
    "ssh://git@github.com:22/octo/shop.git",
    "git://github.com//octo/shop",
]


@pytest.mark.parametrize("url", SAME)
def test_addresses_of_one_repository_are_equal(url: str) -> None:
    assert normalize_url(url) == "github.com/octo/shop"


@pytest.mark.parametrize("url", ["", "/srv/shop.git", "../shop", "file:///srv/shop", "C:\\shop"])
def test_address_without_a_host_is_no_git_remote(url: str) -> None:
    assert normalize_url(url) == ""


def git(directory: Path, *arguments: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


def make_checkout(directory: Path, url: str) -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "-q")
    git(directory, "remote", "add", "upstream", "https://example.com/other")
    git(directory, "remote", "add", "origin", url)
    return directory


def test_remote_of_a_checkout_is_read_without_git(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "shop", SAME[0])
    assert read_repository(str(checkout)) == "github.com/octo/shop"
    git(checkout, "commit", "-q", "--allow-empty", "-m", "first")
    git(checkout, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert read_repository(str(tmp_path / "tree")) == "github.com/octo/shop"
    assert read_repository(str(tmp_path)) == ""
    assert read_repository("shop") == ""


def test_directory_is_mapped_to_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    here = str(tmp_path)
    assert move_to_checkout("/a/shop/web", "/a/shop", here) == f"{here}/web"
    assert move_to_checkout("C:\\shop\\web", "C:\\shop", here) == f"{here}/web"
    assert move_to_checkout("/a/shop/gone", "/a/shop", here) == here
    assert move_to_checkout("/a/shop/../../etc", "/a/shop", here) == here


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Return a fleet whose second home has a session in a checkout, which the first one pulled."""
    fleet = Fleet(tmp_path)
    checkout = make_checkout(tmp_path / "desktop" / "shop", SAME[0])
    (checkout / "web").mkdir()
    write_session(fleet[1], 1, cwd=str(checkout / "web"))
    fleet[1].index()
    fleet.sync(1, PUSH)
    fleet.sync(0)
    return fleet


def resume(home: Home, cwd: Path, *options: str) -> tuple[int, str, str]:
    (id,) = home.rows()
    done = home.run("resume", id, *options, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def test_session_is_resumed_in_another_checkout(fleet: Fleet, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "desktop")
    (id,) = fleet[0].rows()
    assert resume(fleet[0], tmp_path) == (
        1,
        "",
        f"ccgrep: cannot resume {id}, no checkout of github.com/octo/shop is known here: run this "
        "inside one, or use --in DIR\n",
    )
    checkout = make_checkout(tmp_path / "laptop" / "shop", SAME[2])
    (checkout / "web").mkdir()
    command = f"cd {checkout}/web && claude --resume {id}\n"
    code, output, _ = resume(fleet[0], checkout / "web")
    assert (code, output) == (0, command)
    # A session of this machine in the checkout makes it known everywhere.
    write_session(fleet[0], 2, cwd=str(checkout))
    fleet[0].index()
    assert fleet[0].run("resume", id, cwd=tmp_path).stdout == command


def test_same_path_with_another_repository_is_not_used(fleet: Fleet, tmp_path: Path) -> None:
    shop = tmp_path / "desktop" / "shop"
    code, output, _ = resume(fleet[0], tmp_path)
    assert (code, output.split(" &&")[0]) == (0, f"cd {shop}/web")
    git(shop, "remote", "set-url", "origin", "https://github.com/octo/unrelated")
    code, _, errors = resume(fleet[0], tmp_path)
    assert code == 1
    assert "no checkout of github.com/octo/shop" in errors


def test_repositories_are_forgotten_with_their_sessions(fleet: Fleet) -> None:
    (id,) = fleet[0].rows()
    machines = fleet[0].store_dir / "remotes" / "machines"
    assert b"octo/shop" in machines.read_bytes()
    fleet[0].run("forget", id)
    assert b"octo/shop" not in machines.read_bytes()
    fleet.settle()
    for home in fleet.homes:
        assert b"octo/shop" not in (home.store_dir / "remotes" / "machines").read_bytes()
