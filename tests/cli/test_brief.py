"""`ccgrep brief`: what was worked on, decided and left open, quoted from the transcripts."""

import pytest

from tests.helpers.homes import Home
from tests.helpers.terminal import on_terminal
from tests.helpers.transcripts import EPOCH_MS

TODOS = [
    {"content": "Write the test", "status": "completed"},
    {"content": "Fix the clock", "status": "in_progress"},
    {"content": "Tell Ana", "status": "pending"},
    "no item",
]


@pytest.fixture
def shop(home: Home) -> Home:
    login = home.claude(1)
    login.turn("the login test is flaky", "We decided to freeze the clock in tests. It passes.")
    login.prompt("commit it")
    login.result(login.call("TodoWrite", {"todos": TODOS}), "ok")
    login.answer("First I look.")
    login.answer("Committed as 1234abc.\nNothing else changed.")
    login.meta("custom-title", customTitle="Flaky login test")
    login.write()
    cart = home.claude(2, slug="-home-sam-src-cart", cwd="/home/sam/src/cart")
    cart.turn("sum the cart", "Done.")
    cart.prompt("and the taxes?")
    cart.write()
    agent = home.subagent(login, "agent-a1b2c3d")
    agent.turn("look around", "nothing there")
    agent.write()
    return home


def briefs(text: str) -> list[str]:
    """Return the blocks without the age, which depends on the clock."""
    blocks = text.strip("\n").split("\n\n")
    return [" ".join(word for i, word in enumerate(b.split(" ")) if i != 1) for b in blocks]


def test_brief_quotes_title_prompt_answer_decisions_and_todos(shop: Home) -> None:
    done = shop.run("brief")
    assert (done.returncode, done.stderr) == (0, "")
    short = {id[:8] for id in shop.rows()}
    cart, login = briefs(done.stdout)
    assert {cart[:8], login[:8]} <= short
    assert cart[8:].splitlines() == [
        ":1 cart sum the cart",
        "  asked: and the taxes?",
        "  open: the last prompt has no answer",
    ]
    assert login[8:].splitlines() == [
        ":1 shop Flaky login test",
        "  asked: commit it",
        "  answered: Committed as 1234abc. Nothing else changed.",
        "  decided: We decided to freeze the clock in tests.",
        "  open: Fix the clock",
        "  open: Tell Ana",
    ]


def test_brief_as_json(shop: Home) -> None:
    _, login = shop.json("brief")["sessions"]
    assert {name: login[name] for name in login if name not in ("session_id", "short_id")} == {
        "turn": 1,
        "timestamp": login["timestamp"],
        "project": "/home/sam/src/shop",
        "title": "Flaky login test",
        "prompt": "commit it",
        "answer": "Committed as 1234abc.\nNothing else changed.",
        "decisions": ["We decided to freeze the clock in tests."],
        "open": ["Fix the clock", "Tell Ana"],
    }


def test_brief_takes_filters_and_a_limit(
    shop: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert len(briefs(shop.run("brief", "-n", "1").stdout)) == 1
    assert briefs(shop.run("brief", "-p", "shop").stdout)[0][9:].startswith("1 shop Flaky")
    assert len(briefs(shop.run("brief", "--subagents", "include").stdout)) == 3
    here = tmp_path_factory.mktemp("here")
    file = shop.claude(9, slug="-here", cwd=str(here))
    file.turn("only here", "yes")
    file.write()
    assert len(briefs(shop.run("brief", "--here", cwd=str(here)).stdout)) == 1
    assert shop.run("brief", "-p", "shop", "--until", "2000-01-01").returncode == 1
    assert (
        shop.run("brief", "--no-refresh", "--since", f"{EPOCH_MS // 10**12 + 2098}-01-01").stdout
        == ""
    )


def test_brief_of_a_codex_plan(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.prompt("plan it")
    plan = '{"plan":[{"step":"Read","status":"completed"},{"step":"Write","status":"pending"}]}'
    file.item("function_call", name="update_plan", arguments=plan, call_id="c1")
    file.item("function_call_output", call_id="c1", output="Plan updated")
    file.answer("Planned.")
    file.write()
    assert home.json("brief")["sessions"][0]["open"] == ["Write"]


def test_brief_of_an_empty_store_is_exit_1(home: Home) -> None:
    done = home.run("brief")
    assert (done.returncode, done.stdout) == (1, "")


def test_brief_fits_the_terminal(shop: Home) -> None:
    shown = on_terminal(shop, "brief", COLUMNS="40", NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= 40
    assert "  decided: We decided to freeze the\n    clock in tests." in shown.replace("\r", "")
