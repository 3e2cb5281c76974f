"""`ccgrep resume --with` writes a new session for another client."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ccgrep.model import Blob, Message, Note, Text, Thinking, ToolCall, ToolResult, Turn
from ccgrep.rebuild.translate import translate_turn
from tests.helpers.homes import Home


def resume(home: Home, id: str, client: str) -> str:
    """Hand a session over, and return the id of the new session."""
    done = home.run("resume", id, "--with", client)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def project(home: Home) -> Path:
    directory = home.directory / "shop"
    directory.mkdir()
    return directory


def test_codex_gets_the_history_of_a_claude_session(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.prompt("why does it fail?")
    file.result(file.call("Bash", {"command": "make test"}), "1 failed")
    file.result(file.call("Grep", {"pattern": "fail"}), "test.py:1")
    file.answer("the test is wrong")
    file.write()
    before = file.path.read_bytes()
    home.index()
    new = resume(home, file.id, "codex")
    (path,) = home.codex_sessions.rglob(f"*{new}.jsonl")
    items = [record["payload"] for record in records(path) if record["type"] == "response_item"]
    calls = [item for item in items if item["type"] == "function_call"]
    assert [(item["name"], item["arguments"]) for item in calls] == [
        ("exec_command", '{"cmd":"make test"}')
    ]
    texts = [item["content"][0]["text"] for item in items if item["type"] == "message"]
    assert texts[0] == "why does it fail?"
    assert texts[-1] == "the test is wrong"
    assert "Grep" in texts[1] and "test.py:1" in texts[1]
    assert file.path.read_bytes() == before


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_new_session_shares_its_turns_and_names_its_origin(
    home: Home, project: Path, client: str
) -> None:
    file = home.claude(cwd=str(project))
    file.turn("one", "first")
    file.turn("two", "second")
    file.write()
    home.index()
    new = resume(home, file.id, client)
    home.index()
    old_turns = [entry.turn for entry in home.manifest(file.id).entries]
    assert [entry.turn for entry in home.manifest(new).entries] == old_turns
    assert home.rows()[new].session.forked_from == file.id
    listed = home.json("list", "--tree")["sessions"]
    assert [(one["id"], one["depth"]) for one in listed] == [(file.id, 0), (new, 1)]


IMAGES = [b"\x89PNG\r\n\x1a\n" + bytes([number]) * 60 for number in (1, 2)]
URLS = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in IMAGES]
BLOCKS = [
    {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": url.partition(",")[2]},
    }
    for url in URLS
]


def test_codex_gets_the_images_of_prompts_and_outputs(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.prompt([{"type": "text", "text": "what is this?"}, BLOCKS[0]])
    file.result(file.call("Read", {"file_path": "/a.png"}), [BLOCKS[1]])
    file.answer("a zebra")
    file.write()
    home.index()
    new = resume(home, file.id, "codex")
    (path,) = home.codex_sessions.rglob(f"*{new}.jsonl")
    items = [record["payload"] for record in records(path) if record["type"] == "response_item"]
    images = [{"type": "input_image", "image_url": url} for url in URLS]
    assert items[0]["content"] == [{"type": "input_text", "text": "what is this?"}, images[0]]
    assert (items[1]["name"], items[1]["arguments"]) == ("view_image", '{"path":"/a.png"}')
    assert items[2]["output"] == [images[1]]
    home.index()
    old_turns = [entry.turn for entry in home.manifest(file.id).entries]
    assert [entry.turn for entry in home.manifest(new).entries] == old_turns


def test_claude_gets_the_images_of_prompts_and_outputs(home: Home, project: Path) -> None:
    file = home.codex()
    file.meta(cwd=str(project))
    image, picture = ({"type": "input_image", "image_url": url} for url in URLS)
    text = {"type": "input_text", "text": "what is this?"}
    file.item("message", role="user", content=[text, image])
    call = {"name": "view_image", "arguments": '{"path":"/a.png"}', "call_id": "c1"}
    file.item("function_call", **call)
    file.item("function_call_output", call_id="c1", output=[picture])
    file.answer("a zebra")
    file.write()
    home.index()
    new = resume(home, file.id, "claude")
    (path,) = home.projects.rglob(f"{new}.jsonl")
    messages = [one["message"]["content"] for one in records(path) if "message" in one]
    contents = [one for one in messages if one[0]["type"] != "text" or one[-1]["type"] == "image"]
    assert contents[0] == [{"type": "text", "text": "what is this?"}, BLOCKS[0]]
    assert (contents[1][0]["name"], contents[1][0]["input"]) == ("Read", {"file_path": "/a.png"})
    assert contents[2][0]["content"] == [BLOCKS[1]]
    home.index()
    old_turns = [entry.turn for entry in home.manifest(file.id).entries]
    assert [entry.turn for entry in home.manifest(new).entries] == old_turns


def test_image_of_another_tool_is_described_in_the_text() -> None:
    blob = Blob("image/png", 68, "ab" * 32)
    call = ToolCall("mcp__browser__screenshot", {}, ToolResult("", False, (blob,)))
    turn = translate_turn(Turn("look", (), (Message((call,)),)), "codex")
    assert turn.assistant_texts()[0].endswith("[It answered]\n[image/png, 68 bytes, was left out]")


def test_image_that_is_not_stored_is_described(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.prompt([{"type": "text", "text": "what is this?"}, BLOCKS[0]])
    file.answer("a zebra")
    file.write()
    home.run("index", env={"CCGREP_KEEP": "turns"})
    new = resume(home, file.id, "codex")
    (path,) = home.codex_sessions.rglob(f"*{new}.jsonl")
    assert "[image/png, 68 bytes, was left out]" in path.read_text()


def test_turns_since_the_last_index_are_handed_over(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.turn("one", "first")
    file.write()
    home.index()
    file.turn("two", "second")
    file.append()
    new = resume(home, file.id, "codex")
    home.index()
    assert home.prompts(new) == ["one", "two"]


def test_missing_client_is_an_error(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.turn("one", "first")
    file.write()
    home.index()
    shutil.rmtree(home.codex_sessions.parent)
    done = home.run("resume", file.id, "--with", "codex")
    assert (done.returncode, done.stdout) == (1, "")
    assert "start `codex` once" in done.stderr


def test_same_hand_over_is_reused_until_someone_continues_it(home: Home, project: Path) -> None:
    file = home.claude(cwd=str(project))
    file.turn("one", "first")
    file.write()
    home.index()
    new = resume(home, file.id, "codex")
    assert resume(home, file.id, "codex") == new
    (path,) = home.codex_sessions.rglob(f"*{new}.jsonl")
    with path.open("a") as transcript:
        transcript.write('{"type":"event_msg","payload":{}}\n')
    assert resume(home, file.id, "codex") != new


def test_prompt_only_session_is_an_error(home: Home, project: Path) -> None:
    line = {"display": "lost prompt", "timestamp": 1, "project": str(project), "sessionId": "s" * 8}
    (home.directory / ".claude" / "history.jsonl").write_text(json.dumps(line) + "\n")
    home.index()
    done = home.run("resume", "ssssssss", "--with", "codex")
    assert done.returncode == 1
    assert "only its prompts are known" in done.stderr


PATCH = """*** Begin Patch
*** Add File: new.md
+one
+two
*** Update File: old.md
@@
 same
