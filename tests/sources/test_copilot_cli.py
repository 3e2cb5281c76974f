"""The reader of Copilot CLI, one test for each trap in its events."""

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from ccgrep.model import Blob
from tests.helpers.copilot_file import CopilotFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.source_reading import ReadSession, read_session, read_sessions

PNG = b"\x89PNG made up"
ASSET = {
    "type": "image",
    "mimeType": "image/png",
    "byteLength": len(PNG),
    "assetId": "sha256:" + sha256(PNG).hexdigest(),
}


@pytest.fixture
def file(tmp_path: Path) -> CopilotFile:
    file = CopilotFile(tmp_path / ".copilot")
    file.start()
    return file


def read(file: CopilotFile) -> ReadSession:
    return read_session("copilot_cli", file.write(), file.path.parents[2])


def read_all(file: CopilotFile) -> list[ReadSession]:
    return read_sessions("copilot_cli", file.write(), file.path.parents[2])


def test_prompt_is_what_the_user_typed(file: CopilotFile) -> None:
    file.turn("where is the wombat", "in its burrow", "ls", "burrow\n")
    found = read(file)
    assert found.prompts == ["where is the wombat"]
    assert found.texts == [["in its burrow"]]
    (call,) = found.calls
    assert (call.name, call.input) == ("bash", {"command": "ls"})
    assert call.result is not None and call.result.text == "burrow\n"
    session = found.session
    assert (session.id, session.source, session.kind) == (file.id, "copilot_cli", "main")
    assert (session.cwd, session.branch) == (file.cwd, "main")
    assert (session.models, session.versions) == (("gpt-5.4",), ("1.0.102",))
    assert (session.title, session.title_origin) == ("where is the wombat", "prompt")
    assert session.unknown_types == {}


def test_input_tokens_exclude_what_the_cache_held(file: CopilotFile) -> None:
    file.prompt("hello")
    file.usage("api-1", input=3121, cached=3000, written=21, output=11)
    file.message("hi", apiCallId="api-1")
    (usage,) = read(file).entries[0].usage
    assert (usage.model, usage.input, usage.output) == ("gpt-5.4", 100, 11)
    assert (usage.cache_read, usage.cache_write) == (3000, 21)


def test_tokens_of_versions_without_usage_records_are_those_of_the_output(
    file: CopilotFile,
) -> None:
    file.prompt("hello")
    file.message("hi", outputTokens=7)
    (usage,) = read(file).entries[0].usage
    assert (usage.input, usage.output) == (None, 7)


def test_tokens_of_older_versions_are_counted_when_the_client_ends(file: CopilotFile) -> None:
    tokens = {"inputTokens": 3121, "cacheReadTokens": 3000, "cacheWriteTokens": 21}
    metrics = {"gpt-5.4": {"usage": {**tokens, "outputTokens": 7}}, "haiku": {"usage": None}}
    for text in ("hello", "again"):
        file.prompt(text)
        file.message("hi", outputTokens=7)
        file.event("session.shutdown", modelMetrics=metrics)
    found = read(file)
    assert (found.session.input_tokens, found.session.output_tokens) == (200, 14)
    assert [sum(usage.cache_read or 0 for usage in e.usage) for e in found.entries] == [3000, 3000]


def test_tokens_at_the_end_are_those_of_each_call_again(file: CopilotFile) -> None:
    file.prompt("hello")
    file.usage("api-1", input=3121, cached=3000, written=21, output=11)
    file.message("hi", apiCallId="api-1")
    metrics = {"gpt-5.4": {"usage": {"inputTokens": 3121, "outputTokens": 11}}}
    file.event("session.shutdown", modelMetrics=metrics)
    file.event("session.resume", sessionId=file.id)
    file.event("session.shutdown", modelMetrics=metrics)
    assert len(read(file).entries[0].usage) == 1


def test_messages_of_one_api_call_are_one_message(file: CopilotFile) -> None:
    file.prompt("hello")
    file.message("first", apiCallId="api-1", reasoningText="think", chunkIndex=0, chunkCount=2)
    file.message("second", apiCallId="api-1", chunkIndex=1, chunkCount=2)
    found = read(file)
    assert found.texts == [["first", "second"]]
    assert len(found.turns[0].messages()) == 1


