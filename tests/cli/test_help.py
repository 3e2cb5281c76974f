"""Help that teaches: one screen, everything, and what to do when something was mistyped."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from ccgrep.text import columns
from tests.helpers.homes import Home

EXAMPLE = Path(__file__).parents[2] / "examples" / "home"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("help") / "home")
    assert home.run("index", "-q", "--root", str(EXAMPLE)).returncode == 0
    return home


def on_terminal(home: Home, *arguments: str, **variables: str) -> tuple[str, int]:
    """What a person sees, and the exit status."""
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", *arguments],
        env={**home.environment, "TERM": "xterm-256color", "COLUMNS": "80", **variables},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    seen = b""
    try:
        while block := os.read(leader, 4096):
            seen += block
    except OSError:
        pass
    os.close(leader)
    return seen.decode().replace("\r\n", "\n"), child.wait()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_short_help_is_one_screen(home: Home, command: str) -> None:
    done = home.run(*command.split(), "-h")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "--help" in lines[-1]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_examples_come_first_and_everything_is_there(home: Home, command: str) -> None:
    shown = home.run(*command.split(), "--help").stdout
    assert shown.startswith("usage: ccgrep")
    assert 0 < shown.index("examples:") < shown.index("options:")
    options = COMMANDS[command or "search"].options
    assert [o.names[0] for o in options if f"  {o.names[0]}" not in shown] == []


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("how", ["-h", "--help"])
def test_help_fits_into_sixty_columns(home: Home, command: str, how: str) -> None:
    shown = home.run(*command.split(), how, env={"COLUMNS": "60"}).stdout
    # What is typed is never broken.
    typed = {f"  {text}" for c in COMMANDS.values() for text, _ in c.examples}
    assert [x for x in shown.splitlines() if len(x) > 60 and x not in typed] == []


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["--semantc", "x"], "did you mean --semantic?"),
        (["list", "--tre"], "did you mean --tree?"),
        (["lsit", "--tree"], "did you mean `ccgrep list --tree`?"),
        (["index", "rebuild"], "`ccgrep search index rebuild`"),
        (["setup", "database"], "`ccgrep search setup database`"),
        (["completions", "are", "broken"], "`ccgrep search completions are broken`"),
        (["show", "me", "the", "login", "test"], "`ccgrep search show me the login test`"),
    ],
)
def test_what_was_mistyped_is_met_with_what_was_meant(
    example: Home, typed: list[str], hint: str
) -> None:
    done = example.run(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr


def test_mistyped_command_that_finds_nothing_is_asked_about(example: Home) -> None:
    shown, code = on_terminal(example, "stauts")
    assert code == 1
    assert "did you mean `ccgrep stats` or `ccgrep status`?" in shown
    assert example.run("stauts").stderr == ""


def test_alone_on_a_terminal_it_shows_how_to_start(example: Home) -> None:
    shown, code = on_terminal(example)
    assert code == 2
    assert shown.startswith("59 turns in 16 sessions, indexed 0m ago.\n")
    assert "ccgrep flaky login test" in shown


def test_alone_without_an_index_it_says_what_the_first_search_does(home: Home) -> None:
    shown, _ = on_terminal(home)
    assert shown.startswith("Nothing is indexed yet. The first search indexes ")
    assert str(home.directory) in shown


def test_alone_in_a_pipe_it_is_a_mistake(home: Home) -> None:
    done = home.run()
    assert done.returncode == 2
    assert "usage: ccgrep" in done.stdout


@pytest.mark.parametrize(
    "typed",
    [
        ["flaky", "login", "test"],
        ["list"],
        ["list", "--tree"],
        ["status"],
        ["stats"],
        ["show", "f8a5fac0:0", "--tools", "--no-pager"],
        ["blame", "jwt.ts"],
        ["settings"],
        [],
    ],
)
def test_a_dumb_terminal_of_sixty_columns_gets_plain_text(example: Home, typed: list[str]) -> None:
    """What a screen reader reads: no colours, no cursor movements, no redrawn lines."""
    shown, _ = on_terminal(example, *typed, TERM="dumb", COLUMNS="60")
    assert shown.strip()
    assert "\x1b" not in shown
    assert "\r" not in shown and "\b" not in shown


@pytest.mark.parametrize("typed", [["flaky", "login", "test"], ["list"], ["list", "--tree"]])
def test_lists_and_hits_fit_into_sixty_columns(example: Home, typed: list[str]) -> None:
    """What was said is left to the terminal to wrap; what ccgrep adds is made to fit."""
    shown, _ = on_terminal(example, *typed, TERM="dumb", COLUMNS="60")
    own = [line for line in shown.splitlines() if typed[0] == "list" or line.startswith("[")]
    assert own and [line for line in own if columns(line) > 60] == []


def test_no_colour_is_honoured(example: Home) -> None:
    assert "\x1b[" in on_terminal(example, "flaky", "login")[0]
    assert "\x1b[" not in on_terminal(example, "flaky", "login", NO_COLOR="1")[0]
    assert "\x1b[" not in on_terminal(example, "flaky", "login", "--color=never")[0]