-before
+after
*** End Patch"""


def call(name: str, input: Any) -> Turn:
    return Turn("do it", steps=(Message((ToolCall(name, input, ToolResult("ok")),)),))


def parts(turn: Turn) -> list[Any]:
    return [(part.name, part.input) for part in turn.calls()]


def test_commands_and_edits_translate_to_claude() -> None:
    shell = {"command": ["bash", "-lc", "ls | wc"], "workdir": "/a b"}
    assert parts(translate_turn(call("shell", shell), "claude_code")) == [
        ("Bash", {"command": "cd '/a b' && ls | wc"})
    ]
    assert parts(translate_turn(call("apply_patch", PATCH), "claude_code")) == [
        ("Write", {"file_path": "new.md", "content": "one\ntwo\n"}),
        (
            "Edit",
            {"file_path": "old.md", "old_string": "same\nbefore", "new_string": "same\nafter"},
        ),
    ]


def test_commands_and_edits_translate_to_codex() -> None:
    edit = {"file_path": "/a", "old_string": "x\ny", "new_string": "z"}
    assert parts(translate_turn(call("Edit", edit), "codex")) == [
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: /a\n@@\n-x\n-y\n+z\n*** End Patch",
        )
    ]
    write = {"file_path": "/a", "content": "x\n"}
    assert parts(translate_turn(call("Write", write), "codex")) == [
        ("apply_patch", "*** Begin Patch\n*** Add File: /a\n+x\n*** End Patch")
    ]


@pytest.mark.parametrize(
    "patch",
    ["*** Begin Patch\n*** Delete File: a\n*** End Patch", "no patch", "", {"changes": []}, None],
)
def test_other_patches_become_text(patch: Any) -> None:
    turn = translate_turn(call("apply_patch", patch), "claude_code")
    assert turn.calls() == []
    assert "apply_patch" in turn.assistant_texts()[0]


def test_notes_and_texts_are_not_translated() -> None:
    steps = (Note("context", "a file"), Message((Thinking("hm"), Text("yes"))))
    assert translate_turn(Turn("p", steps=steps), "codex").steps == steps


@pytest.mark.parametrize("tool", ["bash", "run_shell_command", "run_in_terminal", "Shell"])
def test_commands_of_other_agents_stay_commands(tool: str) -> None:
    call = ToolCall(tool, {"command": "make test"}, ToolResult("1 failed"))
    turn = Turn("why", (), (Message((call,)),))
    (claude,) = translate_turn(turn, "claude_code").calls()
    assert (claude.name, claude.input) == ("Bash", {"command": "make test"})
    (codex,) = translate_turn(turn, "codex").calls()
    assert (codex.name, codex.input) == ("exec_command", {"cmd": "make test"})
    assert claude.result == codex.result == call.result
