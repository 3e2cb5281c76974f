"""Sessions of Cline, and tasks of Roo Code and of Cline's earlier versions."""

import json
from pathlib import Path

import pytest

from ccgrep.model import Message, Note, Text, Thinking, ToolCall, ToolResult
from ccgrep.sources.cline_records import XmlCall, split_calls
from tests.helpers.agent_files import assert_survives_damage
from tests.helpers.cline_sessions import (
    CWD,
    ENVIRONMENT,
    MODEL,
    ClineSession,
    ClineTask,
    result,
    use,
)
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import EPOCH_MS


@pytest.fixture
def root(home: Home) -> Path:
    return home.directory / ".cline" / "data"


@pytest.fixture
def roo(home: Home) -> Path:
    storage = home.directory / ".config" / "Code" / "User" / "globalStorage"
    return storage / "rooveterinaryinc.roo-cline"


def rich_session(root: Path) -> ClineSession:
    """Return a session with every kind of block."""
    session = ClineSession(root, title="Lamp work")
    session.prompt("look at the lamp", {"type": "file", "path": "/a.py", "content": "print()"})
    thought = {"type": "thinking", "thinking": "It is dark."}
    session.answer(thought, "I will look.", use("t1", "run_commands", commands=["ls", "false"]))
    listed = {"query": "ls", "result": "lamp.py\n", "success": True}
    error = "Command exited with code 1"
    failed = {"query": "false", "result": f"[{error}]\n", "error": error, "success": False}
    session.add("user", result("t1", [listed, failed]), id="msg_x_tool_t1_tool_t1")
    session.answer(use("t2", "editor", path="/a.py", old_text="a", new_text="b"))
    session.add("user", result("t2", '{"query":"edit:/a.py","result":"Edited","success":true}'))
    session.answer(use("t3", "read_files", files=[{"path": "/no"}]))
    session.add("user", result("t3", [{"query": "/no", "result": "", "error": "ENOENT"}]))
    session.answer(use("t4", "attempt_completion", result="It is a lamp."))
    session.add(
        "user",
        "<mode_notice>The user switched to plan mode.</mode_notice>"
        '<user_input mode="plan">and now?</user_input>',
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    )
    session.answer("Now it shines.")
    session.add("user", '<user_command slash="tidy">Tidy everything up.</user_command>')
    shown = {"displayOnly": True, "displayRole": "error"}
    session.answer("no such thing", metadata=shown, metrics=None)
    return session


def test_session_is_read_whole(home: Home, root: Path) -> None:
    written = rich_session(root)
    written.write()
    home.index()
    session = home.rows()[written.id].session
    assert (session.source, session.kind, session.cwd) == ("cline", "main", CWD)
    assert (session.title, session.title_origin) == ("Lamp work", "client")
    assert (session.models, session.versions) == ((MODEL,), ("3.0.65",))
    assert session.unknown_types == {}
    assert home.prompts(written.id) == ["look at the lamp", "and now?", "/tidy"]
    first, second, third = home.turns(written.id)
    commands = ToolCall(
        "run_commands",
        {"commands": ["ls", "false"]},
        ToolResult("lamp.py\n\n[Command exited with code 1]\n", True),
    )
    edit = {"path": "/a.py", "old_text": "a", "new_text": "b"}
    files = {"files": [{"path": "/no"}]}
    assert first.steps == (
        Note("context", "/a.py\nprint()"),
        Message((Thinking("It is dark."), Text("I will look."), commands), MODEL),
        Message((ToolCall("editor", edit, ToolResult("Edited")),), MODEL),
        Message((ToolCall("read_files", files, ToolResult("ENOENT")),), MODEL),
        Message((Text("It is a lamp."),), MODEL),
    )
    assert [blob.size for blob in second.attached] == [2]
    assert third.steps == (Note("context", "Tidy everything up."), Note("error", "no such thing"))
    assert_same_as_fresh(home)


def test_cached_tokens_are_not_counted_as_input_again(home: Home, root: Path) -> None:
    session = ClineSession(root)
    session.turn("hello", "Hi.")
    session.write()
    home.index()
    (usage,) = home.manifest(session.id).entries[0].usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    assert counts == (10, 2, 300, 4)
    assert home.rows()[session.id].session.cost_usd == 0.25


def test_no_damage_makes_the_reader_fail(tmp_path: Path) -> None:
    session = rich_session(tmp_path)
    assert_survives_damage("cline", str(session.path), session.data)
    task = rich_task(tmp_path)
    task.write()
    assert_survives_damage("cline", str(task.path), task.data)


def test_bytes_are_archived_and_restored(home: Home, root: Path) -> None:
    session = rich_session(root)
    session.write()
    home.index()
    session.turn("one more", "Done.")
    path = session.write()
    data = path.read_bytes()
    home.index()
    assert list(home.rows()) == [session.id]
    path.unlink()
    home.index()
    done = home.run("restore", session.id)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == data


