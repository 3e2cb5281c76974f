"""Environments in which ccgrep must refuse to work, or work all the same."""

import os
from pathlib import Path

import pytest

from tests.helpers import fork_server
from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.users import needs_root

COMMANDS = (
    ["zebra"], ["-F", "zebra"], ["list"], ["show", "abc"], ["index"], ["stats"], ["status"],
    ["fsck"], ["gc"], ["secrets"], ["blame", "x.py"], ["forget", "abc"], ["restore", "abc"],
)  # fmt: skip


def files_below(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


def assert_refused(home: Home, variables: dict[str, str], message: str) -> None:
    """Assert that every command fails with this message, and that none writes anything."""
    before = files_below(home.directory)
    for command in COMMANDS:
        environment = {**home.environment, **variables}
        done = fork_server.run(command, environment, "", str(home.directory))
        assert (done.returncode, done.stdout) == (2, ""), command
        assert done.stderr == f"ccgrep: {message}\n", command
    assert files_below(home.directory) == before


@pytest.mark.parametrize(
    ("value", "problem"),
    [("", "HOME is not set"), ("me", "HOME is 'me', not an absolute path")],
)
def test_home_must_be_an_absolute_path(home: Home, value: str, problem: str) -> None:
    write_session(home)
    variables = {"HOME": value, "CCGREP_DIR": ""}
    assert_refused(home, variables, f"{problem}: set it to your home directory")


def test_store_must_be_a_directory(home: Home) -> None:
    file = home.directory / "file"
    file.write_text("mine")
    message = f"{file} is not a directory: set CCGREP_DIR to one"
    assert_refused(home, {"CCGREP_DIR": str(file)}, message)


def test_path_of_the_store_must_be_utf8(home: Home) -> None:
    path = os.fsdecode(bytes(home.directory / "caf") + b"\xe9")
    message = f"CCGREP_DIR is not UTF-8: {home.directory}/caf\\xe9; rename the directory"
    assert_refused(home, {"CCGREP_DIR": path}, message)


@needs_root
def test_root_does_not_use_the_store_of_another_user(home: Home) -> None:
    write_session(home)
    for name, has_store in (("empty", False), ("store", True)):
        store = home.directory / name
        store.mkdir(exist_ok=True)
        if has_store:
            home.index()
        os.chown(store, 4242, 4242)
        message = (
            f"{store} belongs to another user (uid 4242): set CCGREP_DIR to a directory of your own"
        )
        assert_refused(home, {"CCGREP_DIR": str(store)}, message)


def test_warnings_as_errors_change_nothing(home: Home) -> None:
    session = write_session(home).id
    home.index()
    commands = (
        ["zebra"], ["-F", "zebra", "-t", "tool"], ["--no-index", "zebra"], ["list"], ["stats"],
        ["show", session], ["secrets"], ["index", "--full", "-q"], ["fsck"],
    )  # fmt: skip
    for command in commands:
        usual = home.run(*command)
        strict = home.run(*command, env={"PYTHONWARNINGS": "error"})
        assert (strict.returncode, strict.stdout) == (usual.returncode, usual.stdout), command
        assert "Warning" not in strict.stderr, command
