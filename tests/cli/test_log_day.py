"""`ccgrep log --day`: what was asked, changed, committed and spent, by day and project."""

import time

import pytest

from ccgrep.blame.recorded_commits import RecordedCommit, recorded_commits
from ccgrep.model import Message, ToolCall, ToolResult, Turn
from tests.helpers.attacks import ATTACKS, acting
from tests.helpers.homes import Home
from tests.helpers.hostile_home import write_sessions
from tests.helpers.terminal import on_terminal

SINCE = ("--since", "2026-09-01")


@pytest.fixture
def shop(home: Home) -> Home:
    login = home.claude(1, name="aaaaaaaa-login")
    login.prompt("fix the login")
    login.result(login.call("Read", {"file_path": "/home/sam/src/shop/a.ts"}), "code")
    edit = {"file_path": "/home/sam/src/shop/a.ts", "old_string": "x", "new_string": "y"}
    login.result(login.call("Edit", edit), "ok")
    login.result(login.call("Edit", {**edit, "file_path": "b.ts"}), "no", is_error=True)
    output = "[main 1234abc] Fix the login\n 1 file changed\n"
    login.result(login.call("Bash", {"command": "git commit -am 'Fix the login'"}), output)
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    login.answer("Done.", model="claude-opus-4-8", usage=usage)
    agent = home.subagent(login, "agent-a1b2c3d")
    agent.now_ms = login.now_ms
    agent.prompt("write the test")
    agent.result(agent.call("Write", {"file_path": "/tmp/t.ts", "content": "1"}), "ok")
    agent.answer("ok", model="claude-haiku-4-5", usage=usage)
    cart = home.claude(2, slug="-cart", cwd="/home/sam/src/cart", name="bbbbbbbb-cart")
    cart.now_ms += 86_400_000
    cart.turn("sum the cart", "42")
    for file in (login, agent, cart):
        file.write()
    home.index()
    return home


def test_report_has_a_part_for_each_day_and_project(shop: Home) -> None:
    done = shop.run("log", "--day", *SINCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "2026-09-22",
        "  cart  1 turn, 0 files changed, 0 commits, $0.00",
        "    asked    15:10 bbbbbbbb:0 sum the cart",
        "",
        "2026-09-21",
        "  shop  1 turn, 1 turn of sub-agents, 2 files changed, 1 commit, $6.00",
        "    asked    14:42 aaaaaaaa:0 fix the login",
        "    changed  a.ts (edited)",
        "    changed  /tmp/t.ts (wrote)",
        "    commit   1234abc Fix the login",
    ]


def test_report_as_markdown(shop: Home) -> None:
    done = shop.run("log", "--day", "--markdown", "-p", "shop", *SINCE)
    assert done.stdout.splitlines() == [
        "# 2026-09-21",
        "",
        "## shop",
        "",
        "1 turn, 1 turn of sub-agents, 2 files changed, 1 commit, $6.00",
        "",
        "**Asked**",
        "",
        "- fix the login (`aaaaaaaa:0`)",
        "",
        "**Changed**",
        "",
        "- `a.ts` (edited)",
        "- `/tmp/t.ts` (wrote)",
        "",
        "**Committed**",
        "",
        "- `1234abc` Fix the login",
    ]


def test_report_as_json(shop: Home) -> None:
    cart, login = shop.json("log", "--day", *SINCE)["days"]
    assert (cart["day"], cart["project"], cart["usd"]) == ("2026-09-22", "cart", 0.000175)
    assert login["commits"] == [{"sha": "1234abc", "subject": "Fix the login"}]
    assert login["files"][0] == {"path": "/home/sam/src/shop/a.ts", "actions": ["edited"]}
    assert (login["usd"], login["agent_turns"], len(login["asked"])) == (6.000875, 1, 1)


def test_report_starts_yesterday_by_default(shop: Home) -> None:
    file = shop.claude(3, name="cccccccc-now")
    file.now_ms = int(time.time() * 1000) - 60_000
    file.turn("something new", "yes")
    file.write()
    shown = shop.run("log", "--day").stdout
    assert "something new" in shown and "sum the cart" not in shown
    none = shop.run("log", "--day", "--until", "2026-01-01")
    assert (none.returncode, none.stderr) == (1, "ccgrep: no turn matches\n")


def test_report_without_turns_since_yesterday_names_the_option(shop: Home) -> None:
    none = shop.run("log", "--day")
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr == "ccgrep: no turn since yesterday: use --since\n"


def test_report_names_the_models_that_are_not_in_the_cost(home: Home) -> None:
    file = home.claude(1)
    for model in ("claude-haiku-4-5", "my-model"):
        file.prompt("a")
        file.answer("b", model=model, usage={"input_tokens": 1_000_000, "output_tokens": 0})
    file.write()
    home.index()
    shown = home.run("log", "--day", *SINCE).stdout
    assert "0 commits, $1.00 without my-model, which has no price\n" in shown
    (day,) = home.json("log", "--day", *SINCE)["days"]
    assert (day["usd"], day["unpriced"]) == (1.0, ["my-model"])


def test_options_of_the_report_need_it(shop: Home) -> None:
    done = shop.run("log", "--markdown")
    assert (done.returncode, done.stderr) == (
        2, "ccgrep: --markdown needs --day: use `ccgrep log --day --markdown`\n",
    )  # fmt: skip
    assert shop.run("log", "--day", "-n", "3").returncode == 2


def test_report_of_hostile_text_is_inert(home: Home) -> None:
    write_sessions(home, list(ATTACKS.values()))
    home.index()
    for words in ((), ("--markdown",), ("--json",)):
        done = home.run("log", "--day", "--since", "2000-01-01", *words)
        assert (done.returncode, acting(done.stdout, "\n"), acting(done.stderr)) == (0, [], [])
    shown = on_terminal(home, "log", "--day", "--since", "2000-01-01", "--no-pager", NO_COLOR="1")
    assert acting(shown, "\n") == []


@pytest.mark.parametrize(
    ("script", "output", "found"),
    [
        ("git commit -m 'One'", "[main (root-commit) 0a1b2c3] One\n", [("0a1b2c3", "One")]),
        ("git -C x commit -q -m 'One'", "", [("", "One")]),
        ('git add . && git commit -qm "Two words"', "", [("", "Two words")]),
        ("git commit -F - <<E\nThree\nE", "[x/y 0a1b2c3d] Three\n", [("0a1b2c3d", "Three")]),
        ("git commit -m \"$(cat <<'EOF'\nFour\n\nbody\nEOF\n)\"", "", [("", "Four")]),
        ("git log", "[main 0a1b2c3] no commit", []),
        ("echo git; commit", "", []),
    ],
)
def test_commits_of_a_script(script: str, output: str, found: list[tuple[str, str]]) -> None:
    def commits(is_error: bool) -> list[RecordedCommit]:
        call = ToolCall("Bash", {"command": script}, ToolResult(output, is_error))
        return list(recorded_commits(Turn("go", steps=(Message((call,)),))))

    assert commits(is_error=False) == found
    assert commits(is_error=True) == [one for one in found if one[0]]
