"""Sessions of Pi and oh-my-pi."""

import json
from pathlib import Path

import pytest

from ccgrep.model import Blob, Message, Note, Text, Thinking, ToolCall, ToolResult
from ccgrep.sources.pi_records import split_prompt
from tests.helpers.agent_files import assert_grows_as_fresh, assert_survives_damage, read
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.pi_sessions import CWD, MODEL, PiFile, call, rich_session


@pytest.fixture
def root(home: Home) -> Path:
    return home.directory / ".pi" / "agent"


def rolled_back(home: Home, file: PiFile) -> list[str]:
    """Return the prompts of the turns that the user left."""
    entries = home.manifest(file.id).entries
    prompts = home.prompts(file.id)
    return [p for p, entry in zip(prompts, entries, strict=True) if entry.is_rolled_back]


def test_session_is_read_whole(home: Home, root: Path) -> None:
    file = rich_session(root)
    file.write()
    home.index()
    session = home.rows()[file.id].session
    assert (session.source, session.kind, session.cwd) == ("pi", "main", CWD)
    assert (session.title, session.title_origin) == ("Lamp work", "client")
    assert (session.models, session.unknown_types) == ((MODEL,), {})
    assert (session.input_tokens, session.output_tokens, session.cost_usd) == (50, 10, 1.25)
    assert home.prompts(file.id) == [
        *("look at the lamp", "second", "a dead end", "another way", "pytest", "and stop")
    ]
    assert rolled_back(home, file) == ["a dead end"]
    first, _, _, another, command, last = home.turns(file.id)
    looked = ToolCall("bash", {"command": "ls"}, ToolResult("lamp.py"))
    assert first.steps == (
        Message((Thinking("It is dark."), Text("I will look."), looked), MODEL),
        Message((Text("There is one file."),), MODEL),
    )
    assert another.steps[0] == Note("summary", "We tried a dead end.")
    assert another.steps[-1] == Note("summary", "So far: lamps.")
    assert command.steps == (Note("command", "1 passed"), Note("context", "A hint."))
    assert last.steps == (Note("interrupted", "Request was aborted."),)
    assert_same_as_fresh(home)


def test_growing_session_is_read_as_a_fresh_one(tmp_path: Path) -> None:
    file = rich_session(tmp_path)
    assert_grows_as_fresh("pi", str(file.path), file.data)


def test_no_damage_makes_the_reader_fail(tmp_path: Path) -> None:
    file = rich_session(tmp_path)
    assert_survives_damage("pi", str(file.path), file.data)


def test_bytes_are_archived_and_restored(home: Home, root: Path) -> None:
    file = rich_session(root)
    path = file.write()
    home.index()
    file.turn("one more", "Done.")
    data = file.write().read_bytes()
    home.index()
    path.unlink()
    home.index()
    done = home.run("restore", file.id)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == data


