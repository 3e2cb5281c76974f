"""The output of a search in color, on a terminal, and as JSON."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ccgrep.text import columns
from tests.helpers.homes import Home
from tests.helpers.terminal import COLOR, on_terminal, run_on_terminal

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\u2029\U000e0041]")
ROOTS = {"CLAUDE_CONFIG_DIR": ".claude", "CODEX_HOME": ".codex"}
NASTY = "esc\x1b[31m bell\x07 bidi\u202e zero\u200b tag\U000e0041 nel\x85 ls\u2028 cr\r\n nul\0"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with two sessions: both mention `auth`, 25 turns mention `deploy`."""
    home = Home(tmp_path_factory.mktemp("output") / "home")
    first = home.claude(1, name="aaaaaaaa-first")
    first.turn("Fix the auth bug", "The token expired: auth: is fixed.")
    first.turn("thanks", "You're welcome.")
    first.turn("auth again, please", "Done.")
    first.turn("last words", "Bye.")
    second = home.claude(2, name="bbbbbbbb-second")
    second.turn("Is auth needed here?", "No.")
    for number in range(25):
        second.turn(f"deploy number {number}", "Deployed.")
    for file in (first, second):
        file.meta("custom-title", customTitle="-")
        os.utime(file.write(), (1_790_000_000, 1_790_000_000))  # long at rest: nothing to read
    home.index()
    return home


def out(home: Home, *arguments: str, **options: Any) -> list[str]:
    """Return the lines of a search that has hits and prints no warning."""
    done = home.run(*arguments, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


# Colors and terminals


def test_color_option_turns_colors_on_and_off(shop: Home) -> None:
    plain = out(shop, "auth")
    assert "\x1b" not in "".join(plain)
    assert out(shop, "--color", "never", "auth") == plain
    assert out(shop, "--colour=auto", "auth") == plain
    colored = out(shop, "--color", "always", "auth", env={"NO_COLOR": "1"})
    assert "\x1b[1;31mauth\x1b[0m" in colored[0]
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in colored] == plain


def test_terminal_shows_colored_blocks(shop: Home) -> None:
    shown = on_terminal(shop, "again")
    assert "\x1b[36mYou:\x1b[0m" in shown
    assert "→ ccgrep show aaaaaaaa:2" in shown
    assert re.search(r"Found 1 result\x1b\[2m in [0-9.]+s\x1b\[0m\n$", shown)
    assert "\x1b" not in on_terminal(shop, "again", NO_COLOR="1")
    assert "\x1b" not in on_terminal(shop, "again", TERM="dumb")
    assert "\x1b" not in on_terminal(shop, "again", "--color=never")


def test_footer_counts_all_hits_and_says_how_to_get_them(shop: Home) -> None:
    def footer(*arguments: str) -> str:
        return on_terminal(shop, *arguments, NO_COLOR="1").splitlines()[-1].partition(" (")[0]

    assert footer("deploy", "-n3") == "─── 3 of 25; -n 0 for all"
    assert footer("-F", "deploy", "-n3") == "─── 3 of 25; -n 0 for all"
    assert footer("deploy number", "-n3") == "─── 3 of 25; -n 0 for all"
    assert footer('"deploy number"', "-n3") == "─── the best 3; -n 0 for all"
    assert footer("deploy", "--per-session=2").startswith("─── Found 2 results in ")


