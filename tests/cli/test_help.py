"""Help screens, the welcome screen, and hints after typing errors."""

import re
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from ccgrep.text import columns
from tests.helpers.homes import Home
from tests.helpers.terminal import run_on_terminal

EXAMPLE = Path(__file__).parents[2] / "examples" / "home"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("help") / "home")
    assert home.run("index", "-q", "--root", str(EXAMPLE)).returncode == 0
    return home


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_short_help_fits_one_screen(home: Home, command: str) -> None:
    done = home.run(*command.split(), "-h")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "--help" in lines[-1]
    assert "…\n" not in done.stdout.partition("\n")[2], "a help text is too long for one line"


@pytest.mark.parametrize("name", [c.name for c in COMMANDS.values() if c.options])
def test_short_help_explains_options_or_actions(home: Home, name: str) -> None:
    command, lines = COMMANDS[name], home.run(name, "-h").stdout.splitlines()
    explained = {line.split()[0].strip(",") for line in lines if line.startswith("  ")}
    names = {name for option in command.options for name in option.names}
    names |= {typed.split()[0] for typed, _ in command.actions}
    assert names & explained


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_long_help_has_examples_before_all_options(home: Home, command: str) -> None:
    shown = home.run(*command.split(), "--help").stdout
    assert shown.startswith("usage: ccgrep")
    assert 0 < shown.index("examples:") < shown.index("options:")
    options = COMMANDS[command or "search"].options
    assert [o.names[0] for o in options if f"  {o.names[0]}" not in shown] == []


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_fits_sixty_columns(home: Home, command: str, option: str) -> None:
    shown = home.run(*command.split(), option, env={"COLUMNS": "60"}).stdout
    # Examples are never wrapped, so that they can be copied.
    examples = {f"  {text}" for c in COMMANDS.values() for text, _ in c.examples}
    assert [x for x in shown.splitlines() if len(x) > 60 and x not in examples] == []


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
def test_typing_error_gets_a_suggestion(example: Home, typed: list[str], hint: str) -> None:
    done = example.run(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr


def test_mistyped_command_without_hits_gets_a_suggestion_on_a_terminal(example: Home) -> None:
    shown, code = run_on_terminal(example, "stauts")
    assert code == 1
    line = "ccgrep: 0 of 59 turns match; did you mean `ccgrep stats` or `ccgrep status`?\n"
    assert shown == line
    shown, _ = run_on_terminal(example, "help", "list")
    assert "for help, run `ccgrep list --help`" in shown
    assert example.run("stauts").stderr == "ccgrep: 0 of 59 turns match\n"


def test_bare_command_on_a_terminal_shows_what_is_indexed_and_how_to_start(example: Home) -> None:
    shown, code = run_on_terminal(example)
    assert code == 2
    assert re.match(r"59 turns in 16 sessions, indexed \d+m ago\.\n", shown)
    assert "ccgrep flaky login test" in shown


def test_bare_command_without_a_store_names_the_roots_to_index(
    home: Home,
) -> None:
    shown, _ = run_on_terminal(home)
    assert shown.startswith("Nothing is indexed yet. The first search indexes ")
    assert str(home.directory) in shown


def test_bare_command_in_a_pipe_is_a_usage_error(home: Home) -> None:
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
def test_dumb_terminal_gets_plain_text(example: Home, typed: list[str]) -> None:
    """Screen readers need output without colors, cursor movements and redrawn lines."""
    shown, _ = run_on_terminal(example, *typed, TERM="dumb", COLUMNS="60")
    assert shown.strip()
    assert "\x1b" not in shown
    assert "\r" not in shown and "\b" not in shown


@pytest.mark.parametrize("typed", [["flaky", "login", "test"], ["list"], ["list", "--tree"]])
def test_lists_and_hits_fit_sixty_columns(example: Home, typed: list[str]) -> None:
    """The terminal wraps messages. ccgrep fits the lines that it adds."""
    shown, _ = run_on_terminal(example, *typed, TERM="dumb", COLUMNS="60")
    own = [line for line in shown.splitlines() if typed[0] == "list" or line.startswith("[")]
    assert own and [line for line in own if columns(line) > 60] == []


def test_no_color_variable_turns_colors_off(example: Home) -> None:
    assert "\x1b[" in run_on_terminal(example, "flaky", "login")[0]
    assert "\x1b[" not in run_on_terminal(example, "flaky", "login", NO_COLOR="1")[0]
    assert "\x1b[" not in run_on_terminal(example, "flaky", "login", "--color=never")[0]