def test_returning_to_a_branch_brings_its_turns_back(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header()
    start = file.turn("start", "Started.")
    left = file.turn("left", "Went left.")
    file.leaf = start
    file.turn("right", "Went right.")
    file.leaf = left
    file.turn("left again", "Still left.")
    file.write()
    home.index()
    assert rolled_back(home, file) == ["right"]


def test_returning_to_the_start_leaves_all_turns(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header()
    before = file.leaf
    file.turn("first try", "No.")
    file.leaf = before
    file.turn("second try", "Yes.")
    file.leaf = None
    file.turn("third try", "Perhaps.")
    file.write()
    home.index()
    assert rolled_back(home, file) == ["first try", "second try"]


def test_damaged_line_rolls_nothing_back(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    file.header()
    file.turn("one", "First.")
    lost = file.turn("two", "Second.")
    file.turn("three", "Third.")
    data = file.data.replace(b'"id": "' + lost.encode(), b'"id": broken"', 1)
    (session,) = read("pi", str(file.path), data).sessions
    assert [entry.is_rolled_back for entry in session.entries] == [False] * 3
    assert session.session.bad_lines == 1


def test_fork_names_its_origin_and_counts_its_tokens_once(home: Home, root: Path) -> None:
    origin, fork = PiFile(root, 1), PiFile(root, 2)
    origin.header()
    origin.turn("shared", "Yes.")
    fork.header(parentSession=str(origin.path))
    fork.lines[1:] = origin.lines[1:]
    fork.leaf = origin.leaf
    fork.turn("own", "Own answer.")
    origin.write()
    fork.write()
    home.index()
    assert home.rows()[fork.id].session.forked_from == origin.id
    first, second = (home.manifest(file.id).entries[0] for file in (origin, fork))
    assert (first.turn, first.usage, first.uuids) == (second.turn, second.usage, second.uuids)


def test_first_format_has_neither_ids_nor_a_tree(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header(branchedFrom="/old/2025-01-01T10-00-00-000Z_0db2eb3b.jsonl", modelId="older")
    file.turn("one", "First.")
    file.turn("two", "Second.")
    for line in file.lines[1:]:
        del line["id"], line["parentId"]
    file.write()
    home.index()
    assert home.prompts(file.id) == ["one", "two"]
    assert rolled_back(home, file) == []
    assert home.rows()[file.id].session.forked_from == "0db2eb3b"


@pytest.mark.parametrize(
    ("text", "prompt", "context"),
    [
        ("just text", "just text", 0),
        ('<file name="/a.py">\nprint()\n</file>\nexplain it', "explain it", 1),
        ('<file name="/p.png"></file>\n<file name="/q.png"></file>\ncompare', "compare", 2),
        (
            '<skill name="tea" location="/s.md">\nBoil.\n</skill>\n\nno sugar',
            "/skill:tea no sugar",
            1,
        ),
        ('<skill name="tea" location="/s.md">\nBoil.\n</skill>', "/skill:tea", 1),
        ('<file name="never ends', '<file name="never ends', 0),
    ],
)
def test_files_and_skills_are_no_part_of_the_prompt(text: str, prompt: str, context: int) -> None:
    typed = split_prompt(text)
    assert (typed.prompt, len(typed.context)) == (prompt, context)


def test_images_and_failures(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header()
    image = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    sha256 = "ab" * 32
    file.prompt("see", image, {**image, "data": f"blob:sha256:{sha256}"})
    file.answer(call("t1", "bash", command="false"))
    file.result("t1", "Command exited with code 1", is_error=True)
    file.answer(stopReason="error", errorMessage="overloaded", usage={})
    file.write()
    home.index()
    (turn,) = home.turns(file.id)
    assert turn.attached[0].size == 2
    assert turn.attached[1] == Blob("image/png", 0, sha256)
    (made,) = turn.calls()
    assert made.result == ToolResult("Command exited with code 1", True)
    assert turn.steps[-1] == Note("error", "overloaded")


def test_usage_of_other_requests_is_counted(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header()
    file.turn("hello", "Hi.")
    usage = {"input": 7, "output": 1, "cost": {"total": 0.5}}
    file.add("usage", kind="cache_warm", provider="stub", model=MODEL, usage=usage)
    file.write()
    home.index()
    session = home.rows()[file.id].session
    assert (session.input_tokens, session.cost_usd) == (17, 0.75)


def test_unknown_records_are_counted(home: Home, root: Path) -> None:
    file = PiFile(root)
    file.header()
    file.turn("hello", "Hi.")
    file.add("teleport")
    file.message("oracle", content="?")
    file.write()
    home.index()
    unknown = home.rows()[file.id].session.unknown_types
    assert unknown == {"teleport": 1, "message/oracle": 1}


# oh-my-pi


def title_line(title: str) -> bytes:
    slot = {"type": "title", "v": 1, "title": title, "updatedAt": "2026-01-31T10:00:00Z", "pad": ""}
    slot["pad"] = " " * (255 - len(json.dumps(slot)))
    return json.dumps(slot).encode() + b"\n"


def test_title_that_is_overwritten_in_place(home: Home) -> None:
    file = PiFile(home.directory / ".omp" / "agent")
    file.header()
    file.turn("hello", "Hi.")
    path = file.write()
    path.write_bytes(title_line("") + file.data)
    home.index()
    session = home.rows()[file.id].session
    assert (session.source, session.title, session.title_origin) == ("oh_my_pi", "hello", "prompt")
    path.write_bytes(title_line("Greeting") + file.data)
    home.index()
    session = home.rows()[file.id].session
    assert (session.title, session.title_origin) == ("Greeting", "client")
    assert_same_as_fresh(home)


def test_sub_agent_lies_in_a_folder_with_its_parents_name(home: Home) -> None:
    root = home.directory / ".omp" / "agent"
    parent = PiFile(root)
    parent.header()
    parent.turn("delegate", "Done.")
    parent.write()
    child = PiFile(root, 2)
    child.path = parent.path.with_suffix("") / "0-Scout.jsonl"
    child.header(parentSession=str(parent.path))
    child.add("session_init", systemPrompt="You scout.", task="count", agent="scout", tools=[])
    child.turn("count the lamps", "Seven.")
    child.write()
    home.index()
    session = home.rows()[f"{parent.id}-0-Scout"].session
    assert (session.kind, session.parent, session.agent) == ("subagent", parent.id, "scout")
    assert session.forked_from == ""


def test_model_with_its_provider(home: Home) -> None:
    file = PiFile(home.directory / ".omp" / "agent")
    file.header()
    file.add("model_change", model="stub/other-model", role="default")
    file.prompt("hello")
    file.answer("Hi.", model=None)
    file.write()
    home.index()
    assert home.rows()[file.id].session.models == ("other-model",)
