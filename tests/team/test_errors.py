"""Servers that cannot be reached, do not answer or lack something: one clear line."""

import socket
import time
from pathlib import Path

import pytest

from ccgrep.errors import UsageError
from ccgrep.team.address import hide_password, parse_address
from tests.helpers.homes import Home
from tests.helpers.team_server import Team


def use_address(home: Home, url: str) -> None:
    """Replace the address of the remote `team`."""
    config = home.store_dir / "remotes" / "team" / "config"
    config.write_text(f'{{"url":"{url}","is_encrypted":false,"projects":["*"]}}')


def test_unreachable_server_is_named_and_the_store_still_answers(pushing: Home) -> None:
    use_address(pushing, "postgres://bob@/cc?host=/nonexistent")
    done = pushing.run("-R", "team", "prompt")
    assert done.returncode == 2
    assert done.stderr.startswith("ccgrep: cannot reach postgres://bob@/cc?host=/nonexistent: ")
    assert done.stderr.count("\n") == 1
    assert pushing.run("prompt").returncode == 0
    assert pushing.run("prompt", "-R", "nowhere", "--owner", "bob").returncode == 2
    both = pushing.run("-R", "local", "-R", "team", "prompt")
    assert both.returncode == 0
    assert "the answer is incomplete: " in both.stderr
    assert both.stdout == pushing.run("prompt").stdout


def test_silent_server_costs_no_more_than_the_limit(pushing: Home, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        directory = Path("/tmp") / f"ccgrep-silent-{tmp_path.name[:20]}-{time.monotonic_ns()}"
        directory.mkdir()
        silent.bind(str(directory / ".s.PGSQL.5432"))
        silent.listen()
        use_address(pushing, f"postgres://bob@/cc?host={directory}")
        done = pushing.run("-R", "team", "prompt", env={"CCGREP_TEAM_TIMEOUT_S": "0.2"})
        (directory / ".s.PGSQL.5432").unlink()
        directory.rmdir()
    assert done.returncode == 2
    assert "did not answer within 0.2 s" in done.stderr


def test_person_without_rights_gets_the_commands_to_ask_for(team: Team, home: Home) -> None:
    done = home.run("remote", "add", "team", team.url("mallory"))
    assert done.returncode == 2
    assert "ask for `ccgrep team init` and `ccgrep team grant`" in done.stderr


def test_other_schema_version_is_named(team: Team, pushing: Home) -> None:
    team.admin.query("update cc.meta set version = 9")
    done = pushing.run("-R", "team", "prompt")
    assert done.returncode == 2
    assert "the server has version 9 of the schema" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-R", "team", "x", "--no-index"), "-R and --no-index cannot be combined"),
        (("-R", "team", "x", "--machine", "y"), "-R and --machine cannot be combined"),
        (("x", "--owner", "bob"), "--owner needs -R"),
        (("list", "--owner", "bob"), "--owner needs -R"),
        (("pull", "team"), "a team's server is not pulled"),
        (("remote", "status", "team"), "a team's server has neither packs nor keys"),
        (("-R", "nope", "x"), "there is no remote 'nope': use one of team"),
        (("remote", "add", "b", "file:///x", "-p", "y"), "--project is for a team's server"),
        (("remote", "add", "local", "postgres://h/x"), "'local' stands for this machine's store"),
        (("team", "grant", "team", "bob"), "name the projects"),
        (("team", "status", "team", "--read-only"), "--read-only has no effect"),
        (("team", "init", "team", "--shard", "host=x user=bob"), "without user and password"),
        (("team", "status", "team", "--shard", "host=x"), "--shard has no effect"),
        (("team", "frobnicate"), "invalid arguments 'frobnicate'"),
    ],
)
def test_usage_errors(pushing: Home, arguments: tuple[str, ...], message: str) -> None:
    done = pushing.run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_missing_extension_is_said_once(pushing: Home) -> None:
    pushing.run("push", "team")
    done = pushing.run("-R", "team", "-F", "prompt")
    note = "the server has no pg_trgm: -F and -E compare only the newest 20,000 turns"
    assert done.stderr == f"ccgrep: {note}\n"
    assert len(done.stdout.splitlines()) == 6


def test_passwords_are_never_printed(team: Team, home: Home) -> None:
    team.grant("bob", "*")
    url = team.url("bob").replace("bob@", "bob:hunter22@")
    outputs = [home.run("remote", "add", "team", url, "-p", "*")]
    outputs += [home.run("remote", "list"), home.run("remote", "list", "--json")]
    use_address(home, "postgres://bob@/cc?host=/nonexistent")
    outputs += [home.run("-R", "team", "x"), home.run("push", "team"), home.run("settings")]
    outputs += [home.run("team", "status", "postgres://bob:hunter22@/cc?host=/nonexistent")]
    assert "hunter22" not in "".join(one.stdout + one.stderr for one in outputs)
    password = home.store_dir / "remotes" / "team" / "password"
    assert password.read_text() == "hunter22"
    assert password.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://h/cc", "postgres://h/cc?sslmode=require"),
        (
            "postgres://bob:pw@h:1/cc?sslmode=verify-full",
            "postgres://bob@h:1/cc?sslmode=verify-full",
        ),
        ("postgres://localhost/cc", "postgres://localhost/cc"),
        ("postgres://127.0.0.1:5/cc", "postgres://127.0.0.1:5/cc"),
        ("postgres://[::1]:5/cc", "postgres://[::1]:5/cc"),
        ("postgres://[::2]:5/cc", "postgres://[::2]:5/cc?sslmode=require"),
        ("postgres://localhost,h/cc", "postgres://localhost,h/cc?sslmode=require"),
        ("postgres://127.evil.example/cc", "postgres://127.evil.example/cc?sslmode=require"),
        (
            "postgres://localhost/?hostaddr=9.9.9.9",
            "postgres://localhost/?hostaddr=9.9.9.9&sslmode=require",
        ),
        # From PGHOST or PGSERVICE; a socket needs no TLS.
        ("postgres:///cc", "postgres:///cc?sslmode=require"),
        ("postgres:///?service=x", "postgres:///?service=x&sslmode=require"),
        ("postgres://localhost/cc?host=h", "postgres://localhost/cc?host=h&sslmode=require"),
        ("postgres:///cc?host=/tmp", "postgres:///cc?host=/tmp"),
    ],
)
def test_addresses_require_encryption_off_loopback(url: str, expected: str) -> None:
    assert parse_address(url).url == expected


@pytest.mark.parametrize(
    "url",
    [
        "postgres://h/cc?sslmode=disable",
        "postgres://h/cc?sslmode=prefer",
        "postgres://h#x",
        "postgres://localhost/cc?hostaddr=9.9.9.9&sslmode=disable",
        "postgres://bob:p@ss@h/cc",
    ],
)
def test_addresses_without_encryption_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parse_address(url)


def test_passwords_in_any_text_are_hidden() -> None:
    assert hide_password("x postgres://bob:pw@h/cc y") == "x postgres://bob:***@h/cc y"
    assert hide_password("x postgres://bob:p@s/s@h/cc y") == "x postgres://bob:***@h/cc y"
    assert hide_password("postgres://h/cc?password=pw&x=y") == "postgres://h/cc?password=***&x=y"
