"""What is said of a session as a whole: title, project, counts, and where it came from."""

import json
from pathlib import Path
from typing import Any

import pytest

from ccgrep.model import Session, Turn
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, CodexFile, Lines, encode, iso

LOST = "11111111-2222-4333-8444-555555555555"


def read(home: Home, file: ClaudeFile | CodexFile, *others: Lines) -> Session:
    for each in (file, *others):
        each.write()
    home.index()
    return home.rows()[file.id].session


# Titles.

TITLES = ("custom-title", "ai-title", "summary", "slug", "prompt")


def titled(home: Home, kinds: tuple[str, ...]) -> ClaudeFile:
    """A session with titles of these kinds, the weakest last."""
    file = home.claude()
    fields = {"slug": "the slug"} if "slug" in kinds else {}
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
def test_titles_have_an_order(home: Home, first: int) -> None:
    file = titled(home, TITLES[first:])
    assert read(home, file).title == f"the {TITLES[first]}"


@pytest.mark.parametrize("first", range(len(TITLES)))
def test_the_order_of_titles_is_not_the_order_of_lines(home: Home, first: int) -> None:
    file = titled(home, TITLES[first:])
    file.records[2:] = reversed(file.records[2:])
    assert read(home, file).title == f"the {TITLES[first]}"


@pytest.mark.parametrize(
    ("kind", "field"),
    [("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")],
)
def test_the_last_title_of_a_kind_wins(home: Home, kind: str, field: str) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    for title in ("first", "second", "first", "third"):
        file.meta(kind, leafUuid=file.last_uuid, **{field: title})
    assert read(home, file).title == "third"


def test_the_last_slug_wins(home: Home) -> None:
    file = home.claude()
    for slug in ("bold-plan", "calm-plan"):
        file.prompt("hello", slug=slug)
        file.answer("hi", slug=slug)
    session = read(home, file)
    assert (session.title, session.slug) == ("calm-plan", "calm-plan")


def test_only_a_summary_of_this_session_is_its_title(home: Home) -> None:
    other = home.claude(2)
    other.turn("elsewhere", "there")
    file = home.claude()
    file.meta("summary", summary="of the other", leafUuid=other.last_uuid)
    file.meta("summary", summary="of nobody", leafUuid=file.uuid())
    file.turn("hello", "hi")
    file.meta("summary", summary="of the other again", leafUuid=other.last_uuid)
    assert read(home, file, other).title == "hello"


def test_a_summary_may_stand_before_its_leaf(home: Home) -> None:
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
def test_the_first_user_line_is_not_always_the_first_prompt(
    home: Home, content: Any, title: str
) -> None:
    file = home.claude()
    file.prompt(content)
    file.prompt("<local-command-stdout>set</local-command-stdout>")
    file.turn("hello", "hi")
    assert read(home, file).title == title


def test_a_command_that_the_agent_answered_is_a_first_prompt(home: Home) -> None:
    file = home.claude()
    file.prompt("<command-name>/init</command-name>\n<command-args></command-args>")
    file.answer("written")
    file.turn("thanks", "welcome")
    session = read(home, file)
    assert (home.prompts(file.id), session.title) == (["/init", "thanks"], "/init")


def test_a_queued_prompt_may_be_the_first(home: Home) -> None:
    file = home.claude()
    file.answer("still at it")
    file.meta("queue-operation", operation="enqueue", content="hello", timestamp=file.tick())
    file.meta("queue-operation", operation="remove", timestamp=file.tick())
    file.answer("hi")
    assert read(home, file).title == "hello"


def test_a_title_that_comes_later_costs_no_object(home: Home) -> None:
    file = home.claude()
    file.turn("hello", "hi")
    file.turn("go on", "more")
    assert read(home, file).title == "hello"
    file.meta("custom-title", customTitle="My greeting")
    file.append()
    assert home.index().new_objects == 0
    assert home.rows()[file.id].session.title == "My greeting"
    assert_same_as_fresh(home)


