"""`ccgrep stats cost`: cents are exact, in whatever places a message or a session occurs."""

import json
from decimal import Decimal
from typing import Any

import pytest

from ccgrep.errors import UsageError
from ccgrep.stats import costs
from ccgrep.stats.prices import Price, find_price, list_prices, read_prices
from tests.helpers.homes import Home
from tests.helpers.terminal import on_terminal
from tests.helpers.transcripts import ClaudeFile

MILLION = 1_000_000


def usage(input: int = 0, output: int = 0, read: int = 0, write: int = 0, hour: int = 0) -> Any:
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write + hour,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write,
            "ephemeral_1h_input_tokens": hour,
        },
    }


def spend(file: ClaudeFile, prompt: str, model: str, counts: dict[str, Any]) -> None:
    file.prompt(prompt)
    file.answer("done", model=model, usage=counts)


def usd(home: Home, *words: str) -> dict[tuple[str, str], str]:
    """Return the dollars of each line by its kind and name."""
    done = home.run("stats", "cost", *words)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {(row[0], row[1]): row[2] for row in rows}


def test_every_kind_of_token_has_its_price(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-opus-4-5-20251101", usage(10_000, 3_000, 150_000, 7_000, 2_000))
    file.write()
    home.index()
    # 0.05 + 0.075 + 0.075 + 0.04375 + 0.02 dollars
    assert home.json("stats", "cost")["total"]["usd"] == 0.26375
    assert usd(home)["total", "-"] == "0.26"


def test_message_above_the_bound_of_a_long_context_costs_more(home: Home) -> None:
    file = home.claude()
    spend(file, "at the bound", "claude-sonnet-4-5", usage(50_000, 1_000, 150_000))
    spend(file, "above it", "claude-sonnet-4-5[1m]", usage(50_001, 1_000, 150_000))
    file.write()
    home.index()
    at, above = Decimal("0.15") + Decimal("0.015") + Decimal("0.045"), Decimal("0.300006")
    above += Decimal("0.0225") + Decimal("0.09")
    assert home.json("stats", "cost")["total"]["usd"] == float(at + above)
    # The same tokens in one turn, but in two messages, are two short contexts.
    by_model = {row["model"]: row["usd"] for row in home.json("stats", "cost")["models"]}
    assert by_model == {"claude-sonnet-4-5": 0.21, "claude-sonnet-4-5[1m]": 0.412506}


def test_prices_of_some_models_are_those_of_the_list() -> None:
    """Dollars per million tokens: input, output, cache read, and cache writes."""
    prices = list_prices()

    def dollars(price: Price | None) -> list[float]:
        assert price is not None
        return [amount / MILLION for amount in price[:5]]

    assert dollars(prices["claude-opus-5-5"]) == [4, 20, 0.2, 5, 8]
    assert dollars(prices["claude-fable-5-1"]) == [10, 50, 0.25, 12.5, 20]
    assert dollars(prices["claude-haiku-5-5"]) == [0.1, 0.5, 0.01, 0.125, 0.2]
    assert dollars(prices["claude-haiku-5-5"].long) == [0.5, 2.5, 0.05, 0.625, 1]
    assert dollars(prices["claude-3-haiku"]) == [0.25, 1.25, 0.03, 0.3, 0.5]
    assert dollars(prices["gpt-6.1-sol"]) == [2, 10, 0.1, 2.5, 2.5]
    assert dollars(prices["gpt-6.1-sol"].long) == [4, 15, 0.2, 5, 5]
    assert dollars(prices["gpt-5.6-luna"]) == [0.2, 1.2, 0.02, 0.25, 0.25]
    assert dollars(prices["gpt-5.4"].long) == [5, 22.5, 0.5, 5, 5]
    assert dollars(prices["gemini-2.5-pro"]) == [1.25, 10, 0.125, 1.25, 1.25]
    assert dollars(prices["gemini-2.5-pro"].long) == [2.5, 15, 0.25, 2.5, 2.5]
    assert dollars(prices["claude-opus-4-6-fast"]) == [30, 150, 3, 37.5, 60]
    assert dollars(prices["gpt-5-codex"]) == [1.25, 10, 0.125, 1.25, 1.25]


def test_subagents_roll_up_and_forks_and_copies_count_once(home: Home) -> None:
    parent = home.claude(1, name="aaaaaaaa-parent")
    spend(parent, "a", "claude-opus-4-6", usage(MILLION))  # 5 dollars
    spend(parent, "b", "claude-opus-4-6", usage(output=MILLION))  # 25 dollars
    agent = home.subagent(parent, "agent-a1b2c3d")
    spend(agent, "look", "claude-haiku-4-5-20251001", usage(MILLION, MILLION))  # 6 dollars
    nested = home.subagent(parent, "agent-b2c3d4e", 51)
    spend(nested, "look more", "claude-haiku-4-5", usage(output=MILLION))  # 5 dollars
    fork = parent.fork(home.projects / "-fork", 2, 7)
    spend(fork, "c", "claude-3-5-haiku-20241022", usage(MILLION))  # 80 cents
    for file in (parent, agent, nested, fork):
        file.write()
    copy = home.projects / "-copy" / parent.path.name
    copy.parent.mkdir()
    copy.write_bytes(parent.path.read_bytes())
    home.index()
    spent = usd(home, "--by", "session")
    assert spent == {
        ("total", "-"): "41.80",
        ("session", "aaaaaaaa-parent"): "41.00",
        ("session", fork.id): "0.80",
    }
    assert usd(home, "--subagents", "only")["total", "-"] == "11.00"
    assert usd(home, "--session", fork.id)["total", "-"] == "5.80"


def test_every_dimension_adds_up(home: Home) -> None:
    for seed, cwd in ((1, "/src/a"), (2, "/src/b")):
        file = home.claude(seed, cwd=cwd, slug=f"-{seed}")
        for number in range(3):
            spend(file, f"{seed} {number}", "claude-opus-4-6", usage(7, 11, 13, 17, 19))
            file.now_ms += 20 * 86_400_000
        file.write()
    codex = home.codex()
    codex.meta()
    codex.prompt("c")
    codex.answer("d")
    codex.tokens(100_000, 90_000, 1_000)  # 0.0125 + 0.01125 + 0.01 dollars
    codex.write()
    home.index()
    for by in ("project", "model", "day", "week", "month", "session"):
        report = home.json("stats", "cost", "--by", by)
        total = Decimal(str(report["total"]["usd"]))
        assert sum(Decimal(str(row["usd"])) for row in report[f"{by}s"]) == total
    # 6 times 35 + 275 + 6.5 + 106.25 + 190 millionths
    assert total == Decimal("0.03375") + 6 * Decimal("0.00061275")
    months = [row["month"] for row in home.json("stats", "cost", "--by", "month")["months"]]
    assert months == ["2026-09", "2026-10"]


def test_unknown_models_are_listed_and_not_guessed(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-opus-99", usage(123, 4, 5, 6))
    spend(file, "b", "<synthetic>", usage())
    spend(file, "c", "claude-haiku-4-5", usage(MILLION))
    file.write()
    home.index()
    lines = home.run("stats", "cost").stdout.splitlines()
    assert lines[0].split("\t")[:3] == ["total", "-", "1.00"]
    assert [line for line in lines if line.startswith("unpriced")] == [
        "unpriced\tclaude-opus-99\t-\t123\t4\t5\t6\t1"
    ]
    assert "model\tclaude-opus-99\t-\t123\t4\t5\t6\t1" in lines
    models = {row["model"]: row["usd"] for row in home.json("stats", "tokens")["models"]}
    assert (models["claude-opus-99"], models["claude-haiku-4-5"]) == (None, 1.0)
    assert "No price   claude-opus-99: 138 tokens are not in the cost" in on_terminal(
        home, "stats", "cost", NO_COLOR="1"
    )


def test_days_and_projects_without_any_price_do_not_look_free(home: Home) -> None:
    file = home.claude(cwd="/src/a", slug="-a")
    spend(file, "a", "claude-opus-99", usage(123, 4, 5, 6))
    file.now_ms += 86_400_000
    spend(file, "b", "my-free-model", usage(1))
    file.now_ms += 86_400_000
    spend(file, "c", "claude-haiku-4-5", usage(MILLION))
    spend(file, "d", "claude-opus-99", usage(7))
    file.write()
    home.index()
    path = home.directory / ".config" / "ccgrep" / "prices.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[my-free-model]\ninput = 0\noutput = 0\n")
    days = [row["usd"] for row in home.json("stats", "cost", "--by", "day")["days"]]
    assert days == [None, 0.0, 1.0]
    assert [row["usd"] for row in home.json("stats", "tokens")["weeks"]] == [1.0]
    assert usd(home, "--until", "2026-09-21")["project", "/src/a"] == "-"
    shown = on_terminal(home, "stats", "cost", "--by", "day", NO_COLOR="1")
    assert "no price  138 tokens" in shown


def test_fast_mode_has_its_own_price(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-opus-4-8", {**usage(MILLION), "speed": "standard"})
    spend(file, "b", "claude-opus-4-8", {**usage(MILLION, read=MILLION), "speed": "fast"})
    file.write()
    home.index()
    assert usd(home, "--by", "model") == {
        ("total", "-"): "16.00",
        ("model", "claude-opus-4-8-fast"): "11.00",
        ("model", "claude-opus-4-8"): "5.00",
    }


def test_client_totals_fill_sessions_without_tokens_and_show_differences(home: Home) -> None:
    silent = home.claude(1, name="aaaaaaaa-silent")
    silent.prompt("a")
    silent.answer("b", usage={})
    silent.meta("cost-state", totalCostUSD=1.25, modelUsage={})
    both = home.claude(2, name="bbbbbbbb-both")
    spend(both, "c", "claude-haiku-4-5", usage(MILLION))
    both.meta("cost-state", totalCostUSD=1.07, modelUsage={})
    for file in (silent, both):
        file.write()
    home.index()
    report = home.json("stats", "cost", "--by", "session")
    assert {row["session"]: row["usd"] for row in report["sessions"]} == {
        "aaaaaaaa-silent": 1.25,
        "bbbbbbbb-both": 1.0,
    }
    assert report["total"]["usd"] == 2.25
    assert report["clients"] == {
        "filled_usd": 1.25,
        "counted_usd": 1.07,
        "ours_usd": 1.0,
        "difference_usd": 0.07,
        "sessions": 1,
    }
    shown = on_terminal(home, "stats", "cost", NO_COLOR="1")
    assert "Clients    counted $1.25 of it, where tokens are unknown" in shown
    assert "and $0.07 more than this in 1 session: $1.07 instead of $1.00" in shown
    assert home.json("stats", "cost", "--by", "model")["models"][0]["usd"] == 1.25


def test_budget_needs_since_and_prints_what_is_left(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-haiku-4-5", usage(MILLION))
    file.write()
    home.index()
    words = ("--since", "2026-09-01", "--budget", "0.80")
    assert "budget\t-\t0.80\t-0.20\n" in home.run("stats", "cost", *words).stdout
    assert home.json("stats", "cost", *words)["budget"] == {
        "usd": 0.8, "left_usd": -0.2, "is_over": True,
    }  # fmt: skip
    shown = on_terminal(home, "stats", "cost", *words, NO_COLOR="1")
    assert "Budget     $1.00 of $0.80, 125.0 %, $0.20 over" in shown
    assert home.run("stats", "cost", "--since", "7d", "--budget", "much").returncode == 2
    done = home.run("stats", "cost", "--budget", "5")
    assert (done.returncode, done.stderr) == (
        2,
        "ccgrep: --budget needs cost and --since: use `ccgrep stats cost --since 30d --budget 5`\n",
    )
    assert home.run("stats", "tokens", "--since", "7d", "--budget", "5").returncode == 2


def test_tokens_show_money_too(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-haiku-4-5", usage(MILLION))
    file.write()
    home.index()
    assert home.json("stats", "tokens")["total"]["usd"] == 1.0
    assert home.run("stats", "tokens").stdout.startswith("total\t-\t1000000\t0\t0\t0\t1\t1.00\n")


def test_users_prices_replace_and_add(home: Home) -> None:
    file = home.claude()
    spend(file, "a", "claude-haiku-4-5", usage(MILLION))
    spend(file, "b", "my-model", usage(MILLION, read=300_000))
    file.write()
    home.index()
    path = home.directory / ".config" / "ccgrep" / "prices.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "[claude-haiku-4-5]\ninput = 0.50\noutput = 1\n"
        "[my-model]\ninput = 0.1\noutput = 2\nabove = 272000\n"
        "long = { input = 3, output = 4, cache_read = 0.000001 }\n"
    )
    assert home.json("stats", "cost")["total"]["usd"] == 3.5000003
    assert home.json("stats", "cost")["unpriced"] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[m]\ninput = -1\noutput = 1", "input of [m] in"),
        ("[m]\ninput = 1", "output of [m] in"),
        ("[m]\ninput = 0.0000001\noutput = 1", "input of [m] in"),
        ("[m]\ninput = 1\noutput = true", "output of [m] in"),
        ("[m]\ninput = 1\noutput = nan", "output of [m] in"),
        ("[m]\nprice = 1", "has the unknown key price"),
        ("[m]\ninput = 1\noutput = 1\nabove = 5\nlong = {}", "above of [m] in"),
        ("[m]\ninput = 1\noutput = 1\nabove = 200000", "needs both above and long"),
        ("m = 1", "must be a table"),
        ("[", "is not TOML"),
    ],
)
def test_invalid_price_files_are_errors(home: Home, text: str, problem: str) -> None:
    path = home.directory / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=problem.replace("[", r"\[")):
        read_prices(str(path))