def test_three_hits_of_the_example_fit_into_half_a_screen(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    example = Path(__file__).parents[2] / "examples" / "home"
    roots = {name: str(example / path) for name, path in ROOTS.items()}
    home.run("index", "-q", env=roots)  # On a busy machine, the first search shows progress.
    counted = 0
    for words in ("flaky login test", "token", "cache", "test"):
        shown, _ = run_on_terminal(home, *words.split(), "-n3", COLUMNS="80", **roots)
        assert shown.count("→ ccgrep show ") == 3
        lines = COLOR.sub("", shown).splitlines()
        lines = [line for line in lines if not line.startswith("ccgrep: ")]
        assert len(lines) <= 24
        assert max(map(columns, lines)) <= 80
        counted += len(lines)
    assert counted > 4 * 12


def test_long_option_shows_more_of_each_message(home: Home) -> None:
    file = home.claude(name="aaaaaaaa-first")
    file.turn("Where is the zebra?", "\n\n".join(f"line {n}" for n in range(30)))
    file.write()
    compact, long = (
        on_terminal(home, "zebra", *option, NO_COLOR="1", COLUMNS="60").splitlines()
        for option in ([], ["--long"])
    )
    assert [line.split("  [")[0] for line in compact[1:-1]] == [
        "  You: Where is the zebra?",
        "  Claude: line 0",
        "          line 1 …",
        "  → ccgrep show aaaaaaaa:0",
    ]
    assert long[1:5] == ["", "  You: Where is the zebra?", "", "  Claude: line 0"]
    assert "  line 29" in long


def test_long_option_without_blocks_is_noted(shop: Home) -> None:
    note = "ccgrep: --long has no effect here: only a terminal shows hits as blocks"
    done = shop.run("--long", "again")
    assert (done.returncode, done.stderr) == (0, f"{note}\n")
    assert done.stdout == shop.run("again").stdout
    for option in ("-l", "-c", "-C1", "--jsonl"):
        assert on_terminal(shop, "--long", option, "again").startswith(note)


def render(output: str) -> list[str]:
    """Return the lines that a terminal shows at the end."""
    lines: list[str] = []
    line, at = "", 0
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+", output):
        if part == "\n":
            lines, line, at = [*lines, line], "", 0
        elif part == "\r":
            at = 0
        elif part == "\x1b[K":
            line = line[:at]
        else:
            line, at = line[:at] + part + line[at + len(part) :], at + len(part)
    return [*lines, line] if line else lines


def test_progress_bar_is_erased_before_the_results(home: Home) -> None:
    for seed in (1, 2):
        file = home.claude(seed, name=f"aaaaaaa{seed}-new")
        file.turn(f"needle {seed}", "found")
        file.write()
    # The bar appears only after a delay, which no test waits for.
    setup = "from ccgrep.cli import progress; progress.shared_bar = lambda bar=progress.Bar(): bar"
    shown, _ = run_on_terminal(home, "-l", "needle", setup=setup, NO_COLOR="1")
    assert "░" in shown
    assert sorted(render(shown)) == ["aaaaaaa1", "aaaaaaa2"]


def test_record_options_print_records_on_a_terminal(shop: Home) -> None:
    for option in ("-o", "-l", "-c", "--width=30", "-C1", "--json"):
        shown = on_terminal(shop, option, "again", NO_COLOR="1")
        if option == "--json":
            assert json.loads(shown)["total_results"] == 1
        else:
            assert shown.splitlines() == out(shop, option, "again")


# JSON


def test_json_shape(shop: Home) -> None:
    answer = shop.json("--all", "auth", "again")
    milliseconds = answer.pop("search_time_ms")
    assert isinstance(milliseconds, int) and 0 <= milliseconds < 60_000
    (hit,) = answer.pop("results")
    assert answer == {
        "schema": 1,
        "query": "auth again",
        "total_results": 1,
        "tier": "all",
        "coverage": {
            "is_fresh": True,
            "behind_files": 0,
            "behind_bytes": 0,
            "is_complete": True,
        },
    }
    assert re.fullmatch("[0-9a-f]{64}", hit.pop("id"))
    assert hit.pop("session_path").endswith("/aaaaaaaa-first.jsonl")
    assert hit == {
        "rank": 1,
        "score": 1.0,
        "project": "shop",
        "project_path": "/home/sam/src/shop",
        "source": "claude_code",
        "session_id": "aaaaaaaa-first",
        "is_gone": False,
        "machine": None,
        "title": "-",
        "turn": 2,
        "timestamp": "2026-09-21T14:42:13.000Z",
        "messages": [
            {"role": "user", "content": "auth again, please"},
            {"role": "assistant", "content": "Done."},
        ],
        "context": [
            {"turn": 1, "role": "assistant", "content": "You're welcome."},
            {"turn": 3, "role": "user", "content": "last words"},
        ],
        "also_in": [],
    }


def test_scripting_page_names_every_field(shop: Home) -> None:
    document = (Path(__file__).parents[2] / "docs" / "scripting.md").read_text(encoding="utf-8")
    answer = shop.json("again")
    (hit,) = answer["results"]
    fields = {*answer, *answer["coverage"], *hit, *hit["messages"][0], *hit["context"][0]}
    assert {name for name in fields if f"`{name}`" not in document} == set()


def test_json_counts_all_hits_and_ranks_printed_ones(shop: Home) -> None:
    answer = shop.json("deploy", "-n", "3")
    assert answer["total_results"] == 25
    assert [one["rank"] for one in answer["results"]] == [1, 2, 3]
    assert len(shop.json("-F", "deploy")["results"]) == 25


def test_json_without_hits_is_an_object(shop: Home) -> None:
    done = shop.run("--json", "kangaroo")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["total_results"], answer["results"]) == (1, 0, [])
    done = shop.run("--jsonl", "kangaroo")
    assert (done.returncode, done.stdout) == (1, "")


def test_jsonl_is_one_hit_per_line(shop: Home) -> None:
    lines = [json.loads(line) for line in out(shop, "--jsonl", "auth")]
    whole = shop.json("auth")
    common = {key: whole[key] for key in ("schema", "query", "tier")}
    assert lines == [{**common, **one} for one in whole["results"]]
    assert len(lines) == 3


def test_json_has_tool_calls_and_thinking_of_selected_types(home: Home) -> None:
    file = home.claude()
    file.prompt("look")
    file.blocks({"type": "thinking", "thinking": "the needle may be there"})
    file.result(file.call("Bash", {"command": "find needle"}), "haystack")
    file.answer("found")
    file.write()
    messages = home.json("needle")["results"][0]["messages"]
    assert [sorted(message) for message in messages] == [["content", "role"]] * 2
    done = home.json("needle", "-t", "tool", "-t", "thinking")["results"][0]["messages"]
    assert done[1]["thinking"] == "the needle may be there"
    assert done[2]["tool_calls"][0]["result"]["text"] == "haystack"


def test_json_parses_back_to_the_text(home: Home) -> None:
    file = home.claude()
    file.turn(f"needle {NASTY}", "found")
    file.write()
    done = home.run("--json", "needle")
    assert not CONTROL.search(done.stdout)
    assert json.loads(done.stdout)["results"][0]["messages"][0]["content"] == f"needle {NASTY}"


def test_ids_of_the_turns_of_a_long_session(home: Home) -> None:
    """The first ids come from the full-text index, the others from the manifest."""
    file = home.claude(1)
    for number in range(30):
        file.turn(f"zebra {number}", "Seen.")
    file.write()
    home.index()
    stored = [entry.turn.hex() for entry in home.manifest(file.id).entries]
    results = home.json("zebra", "-n", "0")["results"]
    assert {hit["turn"]: hit["id"] for hit in results} == dict(enumerate(stored))
    assert all(f"zebra {hit['turn']}" in str(hit["messages"]) for hit in results)
