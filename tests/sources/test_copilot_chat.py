"""The reader of VS Code's chat, one test for each trap in its sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.copilot_chat_file import CopilotChatFile
from tests.helpers.copilot_file import CopilotFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.source_reading import ReadSession, read_session, read_sessions


@pytest.fixture
def file(tmp_path: Path) -> CopilotChatFile:
    file = CopilotChatFile(tmp_path / "workspaceStorage")
    file.describe()
    return file


def read(file: CopilotChatFile) -> ReadSession:
    return read_session("copilot_chat", file.write_log(), file.root)


def test_rounds_have_what_the_model_said_and_called(file: CopilotChatFile) -> None:
    call = {"id": "c1", "name": "read_file", "arguments": '{"filePath":"/a.py"}'}
    rounds = [
        {"response": "let me look", "toolCalls": [call], "thinking": {"text": ["a", "wombat"]}},
        {"response": "in its burrow", "toolCalls": []},
    ]
    tree = {"node": {"children": [{"text": "x = "}, {"children": [{"text": "1"}]}]}}
    metadata = {
        "toolCallRounds": rounds,
        "toolCallResults": {"c1": {"content": [{"value": "start "}, {"value": tree}]}},
        "resolvedModel": "gpt-5.4",
        "promptTokens": 100,
        "outputTokens": 7,
    }
    invocation = {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile"}
    seen = ({"value": "let me look"}, invocation, {"value": "in its burrow"})
    timings = {"totalElapsed": 5000}
    file.request("where", *seen, result={"metadata": metadata, "timings": timings})
    found = read(file)
    assert found.prompts == ["where"]
    assert found.texts == [["let me look", "in its burrow"]]
    assert found.thoughts == ["a\nwombat"]
    (read_call,) = found.calls
    assert (read_call.name, read_call.input) == ("read_file", {"filePath": "/a.py"})
    assert read_call.result is not None and read_call.result.text == "start x = 1"
    session, entry = found.session, found.entries[0]
    assert (session.id, session.source) == (file.id, "copilot_chat")
    assert (session.models, session.cwd) == (("gpt-5.4",), file.cwd)
    assert entry.started is not None and entry.ended == entry.started + 5000
    assert [(usage.input, usage.output) for usage in entry.usage] == [(100, 7)]


def test_response_without_rounds_is_read_as_the_user_saw_it(file: CopilotChatFile) -> None:
    uri = {"fsPath": "/src/a.py", "path": "/src/a.py", "scheme": "file"}
    terminal = {
        "kind": "terminal",
        "commandLine": {"original": "ls", "toolEdited": "ls -a"},
        "terminalCommandOutput": {"text": "burrow\r\n"},
        "terminalCommandState": {"exitCode": 1},
    }
    file.request(
        "where",
        {"kind": "thinking", "value": "a wombat"},
        {"value": "In ", "supportThemeIcons": False},
        {"kind": "inlineReference", "inlineReference": {"uri": uri}},
        {"kind": "markdownContent", "content": {"value": "."}},
        {"kind": "toolInvocationSerialized", "toolId": "run", "toolSpecificData": terminal},
        {
            "kind": "toolInvocationSerialized",
            "toolId": "mcp_zoo",
            "toolCallId": "c2",
            "resultDetails": {"input": '{"who":"wombat"}', "output": [{"value": "here"}]},
        },
        {
            "kind": "toolInvocationSerialized",
            "toolId": "read",
            "pastTenseMessage": {"value": "Read"},
        },
        {"kind": "textEditGroup", "uri": uri, "edits": [[{"text": "x = 2"}]]},
        {"kind": "undoStop", "id": "u"},
        {"kind": "song"},
        {"value": "Done."},
    )
    found = read(file)
    assert found.texts == [["In a.py.", "Done."]]
    assert found.thoughts == ["a wombat"]
    assert [(call.name, call.input) for call in found.calls] == [
        ("run", {"command": "ls -a"}),
        ("mcp_zoo", {"who": "wombat"}),
        ("read", None),
        ("textEditGroup", {"path": "/src/a.py", "edits": [[{"text": "x = 2"}]]}),
    ]
    results = [call.result for call in found.calls if call.result]
    assert [(result.text, result.is_error) for result in results] == [
        ("burrow\r\n", True),
        ("here", False),
        ("Read", False),
        ("", False),
    ]
    assert found.session.models == ("gpt-5",)
    assert found.session.unknown_types == {"song": 1}


def test_document_of_older_versions_has_the_same_turns(file: CopilotChatFile) -> None:
    file.turn("hello", "hi", "ls", "nothing")
    file.turn("again", "hi")
    file.fields["customTitle"] = "Two greetings"
    log = read(file)
    document = read_session("copilot_chat", file.write_document(), file.root)
    assert (document.turns, document.session) == (log.turns, log.session)
    assert log.session.title == "Two greetings"


def test_log_is_replayed(file: CopilotChatFile) -> None:
    kept, lost = file.request("hello"), file.request("take this back", {"value": "why"})
    again = file.request("something else")
    changes: list[dict[str, Any]] = [
        {"kind": 0, "v": {"requests": []}},
        {"kind": 2, "k": ["requests"], "v": [kept]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "h"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "hi"}], "i": 0},
        {"kind": 2, "k": ["requests"], "v": [lost]},
        {"kind": 2, "k": ["requests"], "v": [again], "i": 1},
        {"kind": 1, "k": ["customTitle"], "v": "Greetings"},
        {"kind": 1, "k": ["nowhere", 7, "x"], "v": 1},
        {"kind": 1, "k": ["inputState"], "v": {}},
        {"kind": 3, "k": ["inputState"]},
    ]
    file.records = list(changes)
    found = read_session("copilot_chat", file.write(), file.root)
    assert found.prompts == ["hello", "take this back", "something else"]
    assert found.texts == [["hi"], ["why"], []]
    assert found.rolled_back == ["take this back"]
    assert found.session.title == "Greetings"


def test_request_that_is_replaced_by_itself_is_not_taken_back(file: CopilotChatFile) -> None:
    request = file.request("hello")
    file.records = [
        {"kind": 0, "v": {"requests": [request]}},
        {"kind": 2, "k": ["requests"], "v": [{**request, "response": [{"value": "hi"}]}], "i": 0},
    ]
    found = read_session("copilot_chat", file.write(), file.root)
    assert (found.texts, found.rolled_back) == ([["hi"]], [])


def invocation(id: str, tool: str, **fields: Any) -> dict[str, Any]:
    shown = {"toolCallId": id, "toolId": tool, "invocationMessage": f"Using {tool}"}
    return {"kind": "toolInvocationSerialized", "isComplete": True, **shown, **fields}


def add_sub_agents(file: CopilotChatFile, is_named: bool) -> None:
    """Add a request with two sub-agents, of which the second one does nothing."""
    named = {"subAgentInvocationId": "launch-1"} if is_named else {"fromSubAgent": True}
    task = {"description": "Find the teapot", "prompt": "where is the teapot", "result": "Found."}
    data = {"toolSpecificData": {"kind": "subagent", "agentName": "Explore", **task}}
    edit = {"kind": "textEditGroup", "uri": {"path": "/a.py", "scheme": "file"}, "edits": [[]]}
    message = {"value": "Read a.py"}
    response = [
        {"value": "Let me ask."},
        invocation("launch-1", "runSubagent", **(data if is_named else {})),
        invocation("inner-1", "copilot_readFile", pastTenseMessage=message, **named),
        edit,
        invocation("inner-2", "runTests", **named),
        invocation("launch-2", "runSubagent"),
        {"value": "All done."},
    ]
    calls = [
        {"id": f"c{number}", "name": "runSubagent", "arguments": json.dumps(task)}
        for number in (1, 2)
    ]
    rounds = [{"response": "Let me ask.", "toolCalls": calls}, {"response": "All done."}]
    results = {call["id"]: {"content": [{"value": "Found."}]} for call in calls}
    metadata = {"toolCallRounds": rounds, "toolCallResults": results}
    file.request("find the teapot", *response, result={"metadata": metadata})


@pytest.mark.parametrize("is_named", [True, False])
def test_sub_agent_is_a_session_of_its_own(file: CopilotChatFile, is_named: bool) -> None:
    add_sub_agents(file, is_named)
    main, agent = read_sessions("copilot_chat", file.write_log(), file.root)
    assert [call.name for call in main.calls] == ["runSubagent", "runSubagent"]
    assert main.texts == [["Let me ask.", "All done."]]
    session = agent.session
    assert (session.kind, session.parent, session.cwd) == ("subagent", file.id, file.cwd)
    assert (session.title, session.agent) == ("Find the teapot", "Explore" if is_named else "")
    assert agent.prompts == ["where is the teapot"]
    assert agent.texts == [["Found."]]
    results = [(call.name, call.result and call.result.text) for call in agent.calls]
    assert results == [
        ("copilot_readFile", "Read a.py"),
        ("textEditGroup", ""),
        ("runTests", "Using runTests"),
    ]
    assert agent.entries[0].started == main.entries[0].started


def test_sub_agents_stay_when_the_session_grows(home: Home) -> None:
    file = CopilotChatFile(home.directory / ".config" / "Code" / "User" / "workspaceStorage")
    add_sub_agents(file, is_named=True)
    file.write_log()
    home.index()
    file.turn("and the cups", "Here.")
    file.write_log()
    home.index()
    ids = {row.session.kind: id for id, row in home.rows().items()}
    assert len(home.rows()) == 2 and home.prompts(ids["subagent"]) == ["where is the teapot"]
    assert home.prompts(file.id) == ["find the teapot", "and the cups"]
    assert_same_as_fresh(home)


def test_cancelled_request_keeps_what_was_said_last(file: CopilotChatFile) -> None:
    rounds = [{"response": "first", "toolCalls": []}]
    invocation = {"kind": "toolInvocationSerialized", "toolId": "x"}
    file.request(
        "hello",
        {"value": "first"},
        invocation,
        {"value": "and sec"},
        result={"metadata": {"toolCallRounds": rounds}},
        modelState={"value": 2, "completedAt": 1},
    )
    file.request("again", result={"errorDetails": {"message": "too many wombats"}})
    found = read(file)
    assert found.texts == [["first", "and sec"], []]
    assert found.notes == [("interrupted", "Cancelled"), ("error", "too many wombats")]


def test_what_the_client_adds_is_a_note(file: CopilotChatFile) -> None:
    uri = {"fsPath": "/src/a.py", "scheme": "file"}
    variables = [{"name": "file:a.py", "value": uri}, {"name": "picture", "value": {}}]
    summaries = [{"text": "they said hello"}]
    file.request(
        "hello",
        variableData={"variables": variables},
        result={"metadata": {"summaries": summaries}},
    )
    file.request("a command ended", isSystemInitiated=True)
    found = read(file)
    assert found.prompts == ["hello"]
    assert found.notes == [
        ("context", "/src/a.py"),
        ("context", "picture"),
        ("summary", "they said hello"),
        ("notification", "a command ended"),
    ]


def test_tokens_of_all_models_of_a_turn(file: CopilotChatFile) -> None:
    totals = [{"model": name, "inputTokens": 9, "outputTokens": 1} for name in ("a", "b")]
    file.request("hello", modelTotals=totals, promptTokens=5)
    usage = read(file).entries[0].usage
    assert [(one.model, one.input, one.output) for one in usage] == [("a", 9, 1), ("b", 9, 1)]


@pytest.mark.parametrize(
    ("description", "cwd"),
    [
        ('{"folder":"file:///src/my%20shop"}', "/src/my shop"),
        ('{"workspace":"file:///src/all.code-workspace"}', "/src"),
        ('{"folder":"vscode-remote://ssh-remote%2Bhost/src"}', ""),
        ("{", ""),
    ],
)
def test_directory_is_in_the_description_of_the_workspace(
    file: CopilotChatFile, description: str, cwd: str
) -> None:
    file.describe(description)
    file.turn("hello", "hi")
    assert read(file).session.cwd == cwd


def test_sessions_of_windows_without_a_folder_are_found(home: Home) -> None:
    user = home.directory / ".config" / "Code" / "User"
    file = CopilotChatFile(user / "workspaceStorage")
    file.path = user / "globalStorage" / "emptyWindowChatSessions" / f"{file.id}.jsonl"
    file.turn("hello", "hi")
    file.write_log()
    home.index()
    assert home.prompts(file.id) == ["hello"]


def test_session_that_becomes_a_log_grows_and_is_restored(home: Home) -> None:
    root = home.directory / ".config" / "Code" / "User" / "workspaceStorage"
    file = CopilotChatFile(root)
    file.describe()
    file.turn("hello", "hi", "ls", "nothing")
    file.write_document()
    home.index()
    file.turn("again", "hi")
    file.write_log()
    home.index()
    assert home.prompts(file.id) == ["hello", "again"]
    request = file.request("and again")
    file.records.append({"kind": 2, "k": ["requests"], "v": [request]})
    content = file.append().read_bytes()
    file.path.with_suffix(".json").unlink()
    home.index()
    assert home.prompts(file.id) == ["hello", "again", "and again"]
    assert list(home.rows()) == [file.id]
    assert stored_bytes(home.store, home.rows()[file.id].files[0]) == content
    assert_same_as_fresh(home)
    file.path.unlink()
    home.index()
    assert home.run("restore", file.id).returncode == 0
    assert file.path.read_bytes() == content


def test_description_of_the_workspace_is_archived(home: Home) -> None:
    root = home.directory / ".config" / "Code" / "User" / "workspaceStorage"
    file = CopilotChatFile(root)
    file.describe()
    file.turn("hello", "hi")
    file.write_log()
    home.index()
    description = file.workspace / "workspace.json"
    content = description.read_text()
    file.path.unlink()
    description.unlink()
    home.index()
    home.run("restore", file.id)
    assert json.loads(description.read_text()) == json.loads(content)


def test_transcript_of_a_session_on_another_machine(home: Home) -> None:
    root = home.directory / ".vscode-server" / "data" / "User" / "workspaceStorage"
    file = CopilotChatFile(root)
    file.describe()
    events = CopilotFile(root)
    events.path = file.workspace / "GitHub.copilot-chat" / "transcripts" / f"{file.id}.jsonl"
    events.event("session.start", sessionId=file.id, copilotVersion="0.55.0")
    events.turn("hello", "hi", "ls", "nothing")
    events.write()
    home.index()
    session = home.rows()[file.id].session
    assert (session.source, session.cwd) == ("copilot_chat", file.cwd)
    assert session.versions == ("0.55.0",)
    events.turn("again", "hi")
    events.append()
    home.index()
    assert home.prompts(file.id) == ["hello", "again"]
    assert_same_as_fresh(home)


def test_transcript_beside_an_editor_is_left_out(home: Home) -> None:
    file = CopilotChatFile(home.directory / ".config" / "Code" / "User" / "workspaceStorage")
    file.turn("hello", "hi")
    file.write_log()
    events = CopilotFile(file.root)
    events.path = file.workspace / "GitHub.copilot-chat" / "transcripts" / f"{file.id}.jsonl"
    events.turn("hello", "hi")
    events.write()
    home.index()
    assert list(home.rows()) == [file.id]
    assert home.rows()[file.id].files[0].path == str(file.path)
