"""`ccgrep show`: context, objects, saved recalls, and the pager on a terminal."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_hostile import COLOUR, on_terminal, write
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile


@pytest.fixture
def shop(home: Home) -> Home:
    file = home.claude()
    for number in range(6):
        file.turn(f"prompt {number}", f"answer {number}", "make test", f"ok {number}")
    file.meta("ai-title", aiTitle="Fix the *auth* bug")
    file.write()
    home.index()
    return home


def only(home: Home) -> str:
    (id,) = home.rows()
    return id


def long_session(home: Home, turns: int = 200) -> ClaudeFile:
    file = home.claude(7)
    for number in range(turns):
        file.turn(f"prompt {number}", f"answer {number}")
    file.write()
    home.index()
    return file


@pytest.mark.parametrize(
    ("ref", "options", "numbers"),
    [
        (":2", ("-C1",), [1, 2, 3]),
        (":2", ("-A2",), [2, 3, 4]),
        (":2", ("-B9",), [0, 1, 2]),
        (":5", ("-C1", "-B0"), [5]),
        (":0", ("-C2", "-A1"), [0, 1]),
        ("", ("-C2",), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_context_is_turns_around_the_one_that_is_named(
    shop: Home, ref: str, options: tuple[str, ...], numbers: list[int]
) -> None:
    shown = shop.json("show", only(shop) + ref, *options)
    assert [turn["turn"] for turn in shown["turns"]] == numbers
    turn = shop.manifest(only(shop)).entries[2].turn.hex()
    assert (
        shop.run("show", f"@{turn}", "-C1").stdout
        == shop.run("show", f"{only(shop)}:2", "-C1").stdout
    )


def test_raw_is_the_object_as_it_is_stored(shop: Home) -> None:
    done = shop.run("show", f"{only(shop)}:1", "--raw")
    assert json.loads(done.stdout) == {
        "prompt": "prompt 1",
        "steps": [
            {
                "type": "message",
                "parts": [
                    {
                        "type": "call",
                        "name": "Bash",
                        "input": {"command": "make test"},
                        "result": {"text": "ok 1"},
                    }
                ],
                "model": "claude-opus-4-6",
            },
            {
                "type": "message",
                "parts": [{"type": "text", "text": "answer 1"}],
                "model": "claude-opus-4-6",
            },
        ],
    }
    assert len(shop.run("show", only(shop), "--raw").stdout.splitlines()) == 6


def test_forms_exclude_each_other(shop: Home) -> None:
    done = shop.run("show", only(shop), "--raw", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be combined" in done.stderr


def test_save_writes_markdown_to_recalls_and_prints_the_path(shop: Home) -> None:
    done = shop.run("show", f"{only(shop)}:1", "--save", "--tools")
    path = Path(done.stdout.rstrip("\n"))
    recalls = shop.directory / ".claude" / "recalls"
    assert path == recalls / f"2026-09-21-fix-the-auth-bug-{only(shop)}-turn-1.md"
    turn = shop.manifest(only(shop)).entries[1].turn.hex()[:10]
    assert path.read_text(encoding="utf-8") == (
        "# Fix the \\*auth\\* bug\n"
        "\n"
        f"- Session: {only(shop).replace('-', chr(92) + '-')} (claude\\_code)\n"
        "- Project: /home/sam/src/shop\n"
        "- Started: 2026-09-21 14:42\n"
        "- Duration: 23s \\| Messages: 18 \\| Tools: 6\n"
        "\n"
        "## Turn 1\n"
        "\n"
        f"2026-09-21 14:42 · `@{turn}`\n"
        "\n"
        "**User:**\n"
        "\n"
        "> prompt 1\n"
        "\n"
        "**Tool:** \\[Bash\\] make test\n"
        "\n"
        "```bash\nmake test\n```\n"
        "\n"
        "```\nok 1\n```\n"
        "\n"
        "**Assistant:**\n"
        "\n"
        "> answer 1\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(recalls) == [path.name]
    assert shop.run("show", f"{only(shop)}:1", "--save").stdout == done.stdout
    assert os.listdir(recalls) == [path.name]


def test_save_respects_the_directory_of_claude_code(shop: Home, tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    done = shop.run("show", "-", "--save", env=env, input=f"{only(shop)}:1\n{only(shop)}:2\n")
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert [path.parent for path in paths] == [tmp_path / "claude" / "recalls"] * 2
    assert all(path.exists() for path in paths)


def test_recalls_that_cannot_be_written_are_exit_2(shop: Home) -> None:
    (shop.directory / ".claude" / "recalls").write_text("a file")
    done = shop.run("show", only(shop), "--save")
    assert (done.returncode, done.stdout) == (2, "")
    assert "recalls" in done.stderr


def test_nothing_acts_in_what_is_saved_or_raw(home: Home) -> None:
    file = home.claude()
    for text in ATTACKS.values():
        file.turn(f"prompt {text}", f"answer {text}", f"command {text}", f"output {text}")
    file.meta("ai-title", aiTitle=" ".join(ATTACKS.values()))
    write(file)
    home.index()
    done = home.run("show", file.id, "--save", "--tools", "--thinking")
    assert (done.returncode, acting(done.stdout)) == (0, [])
    assert acting(Path(done.stdout.rstrip("\n")).read_text(encoding="utf-8"), "\n\t") == []
    raw = home.run("show", file.id, "--raw").stdout
    assert acting(raw) == []
    assert len(raw.splitlines()) == len(ATTACKS)


# The pager.


def test_long_output_on_a_terminal_goes_through_the_pager(home: Home) -> None:
    id = long_session(home).id
    seen = on_terminal(home, "show", id, PAGER="sed s/^/PAGED:/")
    lines = [COLOUR.sub("", line) for line in seen.splitlines()]
    assert all(line.startswith("PAGED:") for line in lines)
    plain = home.run("show", id).stdout.splitlines()
    assert [line.removeprefix("PAGED:") for line in lines] == plain


@pytest.mark.parametrize("how", ["short", "--no-pager", "cat", "--json", "--raw", "config"])
def test_what_needs_no_pager_gets_none(home: Home, how: str) -> None:
    id = long_session(home, 2 if how == "short" else 200).id
    options = [how] if how.startswith("--") else []
    environment: dict[str, Any] = {"PAGER": "cat" if how == "cat" else "sed s/^/PAGED:/"}
    if how == "config":
        config = home.directory / "config.toml"
        config.write_text('pager = ""\n')
        environment = {"CCGREP_CONFIG": str(config)}
    seen = on_terminal(home, "show", id, *options, **environment)
    assert "PAGED" not in seen
    assert "prompt 1" in seen


def test_the_usual_pager_is_less_and_gets_colours(home: Home, tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "less $* $LESS"\ncat\n')
    less.chmod(0o755)
    id = long_session(home).id
    seen = on_terminal(home, "show", id, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert seen.startswith("less -FRX FRX\n")
    assert "\x1b[36muser:\x1b[0m prompt 199" in seen


def test_a_pager_that_is_not_there_is_said_and_done_without(home: Home) -> None:
    id = long_session(home).id
    seen = on_terminal(home, "show", id, PAGER="no-such-pager -x", NO_COLOR="1")
    assert "ccgrep: cannot run the pager 'no-such-pager' (No such file or directory)" in seen
    assert "answer 199" in seen


def test_a_pager_that_quits_early_is_quiet(home: Home) -> None:
    id = long_session(home, 3000).id
    seen = on_terminal(home, "show", id, PAGER="head -n 1", NO_COLOR="1")
    assert len(seen.splitlines()) == 1


def test_trouble_behind_what_was_shown_is_still_said(home: Home) -> None:
    id = long_session(home).id
    for pager, refs in (("cat -n", [id, "zzzzzzzz"]), ("sed s/^/PAGED:/", [f"{id}:0", "zzzzzzzz"])):
        seen = on_terminal(home, "show", *refs, code=2, PAGER=pager, NO_COLOR="1")
        assert "prompt 0" in seen
        assert "ccgrep: no session matches" in seen.splitlines()[-1]


def test_a_pager_that_cannot_be_understood_is_exit_2(home: Home) -> None:
    id = long_session(home).id
    seen = on_terminal(home, "show", id, code=2, PAGER="less '")
    assert seen.startswith("ccgrep: invalid pager 'less ''")
