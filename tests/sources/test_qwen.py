"""The reader of Qwen Code, one test for each trap in its transcripts."""

import json
from pathlib import Path

import pytest

from tests.helpers.google_files import GeminiFile, QwenFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.source_reading import ReadSession, read_session


@pytest.fixture
def file(tmp_path: Path) -> QwenFile:
    return QwenFile(tmp_path / ".qwen")


def read(file: QwenFile) -> ReadSession:
    return read_session("qwen", file.write(), file.path.parents[3])


def test_turn_has_everything(file: QwenFile) -> None:
    file.prompt("where is the wombat")
    file.answer({"text": "digging", "thought": True}, "let me look")
    file.call("run_shell_command", {"command": "ls"}, {"output": "burrow\nExit Code: 0"})
    file.answer("in its burrow")
    found = read(file)
    assert found.prompts == ["where is the wombat"]
    assert found.texts == [["let me look", "in its burrow"]]
    assert found.thoughts == ["digging"]
    (call,) = found.calls
    assert (call.name, call.input) == ("run_shell_command", {"command": "ls"})
    assert call.result is not None and not call.result.is_error
    session = found.session
    assert (session.id, session.cwd, session.branch) == (file.id, file.cwd, "main")
    assert (session.models, session.versions) == (("qwen3-coder-plus",), ("0.24.4",))
    usage = found.entries[0].usage[0]
    assert (usage.input, usage.cache_read, usage.output) == (100, 10, 5)
    assert session.unknown_types == {}


def test_failed_calls_are_errors(file: QwenFile) -> None:
    file.prompt("hello")
    file.call("run_shell_command", {}, {"output": "Output: x\nExit Code: 3\nSignal: 0"})
    file.call("read_file", {}, {"error": "File not found"}, "error")
    results = [call.result for call in read(file).calls if call.result]
    assert [result.is_error for result in results] == [True, True]
    assert results[1].text == "File not found"


def test_rewind_rolls_back_what_the_next_record_does_not_follow(file: QwenFile) -> None:
    file.turn("hello", "hi")
    file.system("ui_telemetry", uiEvent={})
    before = file.last_uuid
    file.turn("take this back", "if you insist")
    file.last_uuid = before
    file.system("rewind", truncatedCount=1)
    file.turn("something else", "fine")
    found = read(file)
    assert found.prompts == ["hello", "take this back", "something else"]
    assert found.rolled_back == ["take this back"]
    file.last_uuid = None
    file.system("rewind", truncatedCount=2)
    assert read(file).rolled_back == found.prompts


def test_messages_that_nobody_typed_are_notes(file: QwenFile) -> None:
    file.turn("hello", "hi")
    file.system("slash_command", phase="invocation", rawCommand="/about")
    file.system("slash_command", phase="result", rawCommand="/about", outputHistoryItems=[])
    file.prompt("<task-notification>done</task-notification>", subtype="notification")
    thanks = {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}
    summary = {"role": "user", "parts": [{"text": "they said hello"}]}
    file.system("chat_compression", compressedHistory=[summary, thanks], info={})
    file.system("sang", song="la la")
    found = read(file)
    assert found.prompts == ["hello"]
    assert found.notes == [
        ("command", "/about"),
        ("notification", "<task-notification>done</task-notification>"),
        ("summary", "they said hello"),
    ]
    assert found.session.unknown_types == {"system/sang": 1}


def test_prompt_is_what_the_user_typed(file: QwenFile) -> None:
    file.system("at_command", filesRead=["a.md"], userText="read @a.md")
    added = ("\n--- Content from referenced files ---", "the notes", "\n--- End of content ---")
    file.prompt("read @a.md", *added)
    file.answer("reading")
    payload = {"displayText": "and hurry"}
    file.prompt("user said: and hurry", subtype="mid_turn_user_message", systemPayload=payload)
    found = read(file)
    assert found.prompts == ["read @a.md", "and hurry"]
    assert found.notes == [("context", "the notes")]


def test_prompt_that_the_client_expands_and_hooks_extend(file: QwenFile) -> None:
    hooked = "<qwen:user-prompt-submit-context>\nit rains\n</qwen:user-prompt-submit-context>"
    shown = {"displayText": "/tidy the desk", "hookContext": "it rains"}
    file.prompt("Tidy up: the desk.", hooked, systemPayload=shown)
    file.prompt("thanks", hooked)
    found = read(file)
    assert found.prompts == ["/tidy the desk", "thanks"]
    notes = ["Tidy up: the desk.", hooked, hooked]
    assert found.notes == [("context", text) for text in notes]


def test_title_is_the_last_one_given(file: QwenFile) -> None:
    file.turn("hello", "hi")
    file.system("custom_title", customTitle="Greetings", titleSource="auto")
    file.system("custom_title", customTitle="Wombats", titleSource="manual")
    assert read(file).session.title == "Wombats"


def test_sub_agent_is_described_beside_its_transcript(file: QwenFile) -> None:
    agent = QwenFile(file.path.parents[3], 2, parent=file.id)
    agent.prompt("find it")
    agent.answer("found", model=None)
    path = agent.write()
    meta = {"agentType": "explore", "description": "Find the wombat", "model": "qwen3-max"}
    path.with_suffix(".meta.json").write_text(json.dumps(meta))
    found = read_session("qwen", path, file.path.parents[3])
    session = found.session
    assert (session.id, session.kind, session.parent) == (agent.id, "subagent", file.id)
    assert (session.agent, session.title) == ("explore", "Find the wombat")
    assert found.turns[0].messages()[0].model == "qwen3-max"


def test_session_that_another_one_started_has_a_parent(file: QwenFile) -> None:
    file.system("parent_session", parentSessionId="11111111-2222-4333-8444-555555555555")
    file.turn("hello", "hi")
    session = read(file).session
    assert session.parent == "11111111-2222-4333-8444-555555555555"
    assert session.kind == "subagent"


def test_large_output_is_read_from_its_file(file: QwenFile) -> None:
    root = file.path.parents[3]
    spill = root / "tmp" / ("a" * 64) / "run_shell_command_1.output"
    spill.parent.mkdir(parents=True)
    spill.write_text("wombat\n" * 100)
    output = (
        "Tool output was too large and has been truncated.\n"
        f"The full output has been saved to: {spill}\nTo read it …\nwombat"
    )
    file.prompt("print a lot")
    file.call("run_shell_command", {}, {"output": output})
    (call,) = read(file).calls
    assert call.result is not None and call.result.text == "wombat\n" * 100


def test_recording_of_an_early_version_is_read_like_gemini_s(home: Home) -> None:
    file = GeminiFile(home.directory / ".qwen", project="b" * 64)
    file.header()
    file.turn("hello", "hi", "ls", "nothing")
    file.write_document()
    home.index()
    session = home.rows()[file.id].session
    assert (session.source, session.turns) == ("qwen", 1)


def test_deleted_session_is_restored_and_resumed(home: Home) -> None:
    cwd = home.directory / "shop"
    cwd.mkdir()
    file = QwenFile(home.directory / ".qwen", cwd=str(cwd))
    file.turn("hello", "hi", "ls", "nothing")
    file.write()
    home.index()
    file.turn("again", "hi")
    content = file.append().read_bytes()
    home.index()
    assert_same_as_fresh(home)
    assert stored_bytes(home.store, home.rows()[file.id].files[0]) == content
    assert f"qwen --resume {file.id}" in home.run("resume", file.id).stdout
    file.path.unlink()
    home.index()
    assert home.run("restore", file.id).returncode == 0
    assert file.path.read_bytes() == content