@pytest.mark.parametrize("is_before", [True, False])
def test_thought_that_is_written_twice_is_read_once(file: CopilotFile, is_before: bool) -> None:
    file.prompt("hello")
    if is_before:
        file.event("assistant.reasoning", content="a wombat, surely")
    file.message("hi", reasoningText="a wombat, surely")
    if not is_before:
        file.event("assistant.reasoning", content="a wombat, surely")
    assert read(file).thoughts == ["a wombat, surely"]


def test_call_with_arguments_as_text_has_an_object_as_input(file: CopilotFile) -> None:
    file.prompt("hello")
    file.call("view", '{"path":"a.py"}')
    file.call("apply_patch", "*** Begin Patch")
    assert [call.input for call in read(file).calls] == [{"path": "a.py"}, "*** Begin Patch"]


def test_call_that_only_its_start_names_is_read(file: CopilotFile) -> None:
    file.prompt("hello")
    file.message("let me look")
    data = {"toolCallId": "c1", "toolName": "view", "arguments": {"path": "a.py"}}
    file.event("tool.execution_start", **data)
    file.result("c1", "x = 1")
    (call,) = read(file).calls
    assert (call.name, call.input) == ("view", {"path": "a.py"})


def test_command_that_fails_is_an_error(file: CopilotFile) -> None:
    file.prompt("hello")
    file.result(file.call("bash", {}), "no", shellExecution={"exitCode": 3})
    file.result(file.call("bash", {}), "no\n<shellId: 0 completed with exit code 3>")
    file.result(file.call("bash", {}), "no\n<exited with exit code 127>")
    file.result(file.call("bash", {}), "yes\n<exited with exit code 0>")
    file.result(file.call("view", {}), "", success=False, error={"message": "Path does not exist"})
    file.result(file.call("view", {}), "", result="just text")
    results = [call.result for call in read(file).calls if call.result]
    assert [result.is_error for result in results] == [True, True, True, False, True, False]
    assert [result.text for result in results[4:]] == ["Path does not exist", "just text"]


def test_images_are_named_by_the_hash_of_an_asset_or_inline(file: CopilotFile) -> None:
    data = base64.b64encode(PNG).decode()
    file.event("session.binary_asset", **ASSET, data=data)
    selection = {"type": "selection", "filePath": "/src/a.py", "text": "x = 1"}
    blob = {"type": "blob", "mimeType": "image/png", "data": data}
    file.prompt("look", attachments=[{**ASSET, "path": "red.png"}, blob, selection])
    file.result(
        file.call("view", {}), "seen", result={"content": "", "binaryResultsForLlm": [ASSET]}
    )
    found = read(file)
    expected = Blob("image/png", len(PNG), sha256(PNG).hexdigest())
    assert found.turns[0].attached == (expected, expected)
    assert found.notes == [("context", "/src/a.py\nx = 1")]
    (call,) = found.calls
    assert call.result is not None and call.result.blobs == (expected,)


def test_command_that_the_user_ran_is_a_prompt(file: CopilotFile) -> None:
    file.turn("hello", "hi")
    arguments = {"command": "git status", "description": "Execute shell command: git status"}
    data = {"toolCallId": "c1", "toolName": "local_shell", "arguments": arguments}
    file.event("tool.user_requested", **data)
    file.result("c1", "clean", isUserRequested=True)
    found = read(file)
    assert found.prompts == ["hello", "git status"]
    assert found.notes == [("command", "clean")]
    assert found.calls == []


def test_messages_that_nobody_typed_are_notes(file: CopilotFile) -> None:
    file.turn("hello", "hi")
    file.prompt("how to read a PDF", source="skill-pdf")
    file.prompt("go on", source="autopilot-continuation", isAutopilotContinuation=True)
    file.prompt("from another agent", source="agent-7")
    file.event("skill.invoked", name="pdf", content="the whole skill")
    file.event("system.notification", content="a job ended", kind={"type": "shell_completed"})
    file.event("session.error", errorType="query", message="too many wombats")
    file.event("abort", reason="user_initiated")
    found = read(file)
    assert found.prompts == ["hello"]
    assert found.notes == [
        ("context", "how to read a PDF"),
        ("machine", "go on"),
        ("notification", "from another agent"),
        ("context", "the whole skill"),
        ("notification", "a job ended"),
        ("error", "too many wombats"),
        ("interrupted", "Aborted: user_initiated"),
    ]