def test_prices_are_whole_and_dates_in_names_are_ignored() -> None:
    prices = list_prices()
    assert all(isinstance(amount, int) for price in prices.values() for amount in price[:6])
    for price in prices.values():
        assert price.cache_read <= price.input <= price.cache_write_5m <= price.cache_write_1h
        assert price.input < price.output
    assert find_price(prices, "claude-sonnet-4-20250514") == prices["claude-sonnet-4"]
    assert find_price(prices, "claude-3-5-sonnet-latest") == prices["claude-3-5-sonnet"]
    assert find_price(prices, "claude-opus-4-6-20260205-fast") == prices["claude-opus-4-6-fast"]
    assert find_price(prices, "gpt-5.4-2026-03-05") == prices["gpt-5.4"]
    assert find_price(prices, "gpt-4o-2024-05-13") != prices["gpt-4o"]
    assert find_price(prices, "gpt-5.4-2026") is None
    assert find_price(prices, "") is None


def test_sums_are_exact_beyond_what_floats_hold() -> None:
    import numpy as np  # noqa: PLC0415 - for this test alone

    values = np.array([2**60 + 1, -(2**53) - 1, 3, 2**60 + 7], dtype=np.int64)
    codes = np.array([0, 1, 1, 0])
    assert costs.sum_whole(codes, values, 2).tolist() == [2**61 + 8, 2 - 2**53]


def test_empty_home_costs_nothing(home: Home) -> None:
    assert json.loads(home.run("stats", "cost", "--json").stdout)["total"]["usd"] == 0.0
