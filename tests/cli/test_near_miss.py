"""A search without hits says in one line what it searched and what nearly matched."""

import json
from pathlib import Path

import pytest

from tests.helpers.homes import Home
from tests.helpers.terminal import run_on_terminal


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Four turns in two projects. `numbat` is in output only, `Quokka` in one project only."""
    home = Home(Path(tmp_path_factory.mktemp("near")) / "home")
    shop = home.claude(1, name="aaaaaaaa-shop", cwd="/home/sam/src/shop")
    shop.turn("fix the login", "done", "make login", "numbat failed\n")
    shop.turn("fix the cache", "done", "make cache", "numbat failed again\n")
    shop.write()
    blog = home.claude(2, slug="-home-sam-src-blog", name="bbbbbbbb-blog", cwd="/home/sam/src/blog")
    blog.turn("feed the Quokka", "fed")
    blog.blocks({"type": "thinking", "thinking": "a platypus?", "signature": "x"})
    blog.turn("bye", "bye")
    blog.write()
    home.rest()
    home.index()
    return home


MISSES = [
    (["wombat"], "0 of 4 turns match"),
    (["-F", "wombat"], "0 of 4 turns match"),
    (["-F", "numbat"], "0 of 4 turns match; 2 in tool output, use -t tool"),
    (["-E", "num.at", "-l"], "0 of 4 turns match; 2 in tool output, use -t tool"),
    (["-c", "-F", "platypus"], "0 of 4 turns match; 1 in thinking, use -t thinking"),
    (["-F", "quokka"], "0 of 4 turns match; 1 in other case, use -i"),
    (["-t", "user", "numbat"], "0 of 4 turns match; 2 in tool output, use -t tool"),
    (["-t", "tool", "quokka"], "0 of 4 turns match; 1 in prompts, use -t user"),
    (["wombat", "quokka"], "0 of 4 turns match; 1 with 'quokka' alone, use fewer words"),
    (["--all", "fix", "quokka"], "0 of 4 turns match; 1 with 'quokka' alone, use fewer words"),
    (["--all", "fix", "login", "quokka"],
     "0 of 4 turns match; 1 with some of the words, leave out --all"),
    (['"login fix"'], "0 of 4 turns match; 1 with the words apart, leave out the quotes"),
    (["-p", "shop", "quokka"],
     "0 of 2 turns that pass -p match; 1 in other projects (blog), leave out -p"),
    (["-p", "shop", "-F", "Quokka"],
     "0 of 2 turns that pass -p match; 1 in other projects (blog), leave out -p"),
    (["--session", "aaaaaaaa", "--tool", "Bash", "quokka"],
     "0 of 2 turns that pass --session, --tool match; 1 without the filters, "
     "leave out --session, --tool"),
    (["--since", "2099-01-01", "quokka"],
     "no turn passes --since; 1 without the filters, leave out --since"),
    (["-v", "-E", "."], "0 of 4 turns match"),
    (["!!!"], "0 of 4 turns match"),
    (["--no-index", "-F", "numbat"], "no turn matches; 2 in tool output, use -t tool"),
    (["--jsonl", "-F", "numbat"], "0 of 4 turns match; 2 in tool output, use -t tool"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "line"), MISSES, ids=[" ".join(words) for words, _ in MISSES])
def test_search_without_hits_says_what_nearly_matched(
    store: Home, words: list[str], line: str
) -> None:
    done = store.run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"ccgrep: {line}\n")
    quiet = store.run("-q", *words)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


def test_terminal_gets_the_same_line(store: Home) -> None:
    line = "ccgrep: 0 of 4 turns match; 2 in tool output, use -t tool\n"
    assert run_on_terminal(store, "-F", "numbat") == (line, 1)


def test_advice_finds_as_many_turns_as_it_says(store: Home) -> None:
    assert len(store.run("-F", "numbat", "-t", "tool").stdout.splitlines()) == 2
    assert len(store.run("-i", "-F", "quokka").stdout.splitlines()) == 1


def test_json_has_the_near_miss_as_fields(store: Home) -> None:
    done = store.run("--json", "-F", "numbat")
    assert done.returncode == 1
    assert json.loads(done.stdout)["near_miss"] == {
        "searched": 4,
        "filters": [],
        "change": "kind",
        "turns": 2,
        "is_more": False,
        "names": ["tool"],
        "outside_window": 0,
        "advice": "0 of 4 turns match; 2 in tool output, use -t tool",
    }
    assert "near_miss" not in store.json("login")


def test_project_names_cannot_forge_the_line(home: Home) -> None:
    file = home.claude(1, name="aaaaaaaa-evil", cwd="/srv/x\x1b[31m\nccgrep: all is well")
    file.turn("the quokka", "fed")
    file.write()
    home.codex(1).turn("hello", "hi")
    home.index()
    other = home.claude(2, slug="-b", name="bbbbbbbb-b", cwd="/srv/b")
    other.turn("hello", "hi")
    other.write()
    done = home.run("-p", "/srv/b", "quokka")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
