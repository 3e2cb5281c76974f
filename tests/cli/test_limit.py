"""`-n` limits what each command prints."""

import json

import pytest

from ccgrep.cli.flags import COMMANDS
from tests.helpers.canaries import FAMILIES, canary
from tests.helpers.homes import Home


@pytest.fixture
def shop(home: Home) -> Home:
    """Return a home with two sessions of four turns, each with a secret."""
    for seed in (1, 2):
        file = home.claude(seed)
        for number in range(4):
            secret = canary(sorted(FAMILIES)[0], 10 * seed + number).text
            file.turn(f"zebra {number} {secret}", f"answer {number}", "ls", "x.py")
        file.write()
    home.index()
    return home


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_limit_of_each_command(shop: Home, limit: int) -> None:
    session, _ = shop.rows()

    def count(*arguments: str) -> int:
        done = shop.run(*arguments, "-n", str(limit))
        assert done.returncode == 0, done.stderr
        return len(done.stdout.splitlines())

    def turns(document: str) -> int:
        return len(json.loads(document)["turns"])

    assert count("zebra") == (limit or 8)
    assert count("list", "--full-id") == min(limit or 2, 2)
    assert count("secrets") == (limit or 8)
    assert count("show", session, "--raw") == (limit or 4)
    shown = shop.run("show", f"{session}:2", "-C", "9", "--json", "-n", str(limit)).stdout
    assert turns(shown) == (limit or 4)
    (exported,) = json.loads(shop.run("export", session, "-f", "json", "-n", str(limit)).stdout)[
        "sessions"
    ]
    assert len(exported["turns"]) == (limit or 4)


def test_commands_that_print_lists_have_the_option() -> None:
    names = {name for name, command in COMMANDS.items() for o in command.options if "-n" in o.names}
    assert names == {
        "search", "pick", "list", "show", "export", "blame", "brief", "stats", "secrets", "restore",
        "log", "notes", "prune",
    }  # fmt: skip


def test_list_prints_whole_ids(shop: Home) -> None:
    done = shop.run("list", "--full-id")
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == set(shop.rows())