def test_a_sub_agents_title_is_its_description(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    agent = home.subagent(main, "agent-a1b2c3d4")
    agent.turn("look into the parser", "fine")
    agent.write()
    meta = {"agentType": "Explore", "description": "Look at the parser", "toolUseId": "toolu_1"}
    agent.path.with_suffix(".meta.json").write_text(json.dumps(meta))
    session = read(home, agent, main)
    assert (session.title, session.agent) == ("Look at the parser", "Explore")


def test_a_codex_threads_name_is_its_title(home: Home) -> None:
    file = home.codex()
    file.meta()
    file.turn("hello", "hi")
    assert read(home, file).title == "hello"
    for name in ("Greeting", "A greeting"):
        file.event("thread_name_updated", thread_id=file.id, thread_name=name)
    assert read(home, file).title == "A greeting"


# Project, place and time.


def test_the_project_is_the_first_directory(home: Home) -> None:
    file = home.claude(cwd="/home/sam/src/shop")
    file.turn("one", "first")
    file.cwd, file.version = "/home/sam/src/api", "2.1.151"
    file.turn("two", "second")
    session = read(home, file)
    assert (session.project, session.cwd) == ("/home/sam/src/shop", "/home/sam/src/shop")


@pytest.mark.parametrize("is_worktree", [True, False])
def test_the_project_is_the_git_root(home: Home, tmp_path: Path, is_worktree: bool) -> None:
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


def test_each_turn_keeps_its_own_directory_and_branch(home: Home) -> None:
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


def test_a_session_adds_up_its_turns(home: Home) -> None:
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


def test_a_codex_session_adds_up_its_turns(home: Home) -> None:
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


def test_a_session_with_lost_lines_is_not_complete(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    file.raw(b'{"parentUuid":null,"type":"user","mess\n')
    file.turn("two", "second")
    session = read(home, file)
    assert (session.turns, session.bad_lines, session.is_complete) == (2, 1, False)


def test_unknown_types_are_counted_by_name(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    for kind in ("hologram", "hologram", "smell"):
        file.meta(kind, content={"text": "from the future"})
    session = read(home, file)
    assert session.unknown_types == {"hologram": 2, "smell": 1}
    assert (session.turns, session.is_complete) == (1, True)


# Sub-agents and forks.


def in_folder(home: Home, main: ClaudeFile, *folders: str) -> ClaudeFile:
    folder = main.path.parent.joinpath(*folders)
    return ClaudeFile(
        folder, 7, name="agent-a1b2c3d4", session_id=main.session_id, is_sidechain=True
    )


@pytest.mark.parametrize(
    "folders",
    [(), ("{id}", "subagents"), ("{id}", "subagents", "workflows", "wf_x")],
    ids=["beside", "subagents", "workflow"],
)
def test_a_sub_agent_names_its_parent(home: Home, folders: tuple[str, ...]) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    agent = in_folder(home, main, *(folder.format(id=main.id) for folder in folders))
    agent.turn("look", "seen")
    session = read(home, agent, main)
    assert (session.id, session.kind, session.parent) == ("agent-a1b2c3d4", "subagent", main.id)
    assert home.prompts(main.id) == ["hello"]
    assert set(home.rows()) == {main.id, agent.id}


def test_the_folder_tells_the_parent_where_the_lines_do_not(home: Home) -> None:
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
            {"subagent": {"thread_spawn": {"parent_thread_id": LOST, "agent_role": "scout"}}},
            "subagent",
            "scout",
        ),
    ],
)
def test_a_codex_sub_agent_names_its_parent(home: Home, source: Any, kind: str, agent: str) -> None:
    file = home.codex()
    file.meta(source=source, session_id=LOST)
    file.turn("look", "seen")
    session = read(home, file)
    assert (session.id, session.kind, session.parent, session.agent) == (
        file.id,
        kind,
        LOST,
        agent,
    )


def test_a_workflows_journal_is_no_session(home: Home) -> None:
    main = home.claude()
    main.turn("hello", "hi")
    journal = main.path.with_suffix("") / "subagents" / "workflows" / "wf_x" / "journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(encode({"type": "started", "agentId": "a1"}))
    read(home, main)
    assert list(home.rows()) == [main.id]


def test_sidechains_inside_the_main_file_are_sub_agents(home: Home) -> None:
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


def test_a_file_with_sidechains_can_grow(home: Home) -> None:
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


def test_a_fork_shares_its_parents_turns(home: Home) -> None:
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


def test_a_fork_names_its_parent_where_the_lines_do(home: Home) -> None:
    parent = home.claude()
    parent.turn("one", "first")
    fork = parent.fork(parent.path.parent, records=2, seed=2)
    for record in fork.records:
        assert isinstance(record, dict)
        record["forkedFrom"] = {"sessionId": parent.id, "messageUuid": record["uuid"]}
    fork.turn("two", "second")
    assert read(home, fork, parent).forked_from == parent.id


# Sessions of which only the prompts are left.

TIME = 1_790_000_000_000


def typed(text: str, time: int, id: str = LOST, **fields: Any) -> bytes:
    record = {"display": text, "pastedContents": {}, "timestamp": time, "project": "/p", **fields}
    return encode({**record, "sessionId": id})


def write_history(home: Home, *lines: bytes) -> None:
    (home.projects.parent / "history.jsonl").write_bytes(b"".join(lines))