def test_results_whose_message_changes_its_id_leave_no_copy(home: Home, root: Path) -> None:
    session = rich_session(root)
    session.write()
    home.index()
    session.messages[2]["id"] += "_tool_t1"
    session.turn("resumed", "Yes.")
    session.write()
    home.index()
    assert list(home.rows()) == [session.id]
    assert_same_as_fresh(home)


def test_fork_names_its_origin_and_counts_its_tokens_once(home: Home, root: Path) -> None:
    origin = ClineSession(root, 1)
    origin.turn("shared", "Yes.")
    fork = ClineSession(root, 2, fork={"forkedFromSessionId": origin.id}, title="shared")
    fork.messages = list(origin.messages)
    fork.turn("own", "Mine.")
    origin.write()
    fork.write()
    home.index()
    session = home.rows()[fork.id].session
    assert (session.forked_from, session.title_origin) == (origin.id, "prompt")
    first, second = (home.manifest(one.id).entries[0] for one in (origin, fork))
    assert (first.turn, first.usage) == (second.turn, second.usage)


def test_sub_agent_has_a_file_in_the_folder_of_its_parent(home: Home, root: Path) -> None:
    parent, child = ClineSession(root), ClineSession(root, stem="agent_1")
    parent.turn("delegate", "Done.")
    child.turn("count the lamps", "Seven.")
    child.write()
    parent.write()
    home.index()
    session = home.rows()[f"{parent.id}__agent_1"].session
    assert (session.kind, session.parent, session.agent) == ("subagent", parent.id, "agent_1")


# Tasks: Roo Code, and Cline before its current format


def rich_task(root: Path) -> ClineTask:
    """Return a task of the time when calls were XML in the text."""
    task = ClineTask(root)
    task.prompt("look at the lamp")
    task.answer(
        "<thinking>\nIt is dark.\n</thinking>\n\nI will look.\n\n"
        "<execute_command>\n<command>ls</command>\n<requires_approval>false</requires_approval>\n"
        "</execute_command>"
    )
    task.user(
        "[execute_command for 'ls'] Result:",
        "Command executed.\nOutput:\nlamp.py",
        ENVIRONMENT,
        shown="text",
    )
    task.answer("<read_file>\n<path>no.py</path>\n</read_file>")
    failure = "The tool execution failed with the following error:\nENOENT"
    task.user(f"[read_file for 'no.py'] Result:\n\n{failure}", ENVIRONMENT, shown="text")
    task.answer("<attempt_completion>\n<result>\nIt is a lamp.\n</result>\n</attempt_completion>")
    task.user(
        "[attempt_completion] Result:",
        "The user has provided feedback on the results.\n<feedback>\nand now?\n</feedback>",
        ENVIRONMENT,
    )
    task.answer("Now it shines.")
    return task


def test_task_with_calls_in_its_text(home: Home, root: Path) -> None:
    task = rich_task(root)
    task.write()
    home.index()
    session = home.rows()[task.id].session
    assert (session.source, session.cwd, session.models) == ("cline", CWD, (MODEL,))
    assert (session.input_tokens, session.output_tokens, session.cost_usd) == (40, 8, 1.0)
    assert home.prompts(task.id) == ["look at the lamp", "and now?"]
    first, second = home.turns(task.id)
    listed = {"command": "ls", "requires_approval": "false"}
    failure = "The tool execution failed with the following error:\nENOENT"
    assert first.steps == (
        Message(
            (
                Thinking("It is dark."),
                Text("I will look."),
                ToolCall(
                    "execute_command", listed, ToolResult("Command executed.\nOutput:\nlamp.py")
                ),
            ),
            MODEL,
        ),
        Message((ToolCall("read_file", {"path": "no.py"}, ToolResult(failure, True)),), MODEL),
        Message((Text("It is a lamp."),), MODEL),
    )
    assert second.assistant_texts() == ["Now it shines."]
    started = [entry.started for entry in home.manifest(task.id).entries]
    assert started == [EPOCH_MS + 1_001_000, EPOCH_MS + 1_007_000]
    assert_same_as_fresh(home)


