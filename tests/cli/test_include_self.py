"""A search by an agent leaves out the calling session and the output of ccgrep."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ccgrep.cli.calling_session import find_callers
from tests.helpers.homes import Home
from tests.helpers.mcp_client import ServerClient, run_with_server


@pytest.fixture
def office(home: Home) -> Home:
    """Return a home with a session that solved it (1), one that searched (2) and the caller (3)."""
    solved = home.claude(1)
    solved.turn("the flaky zebra test", "the zebra clock was skewed")
    solved.write()
    searched = home.claude(2)
    searched.prompt("have we seen this before?")
    line = f"{solved.id[:8]}:0:1.000:the zebra clock was skewed"
    searched.result(searched.call("Bash", {"command": "cd /x && ccgrep zebra | head"}), line)
    searched.result(searched.call("mcp__ccgrep__search_conversations", {"query": "zebra"}), line)
    searched.answer("yes, long ago")
    searched.write()
    running = home.claude(3)
    running.turn("find out about the zebra", "I will search for zebra")
    running.write()
    agent = home.subagent(running, "agent-0001")
    agent.turn("search for zebra", "zebra, zebra")
    agent.write()
    codex = home.codex(4)
    codex.meta()
    codex.turn("zebra in codex", "searching", "ccgrep zebra", line)
    codex.write()
    return home


def found(home: Home, *arguments: str, **variables: str) -> set[str]:
    done = home.run("-l", "--full-id", "zebra", *arguments, env=variables)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split())


def ids(home: Home) -> Mapping[str, str]:
    names = {"solved": 1, "searched": 2, "running": 3}
    return {
        **{name: home.claude(seed).id for name, seed in names.items()},
        "agent": "agent-0001",
        "codex": home.codex(4).id,
    }


def test_search_outside_an_agent_finds_everything(office: Home) -> None:
    assert found(office) == set(ids(office).values())


def test_search_inside_claude_code_leaves_out_the_calling_session(office: Home) -> None:
    id = ids(office)
    inside = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": id["running"]}
    assert found(office, **inside) == {id["solved"], id["codex"]}
    assert found(office, "--include-self", **inside) == set(id.values())
    assert found(office, "--session", id["running"], **inside) == {id["running"]}


def test_search_inside_codex_leaves_out_the_calling_session(office: Home) -> None:
    id = ids(office)
    inside = {"CODEX_THREAD_ID": id["codex"]}
    assert found(office, **inside) == {id["solved"], id["running"], id["agent"]}
    assert found(office, "--include-self", **inside) == set(id.values())


def test_calling_session_of_an_older_claude_code_is_the_one_last_written(office: Home) -> None:
    id = ids(office)
    now = time.time()
    for name, age_s in (("solved", 100), ("searched", 50), ("running", 1)):
        path = office.projects / "-home-sam-src-shop" / f"{id[name]}.jsonl"
        os.utime(path, (now - age_s, now - age_s))
    inside = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/home/sam/src/shop/web"}
    assert found(office, **inside) == {id["solved"], id["codex"]}
    office.rest()
    assert found(office, **inside) == {id["solved"], id["running"], id["agent"], id["codex"]}


def test_exact_search_inside_an_agent_leaves_out_output_of_ccgrep(office: Home) -> None:
    id = ids(office)
    inside = {"CODEX_THREAD_ID": "another"}
    tools = ("-F", "-t", "tool")
    assert found(office, *tools) == {id["searched"], id["codex"]}
    assert found(office, *tools, **inside) == set()
    assert found(office, *tools, "--no-index", **inside) == set()
    assert found(office, *tools, "--include-self", **inside) == {id["searched"], id["codex"]}


def test_limit_is_reached_after_hits_are_left_out(home: Home) -> None:
    file = home.claude(1)
    for number in range(30):
        file.turn(f"question {number}", "yes", "ccgrep okapi", "the okapi " * 5)
    for number in range(5):
        file.turn(f"another {number}", "yes", "make", "an okapi and much else " + "x " * 200)
    file.write()
    done = home.run("okapi", "-n", "3", env={"CODEX_THREAD_ID": "another"})
    turns = {int(line.split(":")[1]) for line in done.stdout.splitlines()}
    assert len(turns) == 3
    assert min(turns) >= 30


def test_calls_that_only_mention_ccgrep_are_found(home: Home) -> None:
    file = home.claude(1)
    file.turn("look", "yes", "cd /src/ccgrep && make", "the zebra failed")
    file.turn("look", "yes", "grep ccgrep README.md", "ccgrep finds a zebra")
    file.write()
    assert found(home, CODEX_THREAD_ID="another") == {file.id}


def test_search_over_mcp_leaves_out_the_calling_session(office: Home) -> None:
    id = ids(office)
    office.rest()
    office.index()

    async def work(server: ServerClient) -> list[set[str]]:
        ways: list[dict[str, Any]] = [
            {},
            {"include_self": True},
            {"session_id": id["running"]},
        ]
        return [{s for s, _ in await server.search("zebra", **given)} for given in ways]

    default, whole, named = run_with_server(office, work, CLAUDE_CODE_SESSION_ID=id["running"])
    assert default == {id["solved"], id["codex"]}
    assert whole == set(id.values())
    assert named == {id["running"]}


def test_calling_session_of_a_codex_server_is_the_rollout_last_written(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "api"
    here.mkdir()
    files = [home.codex(seed, cwd=cwd) for seed, cwd in enumerate((str(here), "/elsewhere"), 1)]
    for file in files:
        file.meta()
        file.turn("hello", "Hello.")
        file.write()
    monkeypatch.chdir(here)
    config = home.config
    now = time.time()
    for file, age_s in zip(files, (60, 5), strict=True):
        os.utime(file.path, (now - age_s, now - age_s))
    assert find_callers({}, config, is_stale=True) == {files[0].id}
    assert find_callers({}, config) == frozenset()
    os.utime(files[0].path, (now - 3600, now - 3600))
    assert find_callers({}, config, is_stale=True) == frozenset()
