"""Token sums are exact: each API message counts once, in however many places it occurs."""

import shutil
from typing import Any

from ccgrep.ops import stats as ops
from ccgrep.search.request import Filters
from ccgrep.stats.report import Dimension, TokenReport, Tokens
from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

ALL: tuple[Dimension, ...] = ("project", "model", "day", "week", "month", "session")


def tokens(home: Home, dimensions: tuple[Dimension, ...] = ALL, **filters: Any) -> TokenReport:
    request = ops.StatsRequest(home.config, Filters(**filters))
    return ops.make_report(request, lambda report: report.tokens(dimensions))[0]


def usage(input: int, output: int, read: int = 0, write: int = 0) -> dict[str, int]:
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    }


def fragments(file: ClaudeFile, message: str, request: str, *usages: dict[str, int]) -> None:
    """Record an API message on several lines, each with the token counts so far."""
    for number, counts in enumerate(usages):
        block = {"type": "text", "text": f"{message} part {number}"}
        file.blocks(block, message_id=message, request_id=request, usage=counts)


def test_fragments_of_a_message_count_once_with_the_largest_report(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    fragments(
        file, "msg_1", "req_1", usage(3, 1, 100, 7), usage(3, 1, 100, 7), usage(3, 90, 100, 7)
    )
    fragments(file, "msg_2", "req_2", usage(5, 40, 200, 0), usage(5, 2, 200, 0))
    fragments(file, "msg_1", "req_9", usage(1, 1, 1, 1))  # the same message id, another request
    file.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(9, 131, 301, 8, 3)


def test_messages_in_forks_and_copies_count_once(home: Home) -> None:
    first = home.claude(1)
    for number in range(4):
        first.prompt(f"prompt {number}")
        fragments(first, f"msg_{number}", f"req_{number}", usage(10**number, 1))
    first.write()
    for seed, records in ((60, 8), (61, 4), (62, 7)):  # at the end, between turns, within a turn
        fork = first.fork(first.path.parent, records, seed)
        fork.prompt(f"fork {seed}")
        fragments(fork, f"msg_f{seed}", f"req_f{seed}", usage(seed * 10_000, 1))
        fork.write()
    other = home.projects / "-home-sam-src-copy"
    other.mkdir()
    shutil.copy(first.path, other / first.path.name)
    home.index()
    forks = (60 + 61 + 62) * 10_000
    assert tokens(home).total.tokens == Tokens(1111 + forks, 7, 0, 0, 7)
    assert tokens(home, sessions=(first.id,)).total.tokens == Tokens(1111, 4, 0, 0, 4)


def test_fork_within_a_message_keeps_the_largest_report(home: Home) -> None:
    first = home.claude(1)
    first.prompt("go")
    fragments(first, "msg_1", "req_1", usage(10, 1), usage(10, 500))
    fork = first.fork(first.path.parent, 2, seed=70)  # copied before the message was complete
    fork.answer("on my own", usage=usage(1000, 1000))
    first.write()
    fork.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(1010, 1500, 0, 0, 2)
    assert tokens(home, sessions=(fork.id,)).total.tokens == Tokens(1010, 1001, 0, 0, 2)


def test_message_counts_on_the_day_of_its_earliest_place(home: Home) -> None:
    first = home.claude(1)
    first.turn("a", "b")
    first.write()
    fork = first.fork(first.path.parent, 2, seed=70)
    fork.now_ms += 86_400_000 * 3
    fork.turn("c", "d")
    fork.write()
    home.index()
    days = tokens(home).by["day"]
    assert [(spent.name, spent.tokens.messages) for spent in days] == [
        ("2026-09-21", 1),
        ("2026-09-24", 1),
    ]


def test_messages_that_a_subagent_repeats_count_once(home: Home) -> None:
    parent = home.claude(1)
    parent.prompt("a")
    fragments(parent, "msg_1", "req_1", usage(10, 1))
    parent.write()
    agent = home.subagent(parent, "agent-12345678")
    agent.prompt("serve")
    fragments(agent, "msg_1", "req_1", usage(10, 1))
    fragments(agent, "msg_2", "req_2", usage(100, 1))
    agent.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(110, 2, 0, 0, 2)
    assert tokens(home, subagents="only").total.tokens == Tokens(110, 2, 0, 0, 2)
    assert tokens(home, subagents="exclude").total.tokens == Tokens(10, 1, 0, 0, 1)


def test_cumulative_codex_counters_are_summed_once(home: Home) -> None:
    file = home.codex()
    file.meta()
    for number, (input, cached, output) in enumerate([(100, 0, 10), (250, 90, 20), (400, 300, 5)]):
        file.prompt(f"prompt {number}")
        file.answer("yes")
        file.tokens(input, cached, output)
        file.records.append(file.records[-1])  # Codex repeats the last report
    file.event("token_count", info=None, rate_limits=None)
    file.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(360, 35, 390, 0, 3)


def test_growing_turn_is_not_counted_twice(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    fragments(file, "msg_1", "req_1", usage(10, 1))
    file.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(10, 1, 0, 0, 1)
    fragments(file, "msg_1", "req_1", usage(10, 77))
    fragments(file, "msg_2", "req_2", usage(1, 1))
    file.append()
    home.index()
    assert tokens(home).total.tokens == Tokens(11, 78, 0, 0, 2)


def test_every_dimension_adds_up_to_the_total(home: Home) -> None:
    first = home.claude(1, cwd="/src/a")
    for number, model in enumerate(["claude-opus-5", "claude-sonnet-5", "claude-opus-5"]):
        first.prompt(f"p{number}")
        first.answer("x", model=model, usage=usage(10**number, 2, 3, 4))
        first.now_ms += 86_400_000 * 5
    first.write()
    fork = first.fork(first.path.parent, 4, seed=80)
    fork.turn("more", "x")
    fork.write()
    home.index()
    report = tokens(home)
    assert report.total.tokens == Tokens(121, 11, 9, 12, 4)
    for rows in report.by.values():
        sums = [sum(spent.tokens[i] for spent in rows) for i in range(5)]
        assert Tokens(*sums) == report.total.tokens
    models = {spent.name: spent.tokens for spent in report.by["model"]}
    assert models["claude-sonnet-5"] == Tokens(10, 2, 3, 4, 1)
    assert [spent.name for spent in report.by["week"]] == ["2026-W39", "2026-W40", "2026-W41"]


def test_unknown_token_counts_are_zero_and_huge_ones_are_capped(home: Home) -> None:
    file = home.claude()
    file.prompt("go")
    file.answer("a", usage={"input_tokens": None, "output_tokens": "many"})
    file.answer("b", usage={"input_tokens": 2**60, "output_tokens": 2**52})
    file.write()
    home.index()
    assert tokens(home).total.tokens == Tokens(0, 2**32 - 1, 0, 0, 2)
