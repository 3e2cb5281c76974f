"""The reader of Cursor, one test for each trap in its transcripts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.helpers.cursor_file import CursorFile
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.source_reading import ReadSession, read_session


@pytest.fixture
def file(tmp_path: Path) -> CursorFile:
    return CursorFile(tmp_path / ".cursor")


def read(file: CursorFile) -> ReadSession:
    return read_session("cursor", file.write(), file.root)


def test_prompt_is_the_query_and_the_rest_is_context(file: CursorFile) -> None:
    file.prompt("where is the wombat", "<attached_files>\na.py\n</attached_files>\n")
    file.answer("in its burrow", ("Shell", {"command": "ls"}))
    file.end()
    file.add("user", {"type": "text", "text": "without tags"})
    found = read(file)
    assert found.prompts == ["where is the wombat", "without tags"]
    assert found.notes == [("context", "<attached_files>\na.py\n</attached_files>")]
    assert found.texts == [["in its burrow"], []]
    (call,) = found.calls
    assert (call.name, call.input, call.result) == ("Shell", {"command": "ls"}, None)
    session = found.session
    assert (session.id, session.source, session.title) == (file.id, "cursor", found.prompts[0])
    assert session.unknown_types == {}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Friday, Sep 4, 2026, 2:21 AM (UTC+8)", datetime(2026, 9, 3, 18, 21, tzinfo=UTC)),
        ("Friday, Sep 4, 2026, 12:05 PM (UTC-3:30)", datetime(2026, 9, 4, 15, 35, tzinfo=UTC)),
        ("Friday, September 4, 2026 at 12:05 AM (UTC)", datetime(2026, 9, 4, 0, 5, tzinfo=UTC)),
        ("Friday, Feb 31, 2026, 2:21 AM (UTC+8)", None),
    ],
)
def test_time_is_in_the_text_of_a_prompt(
    file: CursorFile, text: str, time: datetime | None
) -> None:
    file.prompt("hello", f"<timestamp>{text}</timestamp>\n")
    found = read(file)
    assert found.entries[0].started == (time and int(time.timestamp() * 1000))
    assert found.notes == []


def test_hidden_thoughts_are_no_text(file: CursorFile) -> None:
    file.prompt("hello")
    file.answer("[REDACTED]")
    file.answer("hi\n\n[REDACTED]")
    assert read(file).texts == [["hi"]]


def test_end_of_a_turn_may_be_an_error(file: CursorFile) -> None:
    file.prompt("hello")
    file.end("aborted", error="User aborted/interrupted manually.")
    file.prompt("again")
    file.end("error", error="boom")
    file.records.append({"type": "song"})
    found = read(file)
    assert found.notes == [
        ("interrupted", "User aborted/interrupted manually."),
        ("error", "boom"),
    ]
    assert found.session.unknown_types == {"song": 1}


def test_directory_is_a_path_of_a_call_that_has_the_name_of_the_project(file: CursorFile) -> None:
    file.prompt("hello")
    file.answer("", ("Read", {"path": "/etc/hosts"}), ("Read", {"path": f"{file.cwd}/src/a.py"}))
    assert read(file).session.cwd == file.cwd


def test_sub_agent_is_in_the_folder_of_its_session(file: CursorFile) -> None:
    agent = CursorFile(file.root, 2, parent=file.id)
    agent.turn("find it", "found")
    session = read_session("cursor", agent.write(), file.root).session
    assert (session.id, session.kind, session.parent) == (agent.id, "subagent", file.id)


def test_prompt_of_cursor_itself_begins_no_turn(file: CursorFile) -> None:
    file.turn("hello", "hi")
    own = "Briefly inform the user about the task result and perform any follow-up actions."
    file.turn(own, "It is done.")
    found = read(file)
    assert found.prompts == ["hello"]
    assert found.texts == [["hi", "It is done."]]
    assert found.notes == [("notification", own)]


def test_sub_agent_that_goes_on_in_a_file_of_its_own_is_one_session(home: Home) -> None:
    parent = CursorFile(home.directory / ".cursor")
    parent.turn("hello", "hi")
    parent.write()
    agent = CursorFile(parent.root, 2, parent=parent.id)
    agent.turn("find it", "found")
    agent.write()
    agent.path = parent.path.parents[1] / agent.id / agent.path.name
    agent.turn("and now", "found again")
    agent.write()
    home.index()
    assert sorted(home.rows()) == sorted([parent.id, agent.id])
    assert home.prompts(agent.id) == ["find it", "and now"]
    assert_same_as_fresh(home)


def test_session_without_a_path_is_named_after_its_folder(home: Home) -> None:
    file = CursorFile(home.directory / ".cursor")
    file.turn("hello", "hi")
    file.path = file.path.parents[1] / file.path.name  # as early versions did
    file.write()
    home.index()
    session = home.rows()[file.id].session
    assert (session.cwd, session.project) == ("", "home-sam-src-my-shop")
    assert_same_as_fresh(home)


def test_deleted_session_is_restored_and_resumed(home: Home) -> None:
    cwd = home.directory / "shop"
    cwd.mkdir()
    file = CursorFile(home.directory / ".cursor", cwd=str(cwd))
    file.turn("hello", "hi", "ls")
    file.write()
    home.index()
    file.turn("again", "hi")
    content = file.append().read_bytes()
    home.index()
    assert home.prompts(file.id) == ["hello", "again"]
    assert stored_bytes(home.store, home.rows()[file.id].files[0]) == content
    done = home.run("resume", file.id)
    assert done.stdout == f"cd {cwd} && cursor-agent --resume={file.id}\n"
    file.path.unlink()
    home.index()
    assert home.run("restore", file.id).returncode == 0
    assert file.path.read_bytes() == content
