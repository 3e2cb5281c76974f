"""Sessions of opencode."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ccgrep.model import Message, Note, Text, Thinking, ToolCall, ToolResult
from ccgrep.sources import opencode_storage, sqlite_file
from tests.helpers.agent_files import assert_survives_damage
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.opencode_sessions import (
    CWD,
    MODEL,
    OpencodeSession,
    SecondSession,
    call,
    connect,
    insert,
    note,
    tokens,
    write_database,
    write_storage,
)


@pytest.fixture
def root(home: Home) -> Path:
    return home.directory / ".local" / "share" / "opencode"


def failed(tool: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "callID": "call_1", "state": {"input": {}, **state}}


def rich_session(number: int = 1) -> OpencodeSession:
    """Return a session with every kind of message and part."""
    session = OpencodeSession(number, title="Lamp work")
    session.prompt("look at the lamp")
    session.answer(
        {"type": "step-start", "snapshot": "ab"},
        {"type": "reasoning", "text": "It is dark.", "time": {"start": 1}},
        "I will look.",
        call("bash", "lamp.py\n", command="ls", description="List"),
        {"type": "patch", "hash": "ab", "files": ["/a"]},
    )
    session.answer(
        failed("read", status="error", error="File not found"),
        failed("bash", status="completed", output="no", metadata={"exit": 3}),
        failed("bash", status="running"),
        "There is one file.",
    )
    session.prompt(
        note('Called the Read tool with the following input: {"filePath":"/p.png"}'),
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGk=", "filename": "p"},
        {"type": "file", "mime": "text/plain", "url": "file:///etc/motd"},
        "see this",
        {"type": "agent", "name": "general"},
    )
    session.answer("A picture.")
    session.prompt({"type": "compaction", "auto": True})
    session.answer("So far: lamps.", summary=True)
    session.prompt(note("Continue if you have next steps"))
    session.answer("Going on.")
    session.prompt(note("The following tool was executed by the user"))
    session.answer(call("bash", "3 files\n", command="ls -l"), cost=0)
    session.prompt("stop")
    session.answer(error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    session.prompt("again")
    retry = {"type": "retry", "attempt": 1, "error": {"data": {"message": "overloaded"}}}
    session.answer(retry, error={"name": "APIError", "data": {"message": "no such thing"}})
    return session


def test_session_is_read_whole(home: Home, root: Path) -> None:
    written = rich_session()
    write_database(root, written)
    home.index()
    session = home.rows()[written.id].session
    assert (session.source, session.kind, session.cwd) == ("opencode", "main", CWD)
    assert (session.title, session.title_origin) == ("Lamp work", "client")
    assert (session.models, session.versions) == ((MODEL,), ("1.18.33",))
    assert session.unknown_types == {}
    assert home.prompts(written.id) == ["look at the lamp", "see this", "ls -l", "stop", "again"]
    first, second, command, stopped, again = home.turns(written.id)
    looked = {"command": "ls", "description": "List"}
    assert first.steps == (
        Message(
            (
                Thinking("It is dark."),
                Text("I will look."),
                ToolCall("bash", looked, ToolResult("lamp.py\n")),
            ),
            MODEL,
        ),
        Message(
            (
                ToolCall("read", {}, ToolResult("File not found", True)),
                ToolCall("bash", {}, ToolResult("no", True)),
                ToolCall("bash", {}),
                Text("There is one file."),
            ),
            MODEL,
        ),
    )
    assert [blob.size for blob in second.attached] == [2]
    read_call = 'Called the Read tool with the following input: {"filePath":"/p.png"}'
    assert second.steps == (
        Note("context", read_call),
        Message((Text("A picture."),), MODEL),
        Note("summary", "So far: lamps."),
        Note("context", "Continue if you have next steps"),
        Message((Text("Going on."),), MODEL),
    )
    assert command.steps == (Note("command", "3 files\n"),)
    assert stopped.steps == (Note("interrupted", "Aborted"),)
    assert again.steps == (Note("error", "overloaded"), Note("error", "no such thing"))
    assert_same_as_fresh(home)


def test_no_damage_makes_the_reader_fail() -> None:
    session = rich_session()
    assert_survives_damage("opencode", f"/x/opencode.db#{session.id}", session.data)


def test_only_changed_sessions_are_read(home: Home, root: Path) -> None:
    one, two = OpencodeSession(1), OpencodeSession(2)
    one.turn("one", "First.")
    two.turn("two", "Second.")
    write_database(root, one, two)
    assert home.index().files_parsed == 2
    assert home.index().files_parsed == 0
    two.answer("And more.")  # opencode leaves the time of the session itself as it was
    write_database(root, two)
    assert home.index().files_parsed == 1
    assert home.turns(two.id)[0].assistant_texts() == ["Second.", "And more."]
    assert_same_as_fresh(home)


def test_session_of_a_running_opencode_is_found(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.turn("where is the kettle", "On the stove.")
    database = connect(root)
    insert(database, session)
    try:
        assert "kettle" in home.run("kettle").stdout
        session.turn("and the numbat", "In the garden.")
        insert(database, session)
        assert "numbat" in home.run("numbat").stdout
    finally:
        database.close()


def test_growing_session_keeps_its_bytes_once(home: Home, root: Path) -> None:
    session = OpencodeSession()
    for number in range(3):
        session.turn(f"prompt {number}", f"answer {number}")
        write_database(root, session)
        home.index()
    row = home.rows()[session.id]
    assert row.versions == () and list(home.rows()) == [session.id]
    stored = [json.loads(line) for line in stored_bytes(home.store, row.files[0]).splitlines()]
    assert [line["type"] for line in stored][:4] == ["session", "message", "part", "message"]
    assert_same_as_fresh(home)


def test_reverted_turns_are_rolled_back(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.turn("keep", "Kept.")
    undone = session.turn("undo", "Undone.")
    session.turn("undo too", "Undone too.")
    session.fields["revert"] = {"messageID": undone, "snapshot": "ab"}
    write_database(root, session)
    home.index()
    entries = home.manifest(session.id).entries
    assert [entry.is_rolled_back for entry in entries] == [False, True, True]


def test_sub_agent_names_its_parent(home: Home, root: Path) -> None:
    parent, child = OpencodeSession(1), OpencodeSession(2)
    parent.turn("count", "Seven.")
    child.fields |= {"parent_id": parent.id, "agent": "general", "title": "count (@general)"}
    child.turn("count the wombats", "Seven wombats.")
    write_database(root, parent, child)
    home.index()
    session = home.rows()[child.id].session
    assert (session.kind, session.parent, session.agent) == ("subagent", parent.id, "general")


def test_fork_names_its_origin_and_counts_its_tokens_once(home: Home, root: Path) -> None:
    origin = OpencodeSession(1, title="Lamps")
    origin.turn("shared", "Yes.")
    fork = origin.copy(2, title="Lamps (fork #1)")
    fork.turn("own", "Mine.")
    again = origin.copy(3, title="Lamps (fork #2)")
    write_database(root, origin, fork, again)
    home.index()
    rows = home.rows()
    assert rows[origin.id].session.forked_from == ""
    assert rows[fork.id].session.forked_from == origin.id
    assert rows[again.id].session.forked_from == fork.id
    first, second = (home.manifest(one.id).entries[0] for one in (origin, fork))
    assert (first.turn, first.usage) == (second.turn, second.usage)


def test_each_step_of_an_answer_has_its_tokens(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.prompt("two steps")
    step = {"type": "step-finish", "tokens": tokens(input=100, output=20, reasoning=5)}
    session.answer("One.", step, "Two.")
    write_database(root, session)
    home.index()
    counted = home.rows()[session.id].session
    assert (counted.input_tokens, counted.output_tokens) == (110, 30)


def test_calls_with_the_same_id_are_all_read(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.prompt("look twice")
    session.answer(call("read", "one", id="call_0", filePath="/a"))
    session.answer(call("read", "two", id="call_0", filePath="/b"))
    write_database(root, session)
    home.index()
    (turn,) = home.turns(session.id)
    assert [made.result.text for made in turn.calls() if made.result] == ["one", "two"]


def test_made_up_title_gives_way_to_the_prompt(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.turn("paint the fence green", "Done.")
    write_database(root, session)
    home.index()
    assert home.rows()[session.id].session.title == "paint the fence green"


def test_row_that_is_damaged_loses_only_itself(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.turn("one", "First.")
    session.turn("two", "Second.")
    database = connect(root)
    insert(database, session)
    database.execute("UPDATE message SET data = '{\"role\":' WHERE rowid = 3")
    database.execute("UPDATE part SET data = CAST(x'ff7b' AS TEXT) WHERE rowid = 3")
    database.commit()
    database.close()
    home.index()
    assert home.prompts(session.id)[0] == "one"
    assert "First." in home.turns(session.id)[0].assistant_texts()


def test_huge_part_loses_only_itself(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.prompt("draw")
    session.answer({"type": "text", "text": "x" * (17 << 20)}, "Drawn.")
    write_database(root, session)
    home.index()
    assert home.turns(session.id)[0].assistant_texts() == ["Drawn."]


def test_large_database_is_read_in_place_with_its_wal(
    home: Home, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_BYTES", 1000)
    session = OpencodeSession()
    session.turn("one", "First.")
    database = connect(root)
    insert(database, session)
    before = {path: path.stat() for path in root.iterdir()}
    home.index()
    assert home.prompts(session.id) == ["one"]
    after = {path: path.stat() for path in root.iterdir()}
    changed = [p.name for p in after if after[p].st_mtime_ns != before[p].st_mtime_ns]
    assert after.keys() == before.keys() and changed == []
    session.turn("two", "Second.")
    insert(database, session)
    database.close()
    home.index()
    assert home.prompts(session.id) == ["one", "two"]


def test_session_that_cannot_be_read_keeps_its_turns(
    home: Home, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = OpencodeSession()
    session.turn("one", "First.")
    write_database(root, session)
    home.index()
    session.turn("two", "Second.")
    write_database(root, session)
    monkeypatch.setattr(opencode_storage, "_export_rows", lambda *_: iter(()))
    assert home.index().troubles
    assert home.prompts(session.id) == ["one"]


# Before version 1.2


def test_json_files_of_older_versions_are_read(home: Home, root: Path) -> None:
    session = rich_session()
    write_storage(root, session)
    home.index()
    files = home.prompts(session.id)
    assert home.rows()[session.id].session.versions == ("1.1.0",)
    assert files == ["look at the lamp", "see this", "ls -l", "stop", "again"]
    assert_same_as_fresh(home)


def test_migrated_session_is_read_from_the_database_only(home: Home, root: Path) -> None:
    session, deleted = OpencodeSession(1), OpencodeSession(2)
    session.turn("hello", "Hi.")
    deleted.turn("only in files", "Yes.")
    write_storage(root, session)
    write_storage(root, deleted)
    home.index()
    write_database(root, session)
    home.index()
    assert sorted(home.rows()) == sorted([session.id, deleted.id])
    assert home.rows()[session.id].files[0].container == str(root / "opencode.db")
    assert home.prompts(session.id) == ["hello"]


def test_new_message_of_an_older_version_is_noticed(home: Home, root: Path) -> None:
    session = OpencodeSession()
    session.turn("hello", "Hi.")
    storage = write_storage(root, session)
    hour_ago = time.time() - 3600
    for path in (*storage.rglob("*"), storage, root):
        os.utime(path, (hour_ago, hour_ago))
    assert "hello" in home.run("hello").stdout
    session.turn("where is the numbat", "In the garden.")
    write_storage(root, session)
    assert "numbat" in home.run("numbat").stdout


def test_directory_of_the_project_stands_in_for_a_missing_one(home: Home, root: Path) -> None:
    session = OpencodeSession()
    del session.fields["directory"]
    session.turn("hello", "Hi.")
    write_storage(root, session)
    home.index()
    assert home.rows()[session.id].session.cwd == CWD


def tool(name: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "id": "c1", "name": name, "state": {"input": {"a": 1}, **state}}


def test_session_of_version_2_is_read_whole(home: Home, root: Path) -> None:
    session = SecondSession(agent="build")
    session.add("agent-switched", agent="build")
    picture = {"data": "aGk=", "mime": "image/png", "source": {"type": "inline"}}
    session.add("user", text="look at the lamp", files=[picture])
    session.add("synthetic", text="it is late")
    listed = [{"type": "text", "text": "lamp.py"}, {"type": "file", "uri": "file:///log"}]
    session.answer(
        {"type": "reasoning", "text": "It is dark."},
        {"type": "text", "text": "I will look."},
        tool("shell", status="completed", content=listed),
        tool("read", status="error", error={"type": "unknown", "message": "not there"}),
        tool("shell", status="completed", content=[], metadata={"exit": 3}),
        tool("shell", status="running", metadata={}),
        tokens=tokens(),
        cost=0.25,
    )
    session.add("compaction", status="completed", summary="They looked.", recent="")
    session.add("shell", command="ls", status="exited", output={"output": "lamp.py\n"})
    session.add("user", text="stop")
    session.answer(error={"type": "aborted", "message": "Aborted"})
    session.add("idle", outcome="interrupted")
    session.add("user", text="again")
    session.answer(error={"type": "api", "message": "no such model"})
    session.add("sang", text="la")
    session.write(root)
    home.index()
    row = home.rows()[session.id]
    assert (row.session.title, row.session.cwd, row.session.versions) == (
        "Lamp work",
        CWD,
        ("2.0.22",),
    )
    assert row.session.models == (MODEL,) and row.session.cost_usd == 0.25
    assert (row.session.input_tokens, row.session.output_tokens) == (10, 5)
    assert row.session.unknown_types == {"message/sang": 1}
    assert home.prompts(session.id) == ["look at the lamp", "ls", "stop", "again"]
    first, second, third, fourth = home.turns(session.id)
    assert [blob.media_type for blob in first.attached] == ["image/png"]
    context, answer, summary = first.steps
    assert context == Note("context", "it is late")
    assert summary == Note("summary", "They looked.")
    assert isinstance(answer, Message) and answer.model == MODEL
    assert answer.parts[:2] == (Thinking("It is dark."), Text("I will look."))
    results = [call.result and (call.result.text, call.result.is_error) for call in first.calls()]
    assert results == [("lamp.py", False), ("not there", True), ("", True), None]
    assert second.steps == (Note("command", "lamp.py\n"),)
    assert third.steps == (Note("interrupted", "Aborted"),)
    assert fourth.steps == (Note("error", "no such model"),)
    assert_same_as_fresh(home)


def test_session_goes_on_after_the_update_to_version_2(home: Home, root: Path) -> None:
    first, other = OpencodeSession(1, title="Lamp work"), OpencodeSession(2)
    first.turn("hello", "Hi.")
    other.turn("only in version 1", "Yes.")
    write_database(root, first, other)
    home.index()
    second = SecondSession(1)
    second.turn("hello", "Hi.")
    second.turn("and now", "Now it is 2.")
    second.write(root)
    home.index()
    assert sorted(home.rows()) == [first.id, other.id]
    assert home.prompts(first.id) == ["hello", "and now"]
    assert home.prompts(other.id) == ["only in version 1"]
    assert home.index().files_parsed == 0
    assert_same_as_fresh(home)


def test_fork_and_undone_turns_of_version_2(home: Home, root: Path) -> None:
    origin = SecondSession(1)
    origin.turn("hello", "Hi.")
    undone = origin.turn("undo this", "Done.")
    origin.fields["revert"] = {"messageID": undone}
    origin.write(root)
    fork = SecondSession(2, fork_session_id=origin.id)
    fork.messages = origin.messages[:2]
    fork.write(root)
    child = SecondSession(3, parent_id=origin.id, agent="explore")
    child.turn("look", "Found.")
    child.write(root)
    home.index()
    undone_turns = [entry.is_rolled_back for entry in home.manifest(origin.id).entries]
    assert undone_turns == [False, True]
    assert home.rows()[fork.id].session.forked_from == origin.id
    session = home.rows()[child.id].session
    assert (session.kind, session.parent, session.agent) == ("subagent", origin.id, "explore")