def test_only_a_compaction_that_succeeds_has_a_summary(file: CopilotFile) -> None:
    file.turn("hello", "hi")
    file.usage("api-1", input=30, cached=0, written=0, output=3)
    spent = {"model": "gpt-5.4", "inputTokens": 50, "outputTokens": 5}
    file.event("session.compaction_complete", success=False, error="empty response")
    file.event(
        "session.compaction_complete",
        success=True,
        summaryContent="they said hello",
        compactionTokensUsed=spent,
    )
    found = read(file)
    assert found.notes == [("summary", "they said hello")]
    assert [usage.input for usage in found.entries[0].usage] == [30, 50]


def test_events_that_copy_the_conversation_are_ignored(file: CopilotFile) -> None:
    file.event("system.message", role="system", content="You are the GitHub Copilot CLI")
    file.turn("hello", "hi")
    file.event("model.messages_snapshot", messages=[{"role": "user", "content": "hello"}])
    file.event("session.shutdown", modelMetrics={"gpt-5.4": {"usage": {"inputTokens": 9}}})
    file.event("assistant.sang", song="wombat")
    found = read(file)
    assert found.texts == [["hi"]]
    assert found.session.unknown_types == {"assistant.sang": 1}


def test_directory_of_a_turn_follows_the_context(file: CopilotFile) -> None:
    file.turn("hello", "hi")
    file.event("session.context_changed", cwd="/home/sam/src/api", branch="fix")
    file.turn("again", "hi")
    found = read(file)
    assert [entry.cwd for entry in found.entries] == [file.cwd, "/home/sam/src/api"]
    assert [entry.branch for entry in found.entries] == ["main", "fix"]
    assert found.session.cwd == file.cwd


def add_sub_agent(file: CopilotFile, id: str = "11111111-2222-4333-8444-555555555555") -> str:
    """Add a turn in which a sub-agent answers, between the events of the main agent."""
    file.prompt("ask around")
    arguments = {"agent_type": "explore", "prompt": "where is it", "description": "find it"}
    call_id = file.call("task", arguments)
    file.agent = id
    about = {"toolCallId": call_id, "agentName": "explore", "agentDescription": "Find the wombat"}
    file.event("subagent.started", **about)
    file.prompt("where is it", source=f"agent-{file.id}")
    file.usage("api-sub", 10, 0, 0, 2)
    file.result(file.call("bash", {"command": "ls"}, parentToolCallId=call_id), "burrow")
    file.agent = ""
    file.usage("api-main", 20, 0, 0, 4)
    file.agent = id
    file.message("in the burrow", parentToolCallId=call_id)
    file.event("subagent.completed", **about)
    file.agent = ""
    file.result(call_id, "in the burrow")
    file.message("it is in the burrow")
    return id


def test_sub_agent_is_a_session_of_its_own(file: CopilotFile) -> None:
    id = add_sub_agent(file)
    main, agent = read_all(file)
    assert main.prompts == ["ask around"]
    assert main.texts == [["it is in the burrow"]]
    assert [call.name for call in main.calls] == ["task"]
    assert main.session.input_tokens == 20
    session = agent.session
    assert (session.id, session.kind, session.parent) == (id, "subagent", file.id)
    assert (session.agent, session.title) == ("explore", "Find the wombat")
    assert (session.cwd, session.input_tokens) == (file.cwd, 10)
    assert agent.prompts == ["where is it"]
    assert agent.texts == [["in the burrow"]]
    assert [call.result and call.result.text for call in agent.calls] == ["burrow"]