def test_task_of_roo_code_with_calls_of_the_api(home: Home, roo: Path) -> None:
    task = ClineTask(roo)
    task.prompt("look at the lamp")
    task.answer(use("t1", "read_file", path="lamp.py"), reasoning_content="Dark.", ts=EPOCH_MS + 5)
    task.user(result("t1", "1 | lamp"), ENVIRONMENT, ts=EPOCH_MS + 6, shown="text")
    task.answer(use("t2", "attempt_completion", result="A lamp."), ts=EPOCH_MS + 7)
    task.user(result("t2", "<user_message>\nthanks\n</user_message>"), ENVIRONMENT, ts=EPOCH_MS + 8)
    task.user("Conversation so far.", isSummary=True, shown="text")
    task.item = {"id": task.id, "workspace": "/home/sam/src/api", "parentTaskId": "1700000000000"}
    task.write()
    home.index()
    session = home.rows()[task.id].session
    assert (session.source, session.cwd) == ("roo", "/home/sam/src/api")
    assert (session.kind, session.parent) == ("subagent", "1700000000000")
    assert home.prompts(task.id) == ["look at the lamp", "thanks"]
    first, second = home.turns(task.id)
    assert first.thinking_texts() == ["Dark."]
    assert first.calls() == [ToolCall("read_file", {"path": "lamp.py"}, ToolResult("1 | lamp"))]
    assert first.assistant_texts() == ["A lamp."]
    assert second.steps == (Note("summary", "Conversation so far."),)


def test_calls_of_the_api_whose_results_are_texts(home: Home, root: Path) -> None:
    task = ClineTask(root)
    task.prompt("look at the lamps")
    lamps = [use(f"t{n}", "read_file", path=f"{n}.py") for n in (1, 2)]
    command = use("t3", "execute_command", command="ls\nls lamps")
    task.answer(*lamps, command, use("t4", "use_subagents"))
    refusal = "Tool [read_file] was not executed because a tool has already been used."
    task.user(
        "[read_file for '1.py'] Result:\n1 | lamp",
        refusal,
        "[execute_command for 'ls\nls lamps'] Result:\nlamp.py",
        "[subagents] Result:\nTotal: 1",
        "\n\n\t# TODO LIST UPDATE REQUIRED - include it",
        ENVIRONMENT,
    )
    task.answer("Lamps.")
    task.write()
    home.index()
    (turn,) = home.turns(task.id)
    results = [call.result for call in turn.calls()]
    assert results == [
        ToolResult("1 | lamp"),
        ToolResult(refusal, True),
        ToolResult("lamp.py"),
        ToolResult("Total: 1"),
    ]
    assert Note("context", "# TODO LIST UPDATE REQUIRED - include it") in turn.steps


def test_tokens_model_and_version_of_a_task_without_what_was_displayed(
    home: Home, root: Path
) -> None:
    task = ClineTask(root)
    task.prompt("look at the lamp")
    tokens = {"prompt": 10, "completion": 2, "cached": 300}
    task.answer("A lamp.", metrics={"tokens": tokens}, modelInfo={"modelId": "wombat-1"})
    task.shown = []
    task.write()
    history = [{"cline_version": "3.51.0"}, "song", {"cline_version": "3.51.0"}, {}]
    (task.folder / "task_metadata.json").write_text(json.dumps({"environment_history": history}))
    home.index()
    session = home.rows()[task.id].session
    assert (session.input_tokens, session.output_tokens) == (10, 2)
    assert (session.models, session.versions) == (("wombat-1",), ("3.51.0",))


def test_requests_that_match_no_answer_are_counted_as_a_whole(home: Home, root: Path) -> None:
    task = rich_task(root)
    task.shown.insert(1, task.shown[1])  # a request that failed after it had cost something
    task.write()
    home.index()
    assert home.rows()[task.id].session.input_tokens == 50


def test_task_without_what_was_displayed(home: Home, root: Path) -> None:
    task = rich_task(root)
    task.write()
    (task.folder / "ui_messages.json").write_text("not JSON")
    home.index()
    assert home.prompts(task.id) == ["look at the lamp", "and now?"]


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("just text", ["just text"]),
        ("a < b and <b>bold</b>", ["a < b and <b>bold</b>"]),
        (
            "<write_to_file>\n<path>a.html</path>\n<content>\n<p>x</p>\n</content>\n</write_to_file>",
            [XmlCall("write_to_file", {"path": "a.html", "content": "<p>x</p>"})],
        ),
        (
            "<write_to_file>\n<path>a</path>\n<content>\n</content> in content\n</content>\n"
            "</write_to_file>\nafter",
            [XmlCall("write_to_file", {"path": "a", "content": "</content> in content"}), "after"],
        ),
        (
            "<read_file>\n<path>a</path>\n</read_file>\n<read_file>\n<path>b</path>\n</read_file>",
            [XmlCall("read_file", {"path": "a"}), XmlCall("read_file", {"path": "b"})],
        ),
        ("<execute_command>\n<command>cut o", [XmlCall("execute_command", {"command": "cut o"})]),
    ],
)
def test_calls_in_the_text_of_an_answer(answer: str, parts: list[str | XmlCall]) -> None:
    assert split_calls(answer) == parts
