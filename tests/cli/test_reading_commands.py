"""Every command that reads sessions refreshes first like a search, and builds a missing store."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from ccgrep.cli.flags import COMMANDS, NO_REFRESH
from ccgrep.store.lock import WriterLock
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile

SESSION = "aaaaaaaa-first"
TOKEN = "ghp_" + "0a1B2c3D4e5F6g7H8i9J" + "0k1L2m3N4o5P6q7R"
READING = {
    "list": ["list"],
    "brief": ["brief"],
    "log": ["log"],
    "show": ["show", SESSION],
    "export": ["export", SESSION],
    "blame": ["blame", "app.py"],
    "stats": ["stats"],
    "secrets": ["secrets"],
    "resume": ["resume", SESSION],
}


def write_turn(file: ClaudeFile, number: int) -> None:
    file.prompt(f"prompt {number}")
    call = file.call("Write", {"file_path": "/home/sam/src/shop/app.py", "content": f"{number}"})
    file.result(call, "ok")
    file.answer(f"the token is {TOKEN[:-1]}{number}")


@pytest.fixture
def file(home: Home) -> ClaudeFile:
    """A session of one turn that is not in the store, which does not exist."""
    (home.directory / "work").mkdir()
    file = home.claude(1, name=SESSION, cwd=str(home.directory / "work"))
    write_turn(file, 1)
    file.write()
    return file


def test_every_reading_command_is_tried_here() -> None:
    refreshing = {name for name, command in COMMANDS.items() if NO_REFRESH in command.options}
    # tests/remote tries the last two, and tests of their own those that also write.
    writing = {"mark", "notes", "prune", "unmark"}
    assert refreshing == {*READING, *writing, "search", "pick", "push", "sync"}


@pytest.mark.parametrize("words", READING.values(), ids=READING)
def test_reading_command_refreshes_first(
    home: Home, file: ClaudeFile, words: Sequence[str]
) -> None:
    missing = home.run(*words, "--no-refresh")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "there is no store in" in missing.stderr

    built = home.run(*words)
    assert (built.returncode, built.stdout) == (0, home.run(*words, "--no-refresh").stdout)
    assert built.stdout
    assert_same_as_fresh(home)

    write_turn(file, 2)
    file.append()
    old = home.run(*words, "--no-refresh").stdout
    new = home.run(*words).stdout
    assert new == home.run(*words, "--no-refresh").stdout
    assert words[0] == "resume" or new != old


@pytest.mark.parametrize("words", READING.values(), ids=READING)
def test_reading_command_answers_while_another_process_writes(
    home: Home, file: ClaudeFile, words: Sequence[str]
) -> None:
    home.index()
    write_turn(file, 2)
    file.append()
    old = home.run(*words, "--no-refresh").stdout
    with WriterLock(str(home.store_dir / "lock"), 0):
        done = home.run(*words)
    assert (done.returncode, done.stdout) == (0, old)
    assert "using what is indexed so far: another ccgrep is writing" in done.stderr


def test_home_without_agents_is_an_error(home: Home) -> None:
    for folder in (".claude", ".codex"):
        (home.directory / folder).rename(home.directory / f"no{folder}")
    done = home.run("list")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no transcripts found" in done.stderr


def test_pipe_of_two_commands_builds_the_store_once(home: Home, file: ClaudeFile) -> None:
    """`show -` refreshes after it has read the REFs, so it never meets the writer before it."""
    command = f"{sys.executable} -m ccgrep"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} -l prompt | {command} show -"],
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "prompt 1" in done.stdout


def test_search_mentions_damage_that_it_met(home: Home, file: ClaudeFile) -> None:
    file.raw(b'{"type": "user", "broken\n')
    write_turn(file, 2)
    file.write()
    note = "ccgrep: skipped 1 damaged spot in transcripts: run `ccgrep status -v`\n"
    assert home.run("prompt").stderr == note
    assert home.run("prompt").stderr == ""
    file.raw(b"\x00\xff\n")
    file.raw(b"{]\n")
    write_turn(file, 3)
    file.append()
    assert home.run("list").stderr.startswith("ccgrep: skipped ")
    assert home.run("list").stderr == ""


def test_search_names_what_it_cannot_read(home: Home, file: ClaudeFile) -> None:
    home.codex_sessions.rmdir()
    home.codex_sessions.write_text("not a directory")
    done = home.run("prompt")
    assert done.returncode == 0
    problem = f"cannot read {home.codex_sessions}: Not a directory"
    assert done.stderr == f"ccgrep: {problem}: the answer may lack turns\n"
    home.codex_sessions.unlink()  # A client that wrote no transcript yet is no problem.
    assert home.run("prompt").stderr == ""
