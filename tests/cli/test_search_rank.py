"""The ranking of hits: discussion, tools, machine text, forks and titles."""

from typing import Any

import pytest

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

SUMMARY = "This session is being continued from a previous conversation. It was about a {0}."


def hits(home: Home, *arguments: str) -> list[tuple[str, float]]:
    """Return `SESSION:TURN` and the score of every hit."""
    done = home.run("--full-id", "-n", "0", *arguments)
    assert done.returncode == 0, done.stderr
    rows = [line.split(":") for line in done.stdout.splitlines()]
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    return [(f"{row[0]}:{row[1]}", score) for row, score in zip(rows, scores, strict=True)]


def places(home: Home, *arguments: str) -> list[str]:
    return [place for place, _ in hits(home, *arguments)]


@pytest.fixture
def zoo(home: Home) -> tuple[Home, dict[str, str]]:
    """Return a home with a zebra in each kind of text, and where each is.

    Text that should rank lower is longer.
    """
    main = home.claude(1)
    long = " ".join(["and much else besides that nobody asked for"] * 30)
    main.turn(f"Where is the zebra? {long}", f"Elsewhere. {long}")
    main.turn("first", "done", "ls zoo", "zebra")
    main.prompt("second")
    main.blocks({"type": "thinking", "thinking": "zebra"}, {"type": "text", "text": "done"})
    main.turn("third", "done", "feed zebra", "ok")
    main.write()
    other = home.claude(2)
    other.turn("fourth", "done")
    other.prompt(SUMMARY.format("zebra"), isCompactSummary=True)
    other.answer("carrying on")
    other.write()
    worker = home.subagent(main, "agent-acompact-1a2b3c4d", 3)
    worker.turn("Your task is to create a detailed summary of it", "zebra zebra zebra")
    worker.write()
    home.index()
    return home, {
        "discussion": f"{main.id}:0",
        "output": f"{main.id}:1",
        "thinking": f"{main.id}:2",
        "input": f"{main.id}:3",
        "summary": f"{other.id}:0",
        "machine": f"{worker.id}:0",
    }


def test_tool_text_ranks_below_discussion(zoo: tuple[Home, dict[str, str]]) -> None:
    home, at = zoo
    found = places(home, "zebra")
    assert found[0] == at["discussion"]
    assert set(found[1:4]) == {at["output"], at["thinking"], at["input"]}


def test_machine_text_ranks_below_everything(zoo: tuple[Home, dict[str, str]]) -> None:
    home, at = zoo
    assert set(places(home, "zebra")[4:]) == {at["summary"], at["machine"]}
    assert places(home, "-F", "zebra") == [at["discussion"], at["machine"]]


def test_machine_text_ranks_below_everything_with_a_type(home: Home) -> None:
    main = home.claude(1)
    main.turn("Where is it?", "The zebra is far away, behind the hills, where nobody goes.")
    main.write()
    worker = home.subagent(main, "agent-acompact-1a2b3c4d", 3)
    worker.turn("Your task is to create a detailed summary of it", "zebra zebra zebra")
    worker.write()
    home.index()
    expected = [f"{main.id}:0", f"{worker.id}:0"]
    assert places(home, "zebra") == expected
    assert places(home, "-t", "assistant", "zebra") == expected


def test_type_ranks_tool_output_on_the_full_scale(zoo: tuple[Home, dict[str, str]]) -> None:
    home, at = zoo
    found = dict(hits(home, "-t", "tool", "zebra"))
    assert set(found) == {at["output"], at["input"]}
    assert max(found.values()) == 1.0
    assert dict(hits(home, "zebra"))[at["output"]] <= 0.5


def test_sub_agent_ranks_below_its_parent_session(home: Home) -> None:
    main = home.claude(1)
    main.turn("A long question in which, among much else, a zebra is mentioned", "Nothing here.")
    main.write()
    agent = home.subagent(main, "agent-a1b2c3d4")
    agent.turn("zebra", "zebra zebra zebra")
    agent.write()
    home.index()
    for arguments in (["zebra"], ["-F", "zebra"], ["-E", "zebra"], ["-t", "user", "zebra"]):
        assert places(home, *arguments) == [f"{main.id}:0", f"{agent.id}:0"], arguments


def test_more_recent_turn_wins_a_tie(home: Home) -> None:
    files = []
    for seed, prompt in ((900, "zebra here now"), (1, "here zebra now"), (500, "now here zebra")):
        file = home.claude(seed)
        file.turn(prompt, "Yes.")
        file.write()
        files.append(file)
    home.index()
    expected = [f"{files[n].id}:0" for n in (0, 2, 1)]
    assert places(home, "zebra") == expected
    assert places(home, "-F", "zebra") == expected
    assert places(home, "-v", "-F", "giraffe") == expected


def test_recency_does_not_outweigh_relevance(home: Home) -> None:
    old, new = home.claude(1), home.claude(9000)
    old.turn("zebra stripes", "zebra stripes explained")
    new.turn("a zebra, and at length: " + "something else entirely, " * 40 + "stripes", "Yes.")
    for file in (old, new):
        file.write()
    home.index()
    assert places(home, "zebra", "stripes")[0] == f"{old.id}:0"


