"""Sessions of Codex whose rollout is gone: its database of threads still has them."""

import json
import sqlite3
from typing import Any

import pytest

from ccgrep.model import Message, Session, Text, Thinking, ToolCall, ToolResult, Turn
from tests.helpers.homes import Home, assert_same_as_fresh

LOST = "01a1ecbd-9e1a-75e0-97ad-90be4418a169"
TIME = 1_790_000_000_000

ITEMS: list[dict[str, Any]] = [
    {
        "type": "userMessage",
        "content": [{"type": "text", "text": "why does the wombat test fail?"}],
    },
    {"type": "reasoning", "summary": ["Looking at it."], "content": []},
    {
        "type": "commandExecution",
        "command": "/bin/bash -lc 'make test'",
        "aggregatedOutput": "1 failed\n",
        "exitCode": 2,
        "status": "failed",
    },
    {"type": "agentMessage", "text": "The factor is 4 now."},
    {"type": "somethingNew", "text": "ignored"},
    {"type": "userMessage", "content": [{"type": "text", "text": "thanks"}]},
]
SHELL = ToolCall(
    "shell", {"command": ["/bin/bash", "-lc", "make test"]}, ToolResult("1 failed\n", True)
)
TURNS = [
    Turn(
        "why does the wombat test fail?",
        steps=(
            Message((Thinking("Looking at it."), SHELL, Text("The factor is 4 now.")), "gpt-5.4"),
        ),
    ),
    Turn("thanks"),
]


def write_thread(home: Home, items: list[dict[str, Any]], id: str = LOST) -> None:
    folder = home.codex_sessions.parent
    with sqlite3.connect(folder / "state_5.sqlite") as state:
        state.execute("CREATE TABLE threads (id, cwd, git_branch, model, thread_source, name TEXT)")
        values = (id, "/home/sam/src/zoo", "main", "gpt-5.4", "user", "Wombat hunt")
        state.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?)", values)
    with sqlite3.connect(folder / "thread_history_1.sqlite") as history:
        history.execute(
            "CREATE TABLE thread_items (thread_id, rollout_ordinal, created_at_ms, item_json)"
        )
        rows = [(id, n, TIME + n * 1000, json.dumps(item)) for n, item in enumerate(items)]
        history.executemany("INSERT INTO thread_items VALUES (?, ?, ?, ?)", reversed(rows))


def test_issue_22_5_thread_without_a_rollout_is_recovered(home: Home) -> None:
    write_thread(home, ITEMS)
    home.index()
    assert home.turns(LOST) == TURNS
    assert home.rows()[LOST].session == Session(
        id=LOST,
        source="codex",
        project="/home/sam/src/zoo",
        cwd="/home/sam/src/zoo",
        branch="main",
        title="Wombat hunt",
        title_origin="name",
        started=TIME,
        ended=TIME + 5000,
        turns=2,
        messages=3,
        tools=1,
        models=("gpt-5.4",),
        is_recovered=True,
    )
    (line,) = home.run("list").stdout.splitlines()
    assert line.split("\t")[2:] == ["zoo", "2", "(recovered) Wombat hunt"]
    assert "Turns may be missing: " in home.run("show", LOST).stdout
    done = home.run("restore", LOST)
    assert (done.returncode, done.stdout.split("\t")[0]) == (0, "rebuilt")
    home.index()
    assert home.rows()[LOST].session.turns == 2


def test_issue_22_5_recovered_thread_outlives_the_database(home: Home) -> None:
    write_thread(home, ITEMS)
    home.index()
    for path in home.codex_sessions.parent.glob("*.sqlite"):
        path.unlink()
    home.index(is_full=True)
    assert home.turns(LOST) == TURNS


def test_issue_22_5_rollout_replaces_a_recovered_thread(home: Home) -> None:
    write_thread(home, ITEMS)
    home.index()
    file = home.codex()
    file.id = LOST
    file.meta()
    file.turn("why does the wombat test fail?", "The factor is 4 now.")
    file.turn("thanks", "You are welcome.")
    file.write()
    home.index()
    assert list(home.rows()) == [LOST]
    assert home.turns(LOST)[1].assistant_texts() == ["You are welcome."]
    assert not home.rows()[LOST].session.is_recovered
    assert_same_as_fresh(home)


def test_issue_22_5_prompts_in_the_history_do_not_replace_a_recovered_thread(home: Home) -> None:
    history = home.codex_sessions.parent / "history.jsonl"
    record = {"session_id": LOST, "ts": TIME // 1000, "text": "why does the wombat test fail?"}
    history.write_text(json.dumps(record) + "\n")
    home.index()
    assert home.rows()[LOST].session.is_prompt_only
    write_thread(home, ITEMS)
    home.index()
    assert home.turns(LOST) == TURNS
    history.write_text((json.dumps(record) + "\n") * 2)
    home.index()
    assert home.turns(LOST) == TURNS


@pytest.mark.parametrize("exclude", ["/home/sam/src/zoo", "zoo"])
def test_issue_22_5_excluded_thread_is_not_recovered(home: Home, exclude: str) -> None:
    write_thread(home, ITEMS)
    env = {"CCGREP_EXCLUDE": exclude}
    assert home.run("index", env=env).returncode == 0
    assert home.rows() == {}


def test_issue_22_5_forgotten_thread_is_not_recovered_again(home: Home) -> None:
    write_thread(home, ITEMS)
    home.index()
    assert home.run("forget", LOST).returncode == 0
    home.index(is_full=True)
    assert home.rows() == {}


def test_issue_22_5_malformed_items_are_skipped(home: Home) -> None:
    write_thread(home, [*ITEMS[:1], {"type": ["agentMessage"]}, {"content": 7}])
    with sqlite3.connect(home.codex_sessions.parent / "thread_history_1.sqlite") as history:
        history.executemany(
            "INSERT INTO thread_items VALUES (?, ?, ?, ?)",
            [(LOST, 90, "late", "[1"), (LOST, 91, TIME, b"\xff"), (None, 1, 1, "{}")],
        )
    assert home.index().troubles == []
    assert home.prompts(LOST) == ["why does the wombat test fail?"]


def test_rollout_after_a_rewind_is_not_recovered_as_a_thread(home: Home) -> None:
    first = home.paginated_codex()
    first.meta()
    first.prompt("one")
    first.answer("first")
    second = first.rewind(2, seed=7)
    second.prompt("one, better said")
    second.answer("better")
    first.write()
    second.write()
    write_thread(home, ITEMS, second.path.stem.rpartition("_")[2])
    home.index()
    assert list(home.rows()) == [first.id]
