"""`ccgrep list`: filters, trees, and columns that fit the terminal."""

import re
import subprocess

import pytest

from ccgrep.ops.list import list_sessions
from ccgrep.ops.search import search
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.text import columns
from tests.helpers.homes import Home
from tests.helpers.terminal import COLOR, on_terminal
from tests.helpers.transcripts import ClaudeFile


def ids_by_prompt(home: Home) -> dict[str, str]:
    """Return session ids by first prompt."""
    return {home.prompts(id)[0]: id for id in home.rows()}


@pytest.fixture
def shop(home: Home) -> Home:
    """Return a home with two projects, two sources, a fork of a fork and two sub-agents."""
    main = home.claude(1)
    main.turn("main", "one", "make", "ok")
    main.prompt("again", gitBranch="feature")
    main.answer("two", model="claude-haiku-4-5", gitBranch="feature")
    main.write()
    first = write_fork(home, main, "fork", 2)
    write_fork(home, first, "deeper", 3)
    for seed, name in ((4, "agent-1"), (5, "agent-2")):
        agent = home.subagent(main, name, seed)
        agent.turn(name, "served")
        agent.write()
    other = home.claude(6, slug="-home-sam-src-api", cwd="/home/sam/src/api")
    other.prompt("other")
    other.result(other.call("Read", {"file_path": "/x"}), "text")
    other.answer("read it")
    other.write()
    codex = home.codex(7)
    codex.meta()
    codex.turn("codex", "yes")
    codex.write()
    home.index()
    return home


def write_fork(home: Home, parent: ClaudeFile, prompt: str, seed: int) -> ClaudeFile:
    file = home.claude(seed)
    file.turn(prompt, "and on")
    for record in file.records:
        assert isinstance(record, dict)
        record["forkedFrom"] = {"sessionId": parent.id, "messageUuid": record["uuid"]}
    file.write()
    return file


def listed(home: Home, *options: str) -> list[str]:
    names = {id: prompt for prompt, id in ids_by_prompt(home).items()}
    return [names[session["id"]] for session in home.json("list", *options)["sessions"]]