def write_index(home: Home, **fields: Any) -> None:
    entry = {
        "sessionId": LOST,
        "fullPath": "/gone.jsonl",
        "firstPrompt": "fix the parser",
        "summary": "Parser fixed",
        "created": iso(TIME),
        "modified": iso(TIME + 60_000),
        "gitBranch": "main",
        "projectPath": "/p",
        "isSidechain": False,
        **fields,
    }
    path = home.projects / "-p" / "sessions-index.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "originalPath": "/p", "entries": [entry]}))


def test_history_recovers_the_prompts_of_a_lost_session(home: Home) -> None:
    write_history(home, typed("one", TIME), typed("two", TIME + 5_000))
    home.index()
    assert home.turns(LOST) == [Turn("one"), Turn("two")]
    row = home.rows()[LOST]
    assert row.session == Session(
        id=LOST,
        source="claude_code",
        project="/p",
        cwd="/p",
        title="one",
        started=TIME,
        ended=TIME + 5_000,
        turns=2,
        messages=2,
        is_prompt_only=True,
    )
    assert (row.is_gone, row.session.is_complete) == (True, False)


def test_pasted_text_is_put_back(home: Home) -> None:
    pasted = {"1": {"id": 1, "type": "text", "content": "Traceback ..."}}
    hashed = {"2": {"id": 2, "type": "text", "contentHash": "abc"}}
    write_history(
        home,
        typed("why? [Pasted text #1 +9 lines]", TIME, pastedContents=pasted),
        typed("and [Pasted text #2 +9 lines]", TIME + 1, pastedContents=hashed),
    )
    home.index()
    assert home.prompts(LOST) == ["why? Traceback ...", "and [Pasted text #2 +9 lines]"]


def test_codex_history_recovers_prompts_too(home: Home) -> None:
    lines = [
        encode({"session_id": LOST, "ts": TIME // 1000 + n, "text": f"prompt {n}"}) for n in (0, 1)
    ]
    (home.codex_sessions.parent / "history.jsonl").write_bytes(b"".join(lines))
    home.index()
    session = home.rows()[LOST].session
    assert (session.source, session.is_prompt_only, session.started) == ("codex", True, TIME)
    assert home.prompts(LOST) == ["prompt 0", "prompt 1"]


def test_an_index_entry_recovers_title_and_first_prompt(home: Home) -> None:
    write_index(home)
    home.index()
    assert home.turns(LOST) == [Turn("fix the parser")]
    assert home.rows()[LOST].session == Session(
        id=LOST,
        source="claude_code",
        project="/p",
        cwd="/p",
        branch="main",
        title="Parser fixed",
        started=TIME,
        ended=TIME + 60_000,
        turns=1,
        messages=1,
        is_prompt_only=True,
    )


def test_history_and_index_together_give_prompts_and_title(home: Home) -> None:
    write_index(home)
    write_history(home, typed("fix the parser", TIME), typed("and the lexer", TIME + 1))
    home.index()
    assert home.rows()[LOST].session.title == "Parser fixed"
    assert home.prompts(LOST) == ["fix the parser", "and the lexer"]


def test_a_transcript_says_more_than_the_hints(home: Home) -> None:
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    write_history(home, typed("one", TIME), typed("typed but not sent", TIME + 1))
    write_index(home)
    session = read(home, file)
    assert (session.title, session.is_prompt_only) == ("one", False)
    assert (list(home.rows()), home.prompts(LOST)) == ([LOST], ["one"])


def test_a_transcript_that_appears_later_replaces_the_hints(home: Home) -> None:
    write_history(home, typed("one", TIME))
    home.index()
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    session = read(home, file)
    assert (session.is_prompt_only, home.rows()[LOST].is_gone) == (False, False)
    assert list(home.rows()) == [LOST]
    assert_same_as_fresh(home)


def test_a_session_that_was_read_before_it_vanished_keeps_everything(home: Home) -> None:
    file = home.claude(session_id=LOST)
    file.turn("one", "first")
    write_history(home, typed("one", TIME))
    before = (read(home, file), home.turns(LOST))
    file.path.unlink()
    write_history(home, typed("one", TIME), typed("two", TIME + 1))
    home.index()
    row = home.rows()[LOST]
    assert ((row.session, home.turns(LOST)), row.is_gone) == (before, True)


def test_an_index_that_is_no_json_is_passed_over(home: Home) -> None:
    file = home.claude()
    file.turn("one", "first")
    (home.projects / "-p").mkdir()
    (home.projects / "-p" / "sessions-index.json").write_text('{"version": 1, "entr')
    read(home, file)
    assert list(home.rows()) == [file.id]