def test_sub_agent_of_an_older_version_is_named_by_its_call(file: CopilotFile) -> None:
    file.prompt("ask around")
    call_id = file.call("task", {"agent_type": "explore", "prompt": "where is it"})
    about = {"toolCallId": call_id, "agentName": "explore"}
    file.event("subagent.started", **about)
    file.prompt("where is it")
    file.prompt("and what time is it")
    file.message("in the burrow", parentToolCallId=call_id)
    file.message("four o'clock")
    main, agent = read_all(file)
    assert main.prompts == ["ask around", "and what time is it"]
    assert main.texts == [[], ["four o'clock"]]
    assert (agent.prompts, agent.texts) == (["where is it"], [["in the burrow"]])
    assert agent.session.id.startswith("copilot-")


def test_sub_agents_stay_when_the_session_grows(home: Home) -> None:
    file = CopilotFile(home.directory / ".copilot")
    file.start()
    file.turn("hello", "hi")
    file.write()
    home.index()
    id = add_sub_agent(file)
    file.append()
    home.index()
    file.turn("and then", "nothing")
    file.append()
    home.index()
    assert home.prompts(file.id) == ["hello", "ask around", "and then"]
    assert home.prompts(id) == ["where is it"]
    assert not home.rows()[id].is_gone
    assert_same_as_fresh(home)


def test_fork_names_its_origin(file: CopilotFile) -> None:
    origin = "81eab142-3b3f-45c3-9aa0-fd49e8703c51"
    file.turn("hello", "hi")
    copy = f'Forked from "A (b) \\"c\\"" ({origin}) as "A (fork)" ({file.id}).'
    file.event("session.info", infoType="fork", message=copy)
    file.event("session.info", infoType="fork", message="Forked this session into …")
    assert read(file).session.forked_from == origin


def test_rewind_that_removes_events_leaves_the_old_turns(home: Home) -> None:
    file = CopilotFile(home.directory / ".copilot")
    file.start()
    file.turn("hello", "hi")
    before = len(file.records)
    file.turn("take this back", "if you insist")
    file.write()
    home.index()
    del file.records[before:]
    file.event("session.info", infoType="rewind", message="Rewound the conversation.")
    file.turn("something else", "fine")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["hello", "something else"]
    assert home.prompts(f"{file.id}~2") == ["hello", "take this back"]


def test_rewind_that_is_an_event_rolls_back(file: CopilotFile) -> None:
    file.turn("hello", "hi")
    event = file.prompt("take this back")
    file.event("session.snapshot_rewind", upToEventId=event["id"], eventsRemoved=1)
    file.turn("something else", "fine")
    assert read(file).rolled_back == ["take this back"]


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        ("id: x\nname: Reply with hello\nuser_named: false\n", "Reply with hello"),
        ("name: 'It''s: quoted'\n", "It's: quoted"),
        ('name: "tab\\tand \\"quotes\\""\n', 'tab and "quotes"'),
        ("summary: |-\n  first line\n  second line\nupdated_at: now\n", "first line second line"),
        ("summary: old\nname: new\n", "new"),
        ("name:\n", "hello"),
        ('name: "broken\n', "broken"),
    ],
)
def test_title_is_in_the_description_of_the_workspace(
    file: CopilotFile, yaml: str, title: str
) -> None:
    file.turn("hello", "hi")
    file.workspace(yaml)
    assert read(file).session.title == title


def test_file_of_an_early_version_has_no_folder(home: Home) -> None:
    file = CopilotFile(home.directory / ".copilot")
    file.path = file.folder.with_suffix(".jsonl")
    file.start()
    file.turn("hello", "hi")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["hello"]


def test_deleted_session_is_restored_and_resumed(home: Home) -> None:
    cwd = home.directory / "shop"
    cwd.mkdir()
    file = CopilotFile(home.directory / ".copilot", cwd=str(cwd))
    file.start()
    file.turn("hello", "hi", "ls", "nothing\n")
    file.raw(b'{"type":"user.message","da')
    content = file.write().read_bytes()
    home.index()
    assert stored_bytes(home.store, home.rows()[file.id].files[0]) == content
    done = home.run("resume", file.id)
    assert done.returncode == 0, done.stderr
    assert f"copilot --resume={file.id}" in done.stdout
    file.path.unlink()
    home.index()
    done = home.run("restore", file.id)
    assert done.returncode == 0, done.stderr
    assert file.path.read_bytes() == content
