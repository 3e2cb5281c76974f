"""Pipes in a real shell: ccgrep with itself, cut, xargs, jq and fzf."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, environment, need, put_on_path


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home with three sessions and `ccgrep` on the PATH."""
    home = Home(tmp_path_factory.mktemp("pipes") / "home")
    first = home.claude(1, name="aaaaaaaa-first")
    first.turn("Fix the auth bug", "The token expired: too early.")
    first.turn("Write a test: for auth", "Added two: cases.")
    second = home.claude(2, name="bbbbbbbb-second", cwd="/home/sam/src/api")
    second.turn("Does auth need a 'session' or a \"cookie\"?", "A cookie; no token.")
    second.turn("And $HOME `date` | rm -rf *?", "Nothing to do with auth.")
    third = home.claude(3, name="cccccccc-third")
    third.turn("Rotate the token", "Rotated.")
    for file in (first, second, third):
        file.write()
    home.rest()  # Concurrent commands in a pipe have nothing to write.
    home.index()
    put_on_path(home)
    return home


def bash(home: Home, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment(home),
        cwd=home.directory,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def out(home: Home, command: str) -> str:
    done = bash(home, command)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def sessions_shown(output: str) -> list[str]:
    return sorted(line.split()[3] for line in output.splitlines() if line.startswith("[20"))


# ccgrep with itself


def test_sessions_that_match_are_shown(shop: Home) -> None:
    shown = out(shop, "ccgrep -l auth | ccgrep show -")
    assert sessions_shown(shown) == ["aaaaaaaa-first", "bbbbbbbb-second"]
    assert shown.count("user: ") == 4


def test_hits_are_shown(shop: Home) -> None:
    shown = out(shop, "ccgrep rotate | ccgrep show -")
    assert sessions_shown(shown) == ["cccccccc-third"]
    assert "user: Rotate the token" in shown


def test_hits_of_exact_patterns_are_shown(shop: Home) -> None:
    shown = out(shop, "ccgrep -F 'rm -rf' | ccgrep show -")
    assert "user: And $HOME `date` | rm -rf *?" in shown
    assert shown.count("user: ") == 1


def test_search_within_the_sessions_that_match(shop: Home) -> None:
    lines = out(shop, "ccgrep -l auth | ccgrep token --session -").splitlines()
    assert sorted(line.split(":")[0] for line in lines) == ["aaaaaaaa", "bbbbbbbb"]
    assert out(shop, "ccgrep -l rotate | ccgrep -l token --session -") == "cccccccc\n"


def test_session_option_accepts_record_and_list_lines(shop: Home) -> None:
    assert out(shop, "ccgrep cookie | ccgrep -l auth --session -") == "bbbbbbbb\n"
    assert out(shop, "ccgrep list -p api | ccgrep -l auth --session -") == "bbbbbbbb\n"


@pytest.mark.parametrize("command", ["ccgrep auth --session -", "ccgrep show -"])
def test_empty_standard_input_is_exit_2(shop: Home, command: str) -> None:
    done = bash(shop, f"ccgrep -l kangaroo | {command}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no REF on standard input" in done.stderr


def test_refs_may_end_with_nul(shop: Home) -> None:
    shown = out(shop, "ccgrep -l0 auth | ccgrep show -")
    assert sessions_shown(shown) == ["aaaaaaaa-first", "bbbbbbbb-second"]
    shown = out(shop, "ccgrep -0 auth | ccgrep show -")
    assert shown == out(shop, "ccgrep auth | ccgrep show -")


def test_refs_may_be_followed_by_invalid_utf8(shop: Home) -> None:
    """Even where Python decodes standard input strictly."""
    for command in ("ccgrep show -", "ccgrep rotate --session -"):
        line = r"printf 'cccccccc:0:1.000:\xff\xfe\n'"
        shown = out(shop, f"export PYTHONIOENCODING=utf-8:strict; {line} | {command}")
        assert "Rotate the token" in shown


def test_exit_code_drives_the_shell(shop: Home) -> None:
    assert out(shop, "ccgrep -q auth && echo yes") == "yes\n"
    assert out(shop, "ccgrep -q kangaroo || echo $?") == "1\n"
    assert bash(shop, "ccgrep -q '' || echo $?").stdout == "2\n"
    assert out(shop, "if ccgrep -qF 'rm -rf'; then echo found; fi") == "found\n"


# With cut, xargs and head


def test_session_and_turn_of_each_hit_are_a_ref(shop: Home) -> None:
    shown = out(shop, "ccgrep auth | cut -d: -f1,2 | xargs -n1 ccgrep show")
    assert shown.count("user: ") == 4
    assert sessions_shown(shown) == ["aaaaaaaa-first"] * 2 + ["bbbbbbbb-second"] * 2


def test_sessions_are_refs(shop: Home) -> None:
    shown = out(shop, "ccgrep -l auth | xargs -n1 ccgrep show")
    assert sessions_shown(shown) == ["aaaaaaaa-first", "bbbbbbbb-second"]
    assert sessions_shown(out(shop, "ccgrep show $(ccgrep -l auth)")) == sessions_shown(shown)


def test_nul_terminated_records_may_contain_any_text(shop: Home) -> None:
    printed = out(shop, "ccgrep -0 auth | xargs -0 -n1 printf '<%s>\\n'")
    assert printed.splitlines() == [f"<{line}>" for line in out(shop, "ccgrep auth").splitlines()]
    assert '"cookie"' in printed and "'session'" in printed


def test_nul_terminated_sessions_work_with_xargs(shop: Home) -> None:
    shown = out(shop, "ccgrep -l0 auth | xargs -0 -n1 ccgrep show")
    assert sessions_shown(shown) == ["aaaaaaaa-first", "bbbbbbbb-second"]


def test_snippet_is_the_rest_of_the_line(shop: Home) -> None:
    snippets = out(shop, "ccgrep -F 'token expired' | cut -d: -f4-")
    assert snippets == "The token expired: too early.\n"
    counted = out(shop, "ccgrep -c auth | sort -t: -k2 -n | awk -F: '{n += $2} END {print n}'")
    assert counted == "4\n"


def test_output_can_be_read_line_by_line(shop: Home) -> None:
    loop = 'ccgrep auth | while IFS=: read -r id turn score text; do echo "$id $turn"; done'
    places = out(shop, loop).splitlines()
    expected = [line.split(":") for line in out(shop, "ccgrep auth").splitlines()]
    assert places == [f"{row[0]} {row[1]}" for row in expected]


def test_head_ends_a_search_quietly(shop: Home) -> None:
    done = bash(shop, "ccgrep auth | head -n1 | cut -d: -f3; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("1.000\n0\n", "")


# With jq


def test_json_is_read_by_jq(shop: Home) -> None:
    need("jq")
    ids = out(shop, "ccgrep --json rotate | jq -r '.results[].session_id'")
    assert ids == "cccccccc-third\n"
    texts = out(shop, "ccgrep --json -F 'rm -rf' | jq -r '.results[0].messages[0].content'")
    assert texts == "And $HOME `date` | rm -rf *?\n"
    refs = "ccgrep --json auth | jq -r '.results[] | \"\\(.session_id):\\(.turn)\"'"
    assert out(shop, f"{refs} | ccgrep show -").count("user: ") == 4


def test_jsonl_is_read_by_jq_one_by_one(shop: Home) -> None:
    need("jq")
    lines = out(shop, "ccgrep --jsonl auth | jq -c '{schema, rank, turn}'").splitlines()
    assert [json.loads(line)["rank"] for line in lines] == [1, 2, 3, 4]
    assert {json.loads(line)["schema"] for line in lines} == {1}


# With fzf


def test_fzf_filters_the_records(shop: Home) -> None:
    need("fzf")
    chosen = out(shop, "ccgrep auth | fzf --filter cookie")
    assert chosen in out(shop, "ccgrep auth").splitlines(keepends=True)
    assert "cookie" in chosen
    assert "user: Does auth need" in out(shop, "ccgrep auth | fzf --filter cookie | ccgrep show -")


def test_fzf_filters_null_records(shop: Home) -> None:
    need("fzf")
    chosen = out(shop, "ccgrep -0 auth | fzf --read0 --print0 --filter cookie | tr '\\0' '\\n'")
    assert chosen == out(shop, "ccgrep auth | fzf --filter cookie")


@pytest.fixture
def terminal(shop: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    need("fzf", "tmux")
    terminal = Terminal(shop, tmp_path_factory.mktemp("t"))
    yield terminal
    terminal.close()


PREVIEW = "fzf --delimiter : --preview 'ccgrep show {1}:{2}' --preview-window right,60%"


def test_fzf_previews_the_turn_and_prints_the_record(
    shop: Home, terminal: Terminal, tmp_path: Path
) -> None:
    chosen = tmp_path / "chosen"
    terminal.type(f"ccgrep auth | {PREVIEW} > {chosen}")
    terminal.press("Enter")
    terminal.wait(lambda screen: "4/4" in screen and "user: " in screen)
    terminal.type("cookie")
    shown = terminal.wait(lambda screen: "1/4" in screen and "assistant: A cookie" in screen)
    assert "Session bbbbbbbb-second" in shown
    terminal.press("Enter")
    terminal.wait(lambda _: chosen.exists() and chosen.stat().st_size > 0)
    assert chosen.read_text(encoding="utf-8") == out(shop, "ccgrep auth | fzf --filter cookie")


def test_fzf_previews_each_selected_turn(terminal: Terminal, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    terminal.type(f"ccgrep auth --session aaaaaaaa | {PREVIEW} --multi | ccgrep show - > {chosen}")
    terminal.press("Enter")
    for query, answer in (("Write", "assistant: Added two: cases."), ("bug", "The token expired")):
        terminal.wait(lambda screen: "/2" in screen)
        terminal.press("C-u")
        terminal.type(query)
        terminal.wait(lambda screen, answer=answer: "1/2" in screen and answer in screen)  # type: ignore[misc]
        terminal.press("Tab")
    terminal.press("C-u")
    terminal.wait(lambda screen: "2/2 (2)" in screen)
    terminal.press("Enter")
    terminal.wait(lambda _: chosen.exists() and chosen.read_text().count("assistant: ") == 2)
    assert chosen.read_text(encoding="utf-8").count("user: ") == 2


def test_leaving_fzf_prints_nothing(terminal: Terminal, tmp_path: Path) -> None:
    status = tmp_path / "status"
    terminal.type(f"ccgrep auth | {PREVIEW}; echo ${{PIPESTATUS[@]}} > {status}")
    terminal.press("Enter")
    terminal.wait(lambda screen: "4/4" in screen)
    terminal.press("C-c")
    terminal.wait(lambda _: status.exists() and status.stat().st_size > 0)
    assert status.read_text() == "0 130\n"
