"""Completions in real shells: press Tab and read the candidates."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgrep.cli.generate import COMPLETIONS
from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, need, put_on_path

ROOT = Path(__file__).parents[2]
SHELLS = {
    "bash": "env PS1='$ ' bash --norc --noprofile",
    "zsh": "env PS1='$ ' zsh -f",
    "fish": "fish --no-config",
}
READY = {
    "bash": "bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; "
    "bind 'set page-completions off'; . {}",
    "zsh": "autoload -Uz compinit && compinit -D -u; . {}",
    "fish": "function fish_prompt; echo '$ '; end; set fish_autosuggestion_enabled 0; . {}",
}
EVIL = "evil$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("shells") / "home")
    first = home.claude(1, name="aaaaaaaa-first")
    first.turn("Fix the auth bug", "The token expired.", "git status", "clean")
    first.turn("Write a test", "Done.")
    first.meta("ai-title", aiTitle="Auth and its bug")
    second = home.claude(2, name="bbbbbbbb-second", cwd="/home/sam/src/api")
    second.prompt("Rotate the token", gitBranch=EVIL)
    second.answer("Rotated.")
    second.meta("ai-title", aiTitle="Token $(touch pwned) rotation")
    for file in (first, second):
        file.write()
    home.index()
    put_on_path(home)
    return home


@pytest.fixture(scope="module", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, shop: Home, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    need(request.param, "tmux")
    terminal = Terminal(shop, tmp_path_factory.mktemp("t"), SHELLS[request.param])
    file = ROOT / COMPLETIONS[request.param][0]
    terminal.type(READY[request.param].format(shlex.quote(str(file))) + " && echo re''ady")
    terminal.press("Enter")
    terminal.wait(lambda screen: "\nready" in screen)
    yield terminal
    terminal.close()


def command_line(screen: str) -> str:
    """Return the command line, without the `=` that zsh appends to an option."""
    return next((row for row in screen.splitlines() if "ccgrep" in row), "").strip().rstrip("=")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ccgrep sho", "ccgrep show"),
        ("ccgrep --semant", "ccgrep --semantic"),
        ("ccgrep -t think", "ccgrep -t thinking"),
        ("ccgrep --type=assi", "ccgrep --type=assistant"),
        ("ccgrep list --tre", "ccgrep list --tree"),
        ("ccgrep blame --lin", "ccgrep blame --line"),
        ("ccgrep completions zs", "ccgrep completions zsh"),
        ("ccgrep setup sh", "ccgrep setup shell"),
        ("ccgrep -p sho", "ccgrep -p shop"),
        ("ccgrep list --project=ap", "ccgrep list --project=api"),
        ("ccgrep --tool ba", "ccgrep --tool bash"),
        ("ccgrep --branch mai", "ccgrep --branch main"),
        ("ccgrep --session bb", "ccgrep --session bbbbbbbb"),
        ("ccgrep show aa", "ccgrep show aaaaaaaa"),
        ("ccgrep resume bb", "ccgrep resume bbbbbbbb"),
        ("ccgrep show bbbbbbbb:", "ccgrep show bbbbbbbb:0"),
    ],
)
def test_tab_completes(shell: Terminal, typed: str, completed: str) -> None:
    shell.clear()
    shell.type(typed)
    shell.press("Tab")
    shell.wait(lambda screen: command_line(screen).endswith(completed))


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        ("ccgrep ", ["search", "find the turns that match", "list", "most recent first"]),
        (
            "ccgrep --su",
            ["--subagents", "--surface", "or exclude sub-agents", "search only this part"],
        ),
        ("ccgrep --subagents ", ["include", "only", "exclude"]),
        ("ccgrep show ", ["aaaaaaaa", "Auth and its bug", "bbbbbbbb", "Token $(touch pwned)"]),
        ("ccgrep show aaaaaaaa:", ["Fix the auth bug", "Write a test"]),
        ("ccgrep show @", ["Fix the auth bug", "Write a test", "Rotate the token"]),
        ("ccgrep --project ", ["api", "/home/sam/src/api", "shop", "/home/sam/src/shop"]),
    ],
)
def test_tab_lists_candidates_with_descriptions(
    shell: Terminal, typed: str, candidates: list[str]
) -> None:
    shell.clear()
    shell.type(typed)
    shell.press("Tab")
    shell.wait(lambda screen: all(text in screen for text in candidates))


def test_hostile_completion_is_inserted_quoted(shop: Home, shell: Terminal) -> None:
    shell.clear()
    shell.type("ccgrep -l token --branch evil")
    shell.press("Tab")
    shell.wait(lambda screen: "pwned" in screen)
    shell.press("Enter")
    shell.wait(lambda screen: "\nbbbbbbbb" in screen)
    assert not (shop.directory / "pwned").exists()


def test_options_complete_without_running_ccgrep(shop: Home, shell: Terminal) -> None:
    called = shop.directory / "called"
    called.unlink(missing_ok=True)
    script = shop.directory / "bin" / "ccgrep"
    before = script.read_text(encoding="utf-8")
    script.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(called))}\n", encoding="utf-8")
    try:
        for typed, completed in (
            ("ccgrep exp", "ccgrep export"),
            ("ccgrep --hyb", "ccgrep --hybrid"),
            ("ccgrep export --format ht", "ccgrep export --format html"),
        ):
            shell.clear()
            shell.type(typed)
            shell.press("Tab")
            shell.wait(lambda screen, end=completed: command_line(screen).endswith(end))  # type: ignore[misc]
        assert not called.exists()
        shell.clear()
        shell.type("ccgrep show aa")
        shell.press("Tab")
        shell.wait(lambda _: called.exists())
    finally:
        script.write_text(before, encoding="utf-8")