def test_more_matches_rank_higher_in_exact_modes(home: Home) -> None:
    file = home.claude(1)
    file.turn("zebra zebra zebra", "Yes.")
    file.turn("one zebra", "Yes.")
    file.turn("zebra and zebra", "Yes.")
    file.write()
    home.index()
    assert places(home, "-F", "zebra") == [f"{file.id}:{n}" for n in (0, 2, 1)]


def test_same_query_prints_the_same_bytes(zoo: tuple[Home, dict[str, str]]) -> None:
    home, _ = zoo
    for arguments in (["zebra"], ["-F", "zebra"], ["-v", "-F", "x"]):
        assert len({home.run(*arguments).stdout for _ in range(3)}) == 1


# Titles


def test_title_words_find_the_session(home: Home) -> None:
    for seed, title in ((1, "Zebra crossing"), (2, "Elephant walk")):
        file = home.claude(seed)
        file.turn("hello", f"hello {seed}")
        file.turn("more", f"of it {seed}")
        file.meta("ai-title", aiTitle=title)
        file.write()
    home.index()
    done = home.run("zebra")
    (line,) = done.stdout.splitlines()
    assert line.split(":", 3)[1:] == ["0", "1.000", "Zebra crossing"]
    assert home.json("crossing")["results"][0]["title"] == "Zebra crossing"


def test_new_title_replaces_the_old_one(home: Home) -> None:
    file = home.claude(1)
    file.turn("hello", "hello")
    file.meta("ai-title", aiTitle="Zebra crossing")
    file.write()
    home.index()
    file.meta("custom-title", customTitle="Elephant walk")
    file.append()
    assert home.run("elephant").returncode == 0
    assert home.run("zebra").returncode == 1


# The same turn at several places


@pytest.fixture
def forked(home: Home) -> tuple[Home, ClaudeFile, ClaudeFile]:
    """Return a home, a session, and a fork that shares its first two turns."""
    first = home.claude(1)
    first.turn("Where is the zebra?", "In the zoo.")
    first.turn("Feed the zebra", "Done.")
    shared = len(first.records)
    first.turn("And the lion", "Done too.")
    first.write()
    fork = first.fork(first.path.parent, shared, seed=2)
    fork.now_ms += 3_600_000
    fork.turn("The zebra is still hungry", "More hay.")
    fork.write()
    home.index()
    return home, first, fork


def test_fork_adds_no_hit(forked: tuple[Home, ClaudeFile, ClaudeFile]) -> None:
    home, first, fork = forked
    for arguments in (["zebra"], ["-F", "zebra"]):
        found = places(home, *arguments)
        assert len(found) == 3
        assert f"{fork.id}:2" in found
        assert len({place.rpartition(":")[2] for place in found}) == 3
    results = home.json("zebra")["results"]
    also: dict[int, list[dict[str, Any]]] = {one["turn"]: one["also_in"] for one in results}
    assert also[2] == []
    for one in results:
        if one["turn"] < 2:
            other = first.id if one["session_id"] == fork.id else fork.id
            assert one["also_in"] == [{"session_id": other, "turn": one["turn"]}]


def test_l_and_c_count_a_shared_turn_in_both_sessions(
    forked: tuple[Home, ClaudeFile, ClaudeFile],
) -> None:
    home, first, fork = forked
    listed = home.run("-l", "--full-id", "zebra").stdout.split()
    assert sorted(listed) == sorted([first.id, fork.id])
    counted = home.run("-c", "--full-id", "zebra").stdout.split()
    assert sorted(counted) == sorted([f"{first.id}:2", f"{fork.id}:3"])
    assert home.run("-L", "--full-id", "zebra").returncode == 1
    assert home.run("-L", "--full-id", "lion").stdout.split() == [fork.id]


def test_total_is_the_same_whatever_the_limit(home: Home) -> None:
    file = home.claude(1)
    for number in range(150):
        file.turn(f"zebra {number} " + "and so on " * number, "ok")
    file.write()
    file.fork(file.path.parent, len(file.records), seed=2).write()
    home.index()
    for limit in ("0", "10", "1"):
        assert home.json("zebra", "-n", limit)["total_results"] == 150, limit


def test_filter_selects_the_place_of_a_shared_turn(
    forked: tuple[Home, ClaudeFile, ClaudeFile],
) -> None:
    home, first, fork = forked
    for file in (first, fork):
        found = places(home, "--session", file.id, "feed")
        assert found == [f"{file.id}:1"]


@pytest.mark.parametrize("titled", ["first", "fork"])
def test_turn_found_by_title_and_by_tool_output_is_one_hit(home: Home, titled: str) -> None:
    first = home.claude(1)
    first.turn("Look around", "Done.", "ls", "zebra")
    fork = first.fork(first.path.parent, len(first.records), seed=2)
    first.meta("custom-title", customTitle="Zebra" if titled == "first" else "Lion")
    fork.meta("custom-title", customTitle="Zebra" if titled == "fork" else "Lion")
    for file in (first, fork):
        file.turn(f"Something only here {file.id}", "Yes.")
        file.write()
    home.index()
    assert len(places(home, "zebra")) == 1
    counted = home.run("-c", "--full-id", "zebra").stdout.split()
    assert sorted(counted) == sorted([f"{first.id}:1", f"{fork.id}:1"])
