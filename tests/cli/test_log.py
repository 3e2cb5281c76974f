"""`ccgrep log`: turns in time order, and `--sort` of a search."""

from datetime import datetime

import pytest

from tests.helpers.homes import Home
from tests.helpers.terminal import on_terminal

DAY_S = 86_400


@pytest.fixture
def shop(home: Home) -> Home:
    """Return three sessions: two days in one project, one of the days also in another."""
    login = home.claude(1, name="aaaaaaaa-login")
    login.turn("the login test is flaky", "It was the clock.")
    login.tick(DAY_S)
    login.turn("commit the login fix", "Done, the login test passes.")
    cart = home.claude(2, slug="-cart", cwd="/home/sam/src/cart", name="bbbbbbbb-cart")
    cart.turn("sum the cart", "Login is not involved.")
    agent = home.subagent(login, "agent-a1b2c3d")
    agent.turn("look around the login page", "nothing there")
    fork = login.fork(home.projects / "-fork", 2, 7)
    for file in (login, cart, agent, fork):
        file.write()
    home.index()
    return home


def test_log_prints_a_record_line_for_each_turn_once_the_newest_first(shop: Home) -> None:
    done = shop.run("log")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split(":", 3)[1:] for line in lines] == [
        ["1", "1.000", "2026-09-22 14:42 shop: commit the login fix"],
        ["0", "1.000", "2026-09-21 15:10 cart: sum the cart"],
        ["0", "1.000", "2026-09-21 14:42 shop: the login test is flaky"],
    ]
    assert "user: commit the login fix" in shop.run("show", "-", input=lines[0]).stdout


def test_log_on_a_terminal_groups_by_day_and_project(shop: Home) -> None:
    first = shop.run("log").stdout.splitlines()[2].split(":")[0]
    assert on_terminal(shop, "log", NO_COLOR="1").splitlines() == [
        "2026-09-22",
        "  shop",
        "    14:42 aaaaaaaa:1 commit the login fix",
        "",
        "2026-09-21",
        "  cart",
        "    15:10 bbbbbbbb:0 sum the cart",
        "  shop",
        f"    14:42 {first}:0 the login test is flaky",
    ]


def test_log_finds_turns_that_have_all_words_and_pass_filters(shop: Home) -> None:
    def found(*words: str) -> list[str]:
        return shop.run("log", "--format", "{project}{turn}", *words).stdout.splitlines()

    assert found("login") == ["shop1", "cart0", "shop0"]
    assert found("login", "test") == ["shop1", "shop0"]
    assert found('"login test"', "-n", "1") == ["shop1"]
    assert found("-p", "cart") == ["cart0"]
    assert found("--since", "2026-09-22") == ["shop1"]
    oldest_first = shop.run("log", "--reverse", "-n", "2", "--format", "{project}{turn}")
    assert oldest_first.stdout.splitlines() == ["cart0", "shop1"]
    assert len(found("--subagents", "include")) == 4
    assert shop.run("log", "nowhere").returncode == 1


def test_template_fields_and_an_unknown_one(shop: Home) -> None:
    template = r"{date}\t{time}\t{iso}\t{ref}\t{path}\t{source}\t{answer}"
    assert shop.run("log", "-n1", "--format", template).stdout == (
        "2026-09-22\t14:42\t2026-09-22T14:42:11.000Z\taaaaaaaa:1\t/home/sam/src/shop\tclaude_code\t"
        "Done, the login test passes.\n"
    )
    failed = shop.run("log", "--format", "{cost}")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("ccgrep: unknown field '{cost}' in --format: use one of {ref}")
    failed = shop.run("log", "--format", "%h %s")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("ccgrep: --format '%h %s' has no field: use at least one of")


def test_long_log_goes_through_the_pager(home: Home) -> None:
    file = home.claude()
    for number in range(60):
        file.turn(f"prompt {number}", "ok")
    file.write()
    home.index()
    for words in ((), ("--day", "--since", "2026-09-01")):
        shown = on_terminal(home, "log", *words, PAGER="sed s/^/PAGED:/", NO_COLOR="1").splitlines()
        assert all(line.startswith("PAGED:") for line in shown)
        assert len([line for line in shown if "prompt " in line]) == 60
    assert "PAGED:" not in on_terminal(home, "log", "--no-pager", PAGER="sed s/^/PAGED:/")
    assert "PAGED:" not in home.run("log", env={"PAGER": "sed s/^/PAGED:/"}).stdout


