"""The reader of Gemini CLI, one test for each trap in its recordings."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.helpers.google_files import GeminiFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.source_reading import ReadSession, read_session

SETTING = (
    "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /src/shop\n"
)


@pytest.fixture
def file(tmp_path: Path) -> GeminiFile:
    file = GeminiFile(tmp_path / ".gemini")
    file.header()
    file.set(messages=[file.make("user", [{"text": SETTING}])])
    return file


def read(file: GeminiFile) -> ReadSession:
    return read_session("gemini", file.write(), file.root)


def test_message_that_is_written_again_is_read_once(file: GeminiFile) -> None:
    file.prompt("where is the wombat")
    file.call("run_shell_command", {"command": "ls"}, {"output": "burrow"}, "let me look")
    file.answer("in its burrow", thoughts=[{"subject": "Digging", "description": "so deep"}])
    found = read(file)
    assert found.prompts == ["where is the wombat"]
    assert found.texts == [["let me look", "in its burrow"]]
    assert found.thoughts == ["**Digging**\nso deep"]
    (call,) = found.calls
    assert (call.name, call.input) == ("run_shell_command", {"command": "ls"})
    assert call.result is not None and call.result.text == "burrow"
    assert found.session.id == file.id
    assert found.session.models == ("gemini-2.5-pro",)
    assert found.session.unknown_types == {}


def test_tokens_are_counted_once_without_the_cache_and_with_thoughts(file: GeminiFile) -> None:
    file.prompt("hello")
    file.call("glob", {}, {"output": ""})
    (usage,) = read(file).entries[0].usage
    assert (usage.input, usage.cache_read, usage.output) == (100, 10, 7)


def test_document_of_older_versions_has_the_same_turns(file: GeminiFile) -> None:
    file.turn("hello", "hi", "ls", "nothing")
    file.prompt("again")
    file.set(summary="Two greetings")
    log = read(file)
    document = read_session("gemini", file.write_document(), file.root)
    assert document.turns == log.turns
    assert document.session.title == log.session.title == "Two greetings"


def test_what_the_model_sees_after_a_compression_is_not_the_conversation(file: GeminiFile) -> None:
    file.turn("first question", "first answer")
    file.turn("second question", "second answer", "ls", "nothing")
    call = {"functionCall": {"id": "new", "name": "run_shell_command", "args": {"command": "ls"}}}
    kept = file.make("user", [{"text": "second question"}])
    file.set(
        messages=[
            file.make("user", [{"text": "<state_snapshot>they talked</state_snapshot>"}]),
            file.make("gemini", [{"text": "Got it. Thanks for the additional context!"}]),
            kept,
            file.make("gemini", [{"text": "second answer"}, call]),
        ]
    )
    file.turn("third question", "third answer")
    found = read(file)
    assert found.prompts == ["first question", "second question", "third question"]
    assert found.texts == [["first answer"], ["second answer"], ["third answer"]]
    assert found.notes == [("summary", "<state_snapshot>they talked</state_snapshot>")]
    file.rewind_to(kept["id"])
    assert read(file).rolled_back == ["second question", "third question"]


def test_messages_that_only_the_metadata_has_are_read(file: GeminiFile) -> None:
    messages = [file.make("user", [{"text": "hello"}]), file.make("gemini", [{"text": "hi"}])]
    file.set(messages=messages)
    messages += [file.make("user", [{"text": "again"}])]
    file.set(messages=messages)
    found = read(file)
    assert (found.prompts, found.texts) == (["hello", "again"], [["hi"], []])


def test_rewind_rolls_back_and_an_empty_context_does_not(file: GeminiFile) -> None:
    file.turn("hello", "hi")
    taken_back = file.prompt("take this back")
    file.answer("if you insist")
    file.set(messages=[])
    file.rewind_to(taken_back["id"])
    file.rewind_to("unknown")
    file.turn("something else", "fine")
    found = read(file)
    assert found.prompts == ["hello", "take this back", "something else"]
    assert found.rolled_back == ["take this back"]


def test_prompt_is_what_the_user_typed(file: GeminiFile) -> None:
    referenced = [
        {"text": "read @notes.md"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "\nContent from @notes.md:\n"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0K"}},
        {"text": "the notes"},
        {"text": "\n--- End of content ---"},
    ]
    file.add("user", referenced, displayContent=[{"text": "read @notes.md"}])
    file.add("user", referenced)
    hooked = {"text": "<hook_context>injected</hook_context>"}
    file.add("user", [{"text": "hooked"}, hooked])
    found = read(file)
    assert found.prompts == ["read @notes.md", "read @notes.md", "hooked"]
    assert [len(turn.attached) for turn in found.turns] == [1, 1, 0]
    added = [("context", "Content from @notes.md:"), ("context", "the notes")]
    assert found.notes == [*added, *added, ("context", hooked["text"])]


def test_failed_calls_are_errors(file: GeminiFile) -> None:
    file.prompt("hello")
    output = "<untrusted_context>\nOutput: x\nExit Code: 3\n</untrusted_context>"
    file.call("run_shell_command", {}, {"output": output})
    file.call("read_file", {}, {"error": "File not found"}, status="error")
    file.call("glob", {}, {"output": "Exit Code: 0"})
    file.call("ask", {}, None, status="cancelled", result=None, resultDisplay="no thanks")
    results = [call.result for call in read(file).calls if call.result]
    assert [result.is_error for result in results] == [True, True, False, True]
    assert [result.text for result in results[1:]] == [
        "File not found",
        "Exit Code: 0",
        "no thanks",
    ]


def test_notices_are_notes(file: GeminiFile) -> None:
    file.turn("hello", "hi")
    file.add("error", "too many wombats")
    file.add("info", "Request cancelled.")
    file.add("warning", [{"text": "careful"}])
    file.add("song", "la la")
    found = read(file)
    assert found.notes == [
        ("error", "too many wombats"),
        ("interrupted", "Request cancelled."),
        ("notification", "careful"),
    ]
    assert found.session.unknown_types == {"song": 1}


def test_directory_is_that_of_the_project(file: GeminiFile) -> None:
    file.turn("hello", "hi")
    assert read(file).session.cwd == "/src/shop"
    projects = file.root / "projects.json"
    projects.write_text(json.dumps({"projects": {"/other": "other", "/by/slug": "shop"}}))
    assert read(file).session.cwd == "/by/slug"
    projects.write_text(json.dumps({"projects": {"/by/hash": "elsewhere"}}))
    header = file.records[0]
    assert isinstance(header, dict)
    header["projectHash"] = sha256(b"/by/hash").hexdigest()
    assert read(file).session.cwd == "/by/hash"
    (file.folder / ".project_root").write_text("/by/file\n")
    assert read(file).session.cwd == "/by/file"


def test_sub_agent_is_in_the_folder_of_its_session(file: GeminiFile) -> None:
    agent = GeminiFile(file.root, 2, parent=file.id)
    agent.header(kind="subagent")
    agent.turn("find it", "found")
    session = read_session("gemini", agent.write(), file.root).session
    assert (session.id, session.kind, session.parent) == (agent.id, "subagent", file.id)


def test_large_output_is_read_from_its_file(home: Home) -> None:
    file = GeminiFile(home.directory / ".gemini")
    file.header()
    file.prompt("print a lot")
    spill = file.folder / "tool-outputs" / f"session-{file.id}" / "run_1.txt"
    start = f"Output too large. Showing first 8 characters. For full output see: {spill}\nwombat"
    file.call("run_shell_command", {"command": "yes"}, {"output": start})
    spill.parent.mkdir(parents=True)
    spill.write_text("wombat\n" * 100)
    file.write()
    home.index()
    (call,) = home.turns(file.id)[0].calls()
    assert call.result is not None and call.result.text == "wombat\n" * 100
    spill.unlink()
    file.answer("a lot indeed")
    file.append()
    home.index()
    (turn,) = home.turns(file.id)
    assert turn.calls() == [call]
    assert turn.assistant_texts() == ["a lot indeed"]


def test_output_outside_of_the_folder_is_not_read(file: GeminiFile) -> None:
    secret = file.root.parent / "secret.txt"
    secret.write_text("secret")
    for path in (secret, f"{file.root}/tmp/../secret.txt", f"{file.root}/tmp/.ssh/secret.txt"):
        file.prompt("print")
        start = f"Output too large. Showing first 8 characters. For full output see: {path}\nwombat"
        file.call("run_shell_command", {}, {"output": start})
    for call in read(file).calls:
        assert call.result is not None and call.result.text.startswith("Output too large")


def test_recording_that_becomes_a_log_stays_one_session(home: Home) -> None:
    file = GeminiFile(home.directory / ".gemini")
    file.header()
    file.turn("hello", "hi", "ls", "nothing")
    file.write_document()
    home.index()
    file.turn("again", "hi")
    file.write()
    home.index()
    assert home.prompts(file.id) == ["hello", "again"]
    assert list(home.rows()) == [file.id]


def test_restart_leaves_a_second_file_without_turns(home: Home) -> None:
    file = GeminiFile(home.directory / ".gemini")
    file.header()
    file.turn("hello", "hi")
    file.write()
    second = GeminiFile(file.root)
    second.path = file.path.with_name(f"session-2026-09-21T11-00-{file.id[:8]}.jsonl")
    second.header()
    second.set(messages=[second.make("user", [{"text": SETTING}])])
    second.write()
    (file.folder / ".project_root").write_text("/src/shop")
    home.index()
    assert home.prompts(file.id) == ["hello"]
    file.header()
    file.turn("again", "hi")
    file.append()
    home.index()
    assert home.prompts(file.id) == ["hello", "again"]
    assert list(home.rows()) == [file.id]
    assert_same_as_fresh(home)


def test_conversations_with_an_editor_that_share_an_id_are_sessions_of_their_own(
    home: Home,
) -> None:
    for seed, project in ((1, "shop"), (1, "zoo"), (2, "zoo")):
        file = GeminiFile(home.directory / ".gemini", seed, project)
        file.header(sessionId="a2a-server")
        file.turn(f"hello {project} {seed}", "hi")
        file.write()
    home.index()
    prompts = [home.prompts(id) for id in home.rows()]
    assert sorted(prompts) == [["hello shop 1"], ["hello zoo 1"], ["hello zoo 2"]]
    assert not any("~" in id for id in home.rows())
    assert "ccgrep made up this id" in home.run("resume", next(iter(home.rows()))).stderr


def test_deleted_recordings_are_restored_and_resumed(home: Home) -> None:
    cwd = home.directory / "shop"
    cwd.mkdir()
    file, old = (GeminiFile(home.directory / ".gemini", seed) for seed in (1, 2))
    for one in (file, old):
        one.header()
        one.turn(f"hello {one.id}", "hi", "ls", "nothing")
    (file.folder).mkdir(parents=True)
    (file.folder / ".project_root").write_text(str(cwd))
    paths = {file.id: file.write(), old.id: old.write_document()}
    home.index()
    for id, path in paths.items():
        content = path.read_bytes()
        assert stored_bytes(home.store, home.rows()[id].files[0]) == content
        assert f"gemini --resume {id}" in home.run("resume", id).stdout
        path.unlink()
        home.index()
        assert home.run("restore", id).returncode == 0
        assert path.read_bytes() == content
