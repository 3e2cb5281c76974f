"""Session summaries: title, project, totals, parents and forks."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ccgrep.model import ModelCost, Session
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, CodexFile, Lines, encode

PARENT = "11111111-2222-4333-8444-555555555555"


def read(home: Home, file: ClaudeFile | CodexFile, *others: Lines) -> Session:
    for each in (file, *others):
        each.write()
    home.index()
    return home.rows()[file.id].session


# Titles.

TITLES = ("custom-title", "ai-title", "summary", "prompt")


def with_titles(home: Home, kinds: tuple[str, ...]) -> ClaudeFile:
    """Return a session with titles of `kinds`, and a slug, which is no title."""
    file = home.claude()
    fields = {"slug": "the slug"}
    if "prompt" in kinds:
        file.prompt("the prompt", **fields)
    file.answer("done", **fields)
    if "custom-title" in kinds:
        file.meta("custom-title", customTitle="the custom-title")
    if "ai-title" in kinds:
        file.meta("ai-title", aiTitle="the ai-title")
    if "summary" in kinds:
        file.meta("summary", summary="the summary", leafUuid=file.last_uuid)
    return file


@pytest.mark.parametrize("first", range(len(TITLES)))
def test_strongest_title_wins(home: Home, first: int) -> None:
    file = with_titles(home, TITLES[first:])
    assert read(home, file).title == f"the {TITLES[first]}"


@pytest.mark.parametrize("first", range(len(TITLES)))
def test_strongest_title_wins_in_any_record_order(home: Home, first: int) -> None:
    file = with_titles(home, TITLES[first:])
    file.records[2:] = reversed(file.records[2:])
    assert read(home, file).title == f"the {TITLES[first]}"


@pytest.mark.parametrize(
    ("kind", "field"),
    [("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")],
)
def test_last_title_of_a_kind_wins(home: Home, kind: str, field: str) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    for title in ("first", "second", "first", "third"):
        file.meta(kind, leafUuid=file.last_uuid, **{field: title})
    assert read(home, file).title == "third"


def test_last_slug_wins(home: Home) -> None:
    file = home.claude()
    for slug in ("bold-plan", "calm-plan"):
        file.answer("hi", slug=slug)
    session = read(home, file)
    assert (session.title, session.slug) == ("", "calm-plan")


def test_only_a_summary_of_this_session_is_its_title(home: Home) -> None:
    other = home.claude(2)
    other.turn("elsewhere", "there")
    file = home.claude()
    file.meta("summary", summary="of the other", leafUuid=other.last_uuid)
    file.meta("summary", summary="of nobody", leafUuid=file.uuid())
    file.turn("hello", "hi")
    file.meta("summary", summary="of the other again", leafUuid=other.last_uuid)
    assert read(home, file, other).title == "hello"


def test_summary_without_a_leaf_is_of_its_own_file(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.meta("summary", summary="A greeting")
    assert read(home, file).title == "A greeting"


@pytest.mark.parametrize("order", ["described first", "describing first", "together"])
def test_summary_in_another_transcript_is_the_title_of_its_leaf(home: Home, order: str) -> None:
    described = home.claude(2)
    described.turn("elsewhere", "there")
    describing = home.claude()
    describing.meta("summary", summary="**Elsewhere**, summed up", leafUuid=described.last_uuid)
    describing.turn("hello", "hi")
    files = [described, describing] if order == "described first" else [describing, described]
    for file in files:
        file.write()
        if order != "together":
            home.index()
    home.index()
    rows = home.rows()
    assert rows[described.id].session.title == "Elsewhere, summed up"
    assert rows[describing.id].session.title == "hello"
    found = home.json("summed up")["results"]
    assert [(hit["session_id"], hit["turn"]) for hit in found] == [(described.id, 0)]
    assert_same_as_fresh(home)

    home.rest()
    home.index()
    described.turn("more", "of it")
    described.append()
    assert home.run("more of it").returncode == 0
    assert home.rows()[described.id].session.title == "Elsewhere, summed up"
    described.meta("custom-title", customTitle="My own title")
    described.append()
    home.index()
    assert home.rows()[described.id].session.title == "My own title"
    assert_same_as_fresh(home)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Fix the parser. It fails on tabs.", "Fix the parser."),
        ("Hi! Please fix the parser, it fails", "Hi! Please fix the parser, it fails"),
        ("fix it\n\nit fails on tabs", "fix it"),
        ("# Plan\n1. parse", "Plan"),
        (
            "\n\n- **bold** and `code` and [a link](https://example.com/x)",
            "bold and code and a link",
        ),
        ("<task>look  at\tthis</task> now", "look at this now"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("why is Vec<u8> slower than a < b?", "why is Vec<u8> slower than a < b?"),
        ("version 2.1.197 of foo.py fails", "version 2.1.197 of foo.py fails"),
        ("パーサーを直してください。タブで失敗します。", "パーサーを直してください。"),
        ("", ""),
        ("**", ""),
    ],
)
def test_title_is_the_first_sentence_of_the_first_prompt(
    home: Home, prompt: str, title: str
) -> None:
    file = home.claude()
    file.prompt(prompt, slug="bold-plan")
    file.answer("done", slug="bold-plan")
    rollout = home.codex()
    rollout.meta()
    rollout.turn(prompt or "x", "done")
    rollout.write()
    assert read(home, file).title == title
    if title:
        assert home.rows()[rollout.id].session.title == title


@pytest.mark.parametrize(
    ("kind", "field"), [("custom-title", "customTitle"), ("ai-title", "aiTitle")]
)
def test_title_has_no_markup(home: Home, kind: str, field: str) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.meta(kind, **{field: "## Fix `parse` in **one** <b>line</b>. Really"})
    assert read(home, file).title == "Fix parse in one line . Really"


def test_summary_before_its_leaf_is_the_title(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.meta("summary", summary="A greeting", leafUuid=file.last_uuid)
    file.records.insert(0, file.records.pop())
    assert read(home, file).title == "A greeting"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ([{"type": "text", "text": "<ide_opened_file>a</ide_opened_file>"}], "hello"),
        ("<command-name>/model</command-name>", "hello"),
        ([{"type": "text", "text": "[Request interrupted by user]"}], "hello"),
        ("<command-message>x</command-message><command-name>/x</command-name>", "/x"),
        ("<bash-input>ls</bash-input>", "ls"),
    ],
)
def test_title_comes_from_the_first_prompt_not_the_first_user_record(
    home: Home, content: Any, title: str
) -> None:
    file = home.claude()
    file.prompt(content)
    file.prompt("<local-command-stdout>set</local-command-stdout>")
    file.turn("hello", "hi")
    assert read(home, file).title == title


def test_answered_command_is_a_first_prompt(home: Home) -> None:
    file = home.claude()
    file.prompt("<command-name>/init</command-name>\n<command-args></command-args>")
    file.answer("written")
    file.turn("thanks", "welcome")
    session = read(home, file)
    assert (home.prompts(file.id), session.title) == (["/init", "thanks"], "/init")


def test_queued_prompt_can_be_the_first_prompt(home: Home) -> None:
    file = home.claude()
    file.answer("still at it")
    file.meta("queue-operation", operation="enqueue", content="hello", timestamp=file.tick())
    file.meta("queue-operation", operation="remove", timestamp=file.tick())
    file.answer("hi")
    assert read(home, file).title == "hello"


def test_later_title_adds_no_object(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.turn("go on", "more")
    assert read(home, file).title == "hello"
    file.meta("custom-title", customTitle="My greeting")
    file.append()
    assert home.index().new_objects == 0
    assert home.rows()[file.id].session.title == "My greeting"
    assert_same_as_fresh(home)


def test_subagent_title_is_its_description(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    agent = home.subagent(main, "agent-a1b2c3d4")
    agent.turn("look into the parser", "fine")
    agent.write()
    meta = {"agentType": "Explore", "description": "Look at the parser", "toolUseId": "toolu_1"}
    agent.path.with_suffix(".meta.json").write_text(json.dumps(meta))
    session = read(home, agent, main)
    assert (session.title, session.agent) == ("Look at the parser", "Explore")


def test_codex_thread_name_is_its_title(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("hello", "hi")
    assert read(home, file).title == "hello"
    for name in ("Greeting", "A greeting"):
        file.event("thread_name_updated", thread_id=file.id, thread_name=name)
    assert read(home, file).title == "A greeting"


# Project, directories and totals.


def test_project_is_the_first_directory(home: Home) -> None:
    file = home.claude(cwd="/home/sam/src/shop")
    file.turn("one", "first")
    file.cwd, file.version = "/home/sam/src/api", "2.1.151"
    file.turn("two", "second")
    session = read(home, file)
    assert (session.project, session.cwd) == ("/home/sam/src/shop", "/home/sam/src/shop")


@pytest.mark.parametrize("is_worktree", [True, False])
def test_project_is_the_git_root(home: Home, tmp_path: Path, is_worktree: bool) -> None:
    below = tmp_path / "repo" / "src" / "package"
    below.mkdir(parents=True)
    if is_worktree:
        (tmp_path / "repo" / ".git").write_text("gitdir: /elsewhere")
    else:
        (tmp_path / "repo" / ".git").mkdir()
    claude, codex = home.claude(cwd=str(below)), home.codex(cwd=str(below))
    codex.meta()
    for file in (claude, codex):
        file.turn("hello", "hi")
        session = read(home, file)
        assert (session.project, session.cwd) == (str(tmp_path / "repo"), str(below))


def test_each_turn_keeps_its_directory_and_branch(home: Home) -> None:
    file = home.claude()
    places = [("/home/sam/src/shop", "main"), ("/home/sam/src/shop/web", "main"), ("/tmp", "fix")]
    for cwd, branch in places:
        file.prompt("go", cwd=cwd, gitBranch=branch)
        file.answer("done", cwd=cwd, gitBranch=branch)
    session = read(home, file)
    entries = home.manifest(file.id).entries
    assert [(entry.cwd or session.cwd, entry.branch or session.branch) for entry in entries] == (
        places
    )


def test_claude_session_sums_up_its_turns(home: Home) -> None:
    file = home.claude(version="2.1.150")
    start = file.now_ms + 1000
    file.turn("one", "first", "ls", "a.py")
    file.version = "2.1.151"
    file.prompt("two")
    file.answer("second", model="claude-sonnet-5")
    file.tick(3600)
    file.answer("third", model="claude-opus-4-6")
    file.prompt([{"type": "text", "text": "[Request interrupted by user]"}])
    assert read(home, file) == Session(
        id=file.id,
        source="claude_code",
        project="/home/sam/src/shop",
        cwd="/home/sam/src/shop",
        branch="main",
        title="one",
        title_origin="prompt",
        started=start,
        ended=file.now_ms,
        turns=2,
        messages=6,
        tools=1,
        input_tokens=40,
        output_tokens=20,
        models=("claude-opus-4-6", "claude-sonnet-5"),
        versions=("2.1.150", "2.1.151"),
    )
    session = home.rows()[file.id].session
    assert (session.duration_s, session.is_complete) == ((file.now_ms - start) // 1000, True)


def test_codex_session_sums_up_its_turns(home: Home) -> None:
    file = home.codex()
    file.meta()
    start = file.now_ms + 1000
    file.turn("one", "first", "ls", "a.py")
    file.tokens(100, 60, 5)
    assert read(home, file) == Session(
        id=file.id,
        source="codex",
        project="/home/sam/src/api",
        cwd="/home/sam/src/api",
        branch="main",
        title="one",
        title_origin="prompt",
        started=start,
        ended=file.now_ms,
        turns=1,
        messages=3,
        tools=1,
        input_tokens=40,
        output_tokens=5,
        models=("gpt-5-codex",),
        versions=("0.146.0",),
    )


def test_session_with_bad_lines_is_incomplete(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    file.raw(b'{"parentUuid":null,"type":"user","mess\n')
    file.turn("two", "second")
    session = read(home, file)
    assert (session.turns, session.bad_lines, session.is_complete) == (2, 1, False)


def test_unknown_record_types_are_counted(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    for kind in ("hologram", "hologram", "smell"):
        file.meta(kind, content={"text": "from the future"})
    session = read(home, file)
    assert session.unknown_types == {"hologram": 2, "smell": 1}
    assert (session.turns, session.is_complete) == (1, True)


# Sub-agents and forks.


def agent_in(main: ClaudeFile, *folders: str) -> ClaudeFile:
    folder = main.path.parent.joinpath(*folders)
    return ClaudeFile(
        folder, 7, name="agent-a1b2c3d4", session_id=main.session_id, is_sidechain=True
    )


@pytest.mark.parametrize(
    "folders",
    [(), ("{id}", "subagents"), ("{id}", "subagents", "workflows", "wf_x")],
    ids=["beside", "subagents", "workflow"],
)
def test_claude_subagent_names_its_parent(home: Home, folders: tuple[str, ...]) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    agent = agent_in(main, *(folder.format(id=main.id) for folder in folders))
    agent.turn("look", "seen")
    session = read(home, agent, main)
    assert (session.id, session.kind, session.parent) == ("agent-a1b2c3d4", "subagent", main.id)
    assert home.prompts(main.id) == ["hello"]
    assert set(home.rows()) == {main.id, agent.id}


def test_folder_names_the_parent_if_records_name_another(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    agent = home.subagent(main, "agent-a1b2c3d4")
    agent.session_id = "99999999-0000-4000-8000-000000000000"
    agent.turn("look", "seen")
    assert read(home, agent, main).parent == main.id


@pytest.mark.parametrize(
    ("source", "kind", "agent"),
    [
        ({"subagent": "review"}, "subagent", "review"),
        ({"subagent": "compact"}, "worker", "compact"),
        (
            {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "scout"}}},
            "subagent",
            "scout",
        ),
    ],
)
def test_codex_subagent_names_its_parent(home: Home, source: Any, kind: str, agent: str) -> None:
    file = home.codex()
    file.meta(source=source, session_id=PARENT)
    file.turn("look", "seen")
    session = read(home, file)
    assert (session.id, session.kind, session.parent, session.agent) == (
        file.id,
        kind,
        PARENT,
        agent,
    )


def test_copy_for_resuming_is_not_a_session(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    main.write()
    copy = main.path.with_suffix("") / "resume-head.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(main.path.read_bytes())
    read(home, main)
    assert list(home.rows()) == [main.id]


def test_workflow_journal_is_not_a_session(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    journal = main.path.with_suffix("") / "subagents" / "workflows" / "wf_x" / "journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(encode({"type": "started", "agentId": "a1"}))
    read(home, main)
    assert list(home.rows()) == [main.id]


def test_sidechains_in_the_main_file_are_subagents(home: Home) -> None:
    file = home.claude(version="2.0.10")
    file.turn("hello", "asking two agents")
    main_leaf = file.last_uuid
    file.is_sidechain = True
    leaves: dict[str, str | None] = {}
    for prompt in ("left", "right"):
        file.last_uuid = None
        leaves[prompt] = file.prompt(prompt)["uuid"]
    roots = dict(leaves)
    for prompt in ("left", "right"):
        file.last_uuid = leaves[prompt]
        file.answer(f"{prompt} done")
    file.is_sidechain, file.last_uuid = False, main_leaf
    file.turn("thanks", "welcome")
    read(home, file)
    sessions = {id: row.session for id, row in home.rows().items()}
    assert {id: (s.kind, s.parent, home.prompts(id)) for id, s in sessions.items()} == {
        file.id: ("main", "", ["hello", "thanks"]),
        f"agent-{str(roots['left'])[:8]}": ("subagent", file.id, ["left"]),
        f"agent-{str(roots['right'])[:8]}": ("subagent", file.id, ["right"]),
    }
    assert sessions[file.id].title == "hello"


def test_file_with_sidechains_can_grow(home: Home) -> None:
    file = home.claude(version="2.0.10")
    file.turn("hello", "asking")
    main_leaf = file.last_uuid
    file.is_sidechain, file.last_uuid = True, None
    file.prompt("look")
    read(home, file)
    file.answer("seen")
    file.is_sidechain, file.last_uuid = False, main_leaf
    file.turn("thanks", "welcome")
    file.append()
    home.index()
    assert sorted(home.prompts(id) for id in home.rows()) == [["hello", "thanks"], ["look"]]
    assert_same_as_fresh(home)


def test_fork_shares_its_parents_turns(home: Home) -> None:
    parent = home.claude()
    for number in range(5):
        parent.turn(f"prompt {number}", f"answer {number}", "ls", f"{number}.py")
    parent.turn("the last", "of the parent")
    read(home, parent)
    fork = parent.fork(parent.path.parent, records=20, seed=2)
    fork.turn("another", "way")
    fork.write()
    report = home.index()
    assert (report.new_sessions, report.new_objects) == (1, 1)
    shared = [entry.turn for entry in home.manifest(parent.id).entries[:5]]
    assert [entry.turn for entry in home.manifest(fork.id).entries[:5]] == shared


def test_fork_names_its_parent(home: Home) -> None:
    parent = home.claude()
    parent.turn("one", "first")
    fork = parent.fork(parent.path.parent, records=2, seed=2)
    for record in fork.records:
        assert isinstance(record, dict)
        record["forkedFrom"] = {"sessionId": parent.id, "messageUuid": record["uuid"]}
    fork.turn("two", "second")
    assert read(home, fork, parent).forked_from == parent.id


# Directories and costs.


def encode_slug(directory: Path) -> str:
    return re.sub("[^A-Za-z0-9]", "-", str(directory))


@pytest.mark.parametrize("is_copied", [False, True])
def test_relocated_session_is_resumed_where_its_transcript_is(
    home: Home, tmp_path: Path, is_copied: bool
) -> None:
    shop, worktree = tmp_path / "shop", tmp_path / "shop" / ".claude" / "worktrees" / "possum"
    worktree.mkdir(parents=True)
    file = home.claude(slug=encode_slug(shop), cwd=str(shop))
    file.turn("begin", "on it")
    session = read(home, file)
    assert (session.cwd, session.current_cwd) == (str(shop), "")
    resume = f"claude --resume {file.id}\n"
    assert home.run("resume", file.id).stdout == f"cd {shop} && {resume}"

    old = file.path
    file.path = home.projects / encode_slug(worktree) / old.name
    file.meta("relocated", relocatedCwd=str(worktree))
    file.turn("go on", "in the worktree")
    file.write()
    if not is_copied:
        old.unlink()
    home.index()
    (row,) = home.rows().values()
    assert (row.session.project, row.session.cwd) == (str(shop), str(shop))
    assert row.session.current_cwd == str(worktree)
    assert home.prompts(file.id) == ["begin", "go on"]
    assert home.run("resume", file.id).stdout == f"cd {worktree} && {resume}"
    (listed,) = home.json("list")["sessions"]
    assert (listed["cwd"], listed["current_cwd"]) == (str(shop), str(worktree))
    assert_same_as_fresh(home)


def test_session_that_changed_directory_is_resumed_where_it_began(
    home: Home, tmp_path: Path
) -> None:
    shop, lib = tmp_path / "shop", tmp_path / "shop" / "lib"
    lib.mkdir(parents=True)
    file = home.claude(slug=encode_slug(shop), cwd=str(shop))
    file.turn("begin", "on it")
    file.cwd = str(lib)
    file.turn("go on", "in lib")
    assert read(home, file).current_cwd == str(lib)
    assert home.run("resume", file.id).stdout == f"cd {shop} && claude --resume {file.id}\n"


def test_last_cost_state_is_kept(home: Home) -> None:
    file = home.claude()
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 7, "costUSD": 0.25}
    file.meta("cost-state", totalCostUSD=0.1, modelUsage={"claude-opus-4-8": usage})
    file.turn("begin", "on it")
    haiku = {"inputTokens": 3, "costUSD": 0.05, "cacheCreationInputTokens": 2}
    models = {"claude-opus-4-8": usage, "claude-haiku-4-5": haiku, "none": None}
    file.meta("cost-state", totalCostUSD=0.3, modelUsage=models)
    session = read(home, file)
    assert (session.cost_usd, session.unknown_types) == (0.3, {})
    assert session.costs == (
        ModelCost("claude-opus-4-8", 0.25, 10, 5, 7, None),
        ModelCost("claude-haiku-4-5", 0.05, 3, None, None, 2),
    )


@pytest.mark.parametrize("value", ["1", True, -1, 1e300, [], None])
def test_implausible_cost_is_unknown(home: Home, value: Any) -> None:
    file = home.claude()
    file.turn("begin", "on it")
    file.meta("cost-state", totalCostUSD=value, modelUsage={"opus": {"costUSD": value}})
    session = read(home, file)
    assert (session.cost_usd, session.costs) == (None, (ModelCost("opus"),))
    file.meta("cost-state", totalCostUSD=0.5, modelUsage=value)
    session = read(home, file)
    assert (session.cost_usd, session.costs) == (0.5, ())


def test_nested_subagent_belongs_to_the_agent_that_started_it(home: Home) -> None:
    main = home.claude()
    main.prompt("send an agent")
    outer_call = main.call("Agent", {"description": "outer", "prompt": "go"})
    main.result(outer_call, "done")
    main.write()
    outer = home.subagent(main, "agent-0001", seed=51)
    outer.prompt("go")
    inner_call = outer.call("Agent", {"description": "inner", "prompt": "go on"})
    outer.result(inner_call, "done")
    outer.write()
    inner = home.subagent(main, "agent-0002", seed=52)
    inner.turn("go on", "gone")
    inner.write()
    for agent, call, depth in ((outer, outer_call, 1), (inner, inner_call, 2)):
        meta = {"agentType": "Explore", "toolUseId": call, "spawnDepth": depth}
        agent.path.with_suffix(".meta.json").write_text(json.dumps(meta))
    home.index()
    parents = {id: row.session.parent for id, row in home.rows().items()}
    assert parents == {main.id: "", outer.id: main.id, inner.id: outer.id}
    listed = [line.split("\t")[4] for line in home.run("list", "--tree").stdout.splitlines()]
    assert [line.index("└") if "└" in line else -1 for line in listed] == [-1, 0, 2]
    assert home.run("resume", inner.id).stdout == home.run("resume", main.id).stdout
    outer.path.unlink()
    home.index()
    assert home.run("forget", main.id).returncode == 0
    assert home.rows() == {}


def test_fork_of_claude_code_is_not_taken_for_its_original(home: Home) -> None:
    original = home.claude(1)
    original.turn("one", "first")
    fork = original.fork(home.projects / "-home-sam-src-shop", len(original.records), seed=2)
    fork.tick(60)
    queued = {"operation": "enqueue", "content": "in the fork", "timestamp": fork.tick()}
    fork.records.insert(0, {"type": "queue-operation", "sessionId": fork.session_id, **queued})
    fork.turn("in the fork", "forked")
    original.now_ms = fork.now_ms
    original.turn("back in the original", "here")
    original.write()
    fork.write()
    home.index()
    tree = [line.split("\t")[0] for line in home.run("list", "--tree").stdout.splitlines()]
    assert tree == [original.id[:8], fork.id[:8]]
    shown = home.json("show", fork.id)["turns"]
    assert [turn["is_inherited"] for turn in shown] == [True, False]
    assert [turn["is_inherited"] for turn in home.json("show", original.id)["turns"]] == [False] * 2