def test_until_with_a_date_includes_that_day_in_every_zone(home: Home) -> None:
    """The clocks in Berlin go back on 2026-10-25, a day of 25 hours."""
    file = home.claude()
    for when in ("2026-10-24T21:59", "2026-10-24T22:00", "2026-10-25T22:59", "2026-10-25T23:00"):
        file.now_ms = int(datetime.fromisoformat(f"{when}+00:00").timestamp() * 1000) - 1000
        file.turn(when, "ok")
    file.write()
    home.index()

    def days(*words: str, **environment: str) -> list[str]:
        done = home.run("log", "--format", "{date} {time}", *words, env=environment)
        return done.stdout.splitlines()

    sunday = ("--since", "2026-10-25", "--until", "2026-10-25")
    berlin = {"TZ": "Europe/Berlin"}
    assert days(*sunday, **berlin) == ["2026-10-25 23:59", "2026-10-25 00:00"]
    assert days(*sunday) == ["2026-10-25 23:00", "2026-10-25 22:59"]
    assert days("--until", "2026-10-24", **berlin) == ["2026-10-24 23:59"]
    assert len(days("--since", "2026-10-24", "--until", "today")) == 4
    at_midnight = days("--until", "2026-10-25T00:00", **berlin)
    assert at_midnight == ["2026-10-25 00:00", "2026-10-24 23:59"]


def test_log_as_json(shop: Home) -> None:
    first, *_ = turns = shop.json("log")["turns"]
    assert len(turns) == 3
    assert first == {
        "session_id": "aaaaaaaa-login",
        "short_id": "aaaaaaaa",
        "turn": 1,
        "timestamp": "2026-09-22T14:42:11.000Z",
        "project": "shop",
        "project_path": "/home/sam/src/shop",
        "source": "claude_code",
        "prompt": "commit the login fix",
        "answer": "Done, the login test passes.",
    }


def test_pages_of_a_long_log_are_in_order_and_complete(home: Home) -> None:
    file = home.claude(1)
    for number in range(1200):
        file.turn(f"prompt {number}", "ok")
        if number % 3:
            file.now_ms -= 2000  # Many turns start at the same moment, also across pages.
    file.write()
    home.index()
    numbers = home.run("log", "--format", "{turn}").stdout.split()
    assert sorted(numbers, key=int) == sorted({*numbers}, key=int) == [str(n) for n in range(1200)]
    times = home.run("log", "--format", "{iso}").stdout.split()
    assert times == sorted(times, reverse=True)


def test_log_of_words_has_what_a_search_in_time_order_has(home: Home) -> None:
    """The log reads pages of the index, and the search ranks all matching turns."""
    file = home.claude(1, name="aaaaaaaa-long")
    words = ["cart", "login", "token"]
    for number in range(700):
        said = [word for bit, word in enumerate(words) if number >> bit & 1]
        file.turn(f"prompt {' '.join(said)}", "the answer", "ls", "some output of the clock")
        file.now_ms -= 4000 if number % 3 else 0
    file.write()
    home.index()
    for query in ("cart", "cart login", '"cart token"', "clock token", "login.token", '"of the"'):
        hits = home.run(query, "--all", "-n0", "--sort", "time").stdout.splitlines()
        turns = [line.split(":")[1] for line in hits]
        logged = home.run("log", query, "--format", "{turn}").stdout.split()
        assert sorted(logged) == sorted(turns) and logged
        assert home.run("log", query, "-n", "9", "--format", "{turn}").stdout.split() == logged[:9]
    times = home.run("log", "cart", "--format", "{iso}").stdout.split()
    assert times == sorted(times, reverse=True)


def test_search_sorts_by_time(shop: Home) -> None:
    def found(*words: str) -> list[str]:
        done = shop.run("--subagents", "exclude", "--full-id", *words)
        return [":".join(line.split(":")[:2]) for line in done.stdout.splitlines()]

    newest = found("login", "--sort", "time")
    assert newest[:2] == ["aaaaaaaa-login:1", "bbbbbbbb-cart:0"] and len(newest) == 3
    assert found("login", "--sort", "oldest") == newest[::-1]
    assert found("login", "--sort", "time", "-n", "1") == newest[:1]
    assert found("-F", "login", "--sort", "oldest", "-n", "1") == newest[2:]
    assert sorted(found("login", "--sort", "score")) == sorted(newest)
    assert found("login", "test", "--sort", "time") == [newest[0], newest[2]]
    assert found("login", "--sort", "time", "--per-session", "1") == newest
    assert shop.run("login", "--sort", "time", "-L").returncode == 2