@pytest.mark.parametrize(
    ("options", "prompts"),
    [
        (("--tool", "bash"), ["main"]),
        (("--tool", "any"), ["other", "main"]),
        (("--branch", "feature"), ["main"]),
        (("--model-name", "haiku"), ["main"]),
        (("--subagents", "only"), ["agent-2", "agent-1"]),
        (("--subagents", "exclude", "--source", "claude-code", "-p", "shop"),
         ["deeper", "fork", "main"]),
        (("--max-sessions", "2"), ["codex", "other"]),
        (("--project", "api", "--tool", "Read"), ["other"]),
        (("--tool", "Bash", "--branch", "feature"), []),  # no turn has both
        (("-p", "nowhere"), []),
        (("-n", "2"), ["codex", "other"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_filters_are_those_of_a_search(
    shop: Home, options: tuple[str, ...], prompts: list[str]
) -> None:
    assert listed(shop, *options) == prompts


def test_list_without_sessions_names_the_reason(home: Home) -> None:
    empty = home.claude(1)
    empty.path.parent.mkdir(parents=True)
    assert home.run("list").stderr == "ccgrep: there are no sessions yet\n"
    empty.turn("one", "two")
    empty.write()
    done = home.run("list", "-p", "nowhere")
    assert done.stderr == "ccgrep: no session matches: run `ccgrep list` without filters\n"


def test_session_and_here_filter_sessions(shop: Home) -> None:
    assert listed(shop, "--session", ids_by_prompt(shop)["fork"][:8]) == ["fork"]
    src = shop.directory / "src"
    src.mkdir()
    assert shop.run("list", "--here", cwd=src).stdout == ""
    unknown = shop.run("list", "--session", "zzzzzzzz")
    assert (unknown.returncode, unknown.stdout) == (2, "")


def test_list_contains_exactly_the_sessions_that_a_search_can_find(shop: Home) -> None:
    """With and without the full-text index."""
    times = sorted(entry.started or 0 for id in shop.rows() for entry in shop.manifest(id).entries)
    cases = [
        Filters(since=times[3]),
        Filters(until=times[2]),
        Filters(since=times[2], tools=("any",)),
    ]
    cases += [Filters(models=("haiku",)), Filters(branches=("main",)), Filters(subagents="exclude")]
    for is_indexed in (True, False):
        for filters in cases:
            request = Request((" ", "e"), "literal", filters=filters, limit=0)
            result = search(shop.config, request, SearchOptions(is_indexed))
            found = {p.session for hit in result.answer.hits for p in (hit.place, *hit.also_in)}
            sessions = {one.row.session.id for one in list_sessions(shop.config, filters)}
            assert found <= sessions
            everything = search(
                shop.config, request._replace(invert=True), SearchOptions(is_indexed)
            )
            rest = {p.session for h in everything.answer.hits for p in (h.place, *h.also_in)}
            assert sessions == found | rest, filters
            assert sessions == set(everything.searcher.sessions(filters))


def test_list_without_a_full_text_index_is_the_same(shop: Home) -> None:
    before = listed(shop, "--tool", "any"), listed(shop, "--branch", "feature")
    for path in sorted((shop.store_dir / "text").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert (listed(shop, "--tool", "any"), listed(shop, "--branch", "feature")) == before


def test_tree_prints_forks_and_sub_agents_below_their_sessions(shop: Home) -> None:
    done = shop.run("list", "--tree")
    titles = [line.split("\t")[4] for line in done.stdout.splitlines()]
    assert titles == [
        "codex",
        "other",
        "main",
        "└─ (sub-agent) agent-2",
        "└─ (sub-agent) agent-1",
        "└─ (fork) fork",
        "  └─ (fork) deeper",
    ]
    assert all(line.count("\t") == 4 for line in done.stdout.splitlines())
    sessions = shop.json("list", "--tree")["sessions"]
    assert [session["depth"] for session in sessions] == [0, 0, 0, 1, 1, 1, 2]
    assert "depth" not in shop.json("list")["sessions"][0]


def test_fork_without_a_record_of_it_is_recognized_by_its_turns(home: Home) -> None:
    original = home.claude(1)
    original.turn("begin", "one")
    original.turn("go on", "two")
    fork = original.fork(original.path.parent, 2, 2)
    original.turn("and on", "three")
    fork.now_ms = original.now_ms + 1000
    fork.turn("elsewhere", "two")
    copy = original.fork(original.path.parent, 2, 3)
    copy.now_ms = fork.now_ms + 1000
    copy.turn("once more", "two")
    namesake = home.claude(4)
    namesake.now_ms = home.claude(1).now_ms  # started at the same time with another prompt
    namesake.turn("another", "one")
    for file in (original, fork, copy, namesake):
        file.write()
    home.index()
    sessions = home.json("list", "--tree")["sessions"]
    found = [(session["id"], session["depth"]) for session in sessions]
    assert [one for one in found if one[0] != namesake.id] == [
        (original.id, 0),
        (copy.id, 1),
        (fork.id, 1),
    ]
    assert (namesake.id, 0) in found


def test_limit_counts_trees(shop: Home) -> None:
    assert listed(shop, "--tree", "-n", "2") == ["codex", "other"]
    assert len(listed(shop, "--tree", "-n", "3")) == 7


def test_session_whose_parent_is_filtered_out_is_a_root(shop: Home) -> None:
    sessions = shop.json("list", "--tree", "--subagents", "only")["sessions"]
    assert [session["depth"] for session in sessions] == [0, 0]


def test_sessions_that_are_forks_of_each_other_are_listed_once(home: Home) -> None:
    one, two = home.claude(1), home.claude(2)
    write_fork(home, two, "one", 1)
    write_fork(home, one, "two", 2)
    write_fork(home, home.claude(3), "own", 3)
    home.index()
    assert sorted(listed(home, "--tree")) == ["one", "own", "two"]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("options", [(), ("--tree",)], ids=["list", "tree"])
def test_columns_fit_the_terminal(home: Home, width: int, options: tuple[str, ...]) -> None:
    for seed, title in enumerate(("short", "long " * 60, "日本語の検索を直して " * 20), 1):
        file = home.claude(seed, slug=f"-p{seed}", cwd=f"/home/sam/{'プロジェクト' * seed}")
        file.turn(title, "x")
        file.write()
    home.index()
    seen = on_terminal(home, "list", *options, COLUMNS=str(width))
    lines = [COLOR.sub("", line) for line in seen.splitlines()]
    assert len(lines) == 3
    assert max(columns(line) for line in lines) <= width
    assert all(re.match(r"[0-9a-f]{8} +\d+[a-z]+ ", line) for line in lines)


def test_list_on_a_terminal_is_limited_and_reports_the_limit(home: Home) -> None:
    for seed in range(1, 24):
        file = home.claude(seed)
        file.turn(f"prompt {seed}", "x")
        file.write()
    home.index()
    seen = on_terminal(home, "list", NO_COLOR="1")
    assert len(seen.splitlines()) == 21
    assert seen.splitlines()[-1] == "only the 20 most recent; use -n 0 to list all"
    assert len(on_terminal(home, "list", "-n0", NO_COLOR="1").splitlines()) == 23
    assert len(on_terminal(home, "list", CCGREP_LIST_LIMIT="5").splitlines()) == 6
    assert len(home.run("list").stdout.splitlines()) == 23


def test_subagents_are_folded_under_the_session_that_started_them(shop: Home) -> None:
    ids = ids_by_prompt(shop)
    assert listed(shop) == ["codex", "other", "deeper", "fork", "main"]
    sessions = {one["id"]: one["subagent_count"] for one in shop.json("list")["sessions"]}
    assert sessions[ids["main"]] == 2
    assert sum(sessions.values()) == 2
    lines = shop.run("list").stdout.splitlines()
    assert [line.split("\t")[4] for line in lines][-1] == "(+2 sub-agents) main"
    lines = shop.run("list", "--subagents", "only").stdout.splitlines()
    label = f"(sub-agent of {ids['main'][:8]})"
    assert [line.split("\t")[4] for line in lines] == [f"{label} agent-2", f"{label} agent-1"]
    # A sub-agent is listed if the session that started it is not.
    assert listed(shop, "--session", ids["agent-1"]) == ["agent-1"]


def test_list_leaves_out_the_calling_session(shop: Home) -> None:
    ids = ids_by_prompt(shop)
    variables = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": ids["main"]}

    def titles(done: subprocess.CompletedProcess[str]) -> list[str]:
        return [line.split("\t")[4].rpartition(") ")[2] for line in done.stdout.splitlines()]

    others = ["codex", "other", "deeper", "fork"]
    assert titles(shop.run("list", "--subagents", "include", env=variables)) == others
    named = shop.run("list", "--session", ids["main"], env=variables)
    assert titles(named) == ["main"]
    whole = shop.run("list", "--include-self", env=variables)
    assert titles(whole) == [*others, "main"]


def test_gone_lists_the_deleted_sessions(home: Home) -> None:
    present, claude, codex = home.claude(1), home.claude(2), home.codex(3)
    codex.meta()
    present.turn("first", "answer")
    claude.turn("second", "answer")
    codex.turn("third", "answer")
    for file in (present, claude, codex):
        file.write()
    home.index()
    assert home.run("list", "--gone").stderr.startswith("ccgrep: no session matches")
    claude.path.unlink()
    codex.path.unlink()
    gone = home.run("list", "--gone").stdout.splitlines()
    assert [line.split("\t")[0] for line in gone] == [codex.id[:8], claude.id[:8]]
    ids = home.run("list", "--gone", "--full-id", "--source", "codex").stdout
    assert home.run("restore", "-", input=ids).returncode == 0
    assert codex.path.exists() and len(home.run("list", "--gone").stdout.splitlines()) == 1


def test_empty_list_is_reported(home: Home) -> None:
    file = home.claude()
    file.turn("a question", "an answer")
    file.write()
    for command in ("list", "log"):
        done = home.run(command, "--since", "2099-01-01")
        assert done.stdout == ""
        assert done.stderr.startswith("ccgrep: no ")
