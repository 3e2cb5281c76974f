"""The reader of the IDE's database of Cursor, one test for each trap in it."""

import json
import sqlite3
from pathlib import Path

import pytest

from ccgrep.model import Text, Thinking, ToolCall, ToolResult
from ccgrep.sources.registry import Root
from ccgrep.sources.scan import scan_paths
from tests.helpers.cursor_database import CursorChat
from tests.helpers.cursor_file import CursorFile
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import EPOCH_MS


@pytest.fixture
def folder(home: Home) -> Path:
    return home.directory / ".config" / "Cursor" / "User" / "globalStorage"


def test_chat_is_read_in_the_order_of_its_description(home: Home, folder: Path) -> None:
    chat = CursorChat(folder, name="Wombat business", modelConfig={"modelName": "default"})
    chat.prompt("where is the wombat", modelInfo={"modelName": "gpt-5"})
    chat.answer("let me look", thinking={"text": "a wombat"})
    tool = {"name": "run_terminal_cmd", "toolCallId": "c1", "status": "completed"}
    result = json.dumps({"output": "burrow"})
    chat.answer(toolFormerData={**tool, "rawArgs": '{"command":"ls"}', "result": result})
    chat.answer("in its burrow", tokenCount={"inputTokens": 100, "outputTokens": 7})
    chat.write()
    home.index()
    row = home.rows()[chat.id]
    session = row.session
    assert (session.source, session.title) == ("cursor", "Wombat business")
    assert (session.cwd, session.models) == ("/home/sam/src/shop", ("gpt-5",))
    assert (session.input_tokens, session.output_tokens) == (100, 7)
    (turn,) = home.turns(chat.id)
    assert turn.prompt == "where is the wombat"
    assert [part for message in turn.messages() for part in message.parts] == [
        Thinking("a wombat"),
        Text("let me look"),
        ToolCall("run_terminal_cmd", {"command": "ls"}, ToolResult("burrow")),
        Text("in its burrow"),
    ]


def test_calls_have_their_input_and_result_in_several_forms(home: Home, folder: Path) -> None:
    chat = CursorChat(folder)
    chat.prompt("hello")
    tools = [
        {"name": "read", "rawArgs": "", "params": '{"path":"a.py"}', "result": '{"contents":"x"}'},
        {"name": "edit", "params": {"path": "a.py"}, "status": "error", "error": {"message": "no"}},
        {"name": "list", "rawArgs": "not JSON", "result": '{"files":["a.py"]}'},
        {"name": "wait", "rawArgs": "{}", "status": "loading"},
    ]
    for tool in tools:
        chat.answer(toolFormerData=tool)
    chat.write()
    home.index()
    calls = home.turns(chat.id)[0].calls()
    assert [call.input for call in calls] == [{"path": "a.py"}, {"path": "a.py"}, "not JSON", None]
    assert [call.result for call in calls] == [
        ToolResult("x"),
        ToolResult("no", is_error=True),
        ToolResult('{"files": ["a.py"]}'),
        None,
    ]


def test_chat_of_2025_has_its_times_and_directory_in_other_fields(home: Home, folder: Path) -> None:
    chat = CursorChat(folder, workspaceIdentifier=None, createdAt=EPOCH_MS + 1)
    chat.prompt("hello", createdAt=None)
    chat.answer("thinking", createdAt=None, toolFormerData={"additionalData": {}})
    timing = {"clientStartTime": 1136746.9, "clientRpcSendTime": EPOCH_MS + 5}
    chat.answer("hi", createdAt=None, timingInfo=timing, lastTerminalCwd="/home/sam/src/lamp")
    chat.write()
    home.index()
    session = home.rows()[chat.id].session
    assert (session.cwd, session.started, session.ended) == (
        "/home/sam/src/lamp",
        EPOCH_MS + 1,
        EPOCH_MS + 5,
    )
    assert home.turns(chat.id)[0].calls() == []


def test_database_without_any_chat_is_no_problem(home: Home, folder: Path) -> None:
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "state.vscdb") as database:
        database.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
    database.close()
    assert home.index().troubles == []


def test_messages_that_cursor_emptied_are_skipped(home: Home, folder: Path) -> None:
    chat, draft = CursorChat(folder), CursorChat(folder, 2)
    chat.turn("hello", "hi")
    chat.turn("again", "hi")
    draft.write()
    chat.write()
    with sqlite3.connect(chat.path) as database:
        chat.put(database, f"bubbleId:{chat.id}:b7", None)
        chat.put(database, f"bubbleId:{chat.id}:b6", "no object")
        database.execute("DELETE FROM cursorDiskKV WHERE key LIKE '%:b8'")
    database.close()
    home.index()
    assert list(home.rows()) == [chat.id]
    assert home.prompts(chat.id) == ["hello"]


def test_chat_is_read_again_when_a_message_changes(home: Home, folder: Path) -> None:
    chat, other = CursorChat(folder), CursorChat(folder, 2)
    for one in (chat, other):
        one.turn("hello", "hi th")
        one.write()
    assert home.index().files_parsed == 2
    with sqlite3.connect(chat.path) as database:
        chat.put(database, f"bubbleId:{chat.id}:b8", {**chat.bubbles[1], "text": "hi there"})
    database.close()
    assert home.index().files_parsed == 1
    assert home.turns(chat.id)[0].assistant_texts() == ["hi there"]
    chat.bubbles[1]["text"] = "hi there"
    chat.turn("again", "hi")
    chat.write()
    home.index()
    assert home.prompts(chat.id) == ["hello", "again"]
    assert sorted(home.rows()) == sorted([chat.id, other.id])
    assert_same_as_fresh(home)


def test_sub_agent_names_its_parent(home: Home, folder: Path) -> None:
    parent = CursorChat(folder)
    parent.turn("hello", "hi")
    agent = CursorChat(folder, 2, subagentInfo={"parentComposerId": parent.id})
    agent.turn("find it", "found")
    for chat in (parent, agent):
        chat.write()
    home.index()
    session = home.rows()[agent.id].session
    assert (session.kind, session.parent) == ("subagent", parent.id)


def test_transcript_of_a_chat_that_is_in_the_database_is_left_out(home: Home, folder: Path) -> None:
    chat = CursorChat(folder)
    chat.turn("hello", "hi")
    chat.write()
    same, other = (CursorFile(home.directory / ".cursor", seed) for seed in (1, 2))
    same.path = same.path.parents[1] / chat.id / f"{chat.id}.jsonl"
    for file in (same, other):
        file.turn("hello from the transcript", "hi")
        file.write()
    home.index()
    assert sorted(home.rows()) == sorted([chat.id, other.id])
    assert home.prompts(chat.id) == ["hello"]


def test_damaged_database_deletes_nothing(home: Home, folder: Path) -> None:
    chat = CursorChat(folder)
    chat.turn("hello", "hi")
    chat.write()
    home.index()
    chat.path.write_bytes(b"damaged" * 1000)
    home.index()
    assert not home.rows()[chat.id].is_gone
    assert home.prompts(chat.id) == ["hello"]


def test_folder_of_an_extension_is_not_of_its_editor(tmp_path: Path) -> None:
    path = tmp_path / "extension" / "session.jsonl"
    path.parent.mkdir()
    path.write_text("")
    outer, inner = Root(str(tmp_path), "cursor"), Root(str(path.parent), "qwen")
    found = scan_paths([outer, inner], [str(path)])
    assert found is not None
    assert found.files[str(path)].source == "qwen"
