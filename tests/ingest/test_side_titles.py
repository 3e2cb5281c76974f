"""Titles that clients keep in files beside the transcripts."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.transcripts import ClaudeFile, CodexFile, encode


@pytest.fixture
def thread(home: Home) -> CodexFile:
    """Return a thread without a name."""
    file = home.codex()
    file.meta()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    home.rest()
    return file


def add_names(home: Home, *names: tuple[str, str]) -> None:
    with (home.codex_sessions.parent / "session_index.jsonl").open("ab") as file:
        for id, name in names:
            file.write(encode({"id": id, "thread_name": name, "updated_at": "2026-11-18"}))


@contextmanager
def open_state(home: Home, schema: str = "id TEXT, name TEXT") -> Iterator[sqlite3.Connection]:
    """Write to the database of Codex, and keep it open as a running Codex does."""
    connection = sqlite3.connect(home.codex_sessions.parent / "state_5.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"CREATE TABLE threads ({schema})")
    yield connection
    connection.close()


def title(home: Home, id: str) -> str:
    (session,) = [one for one in home.json("list")["sessions"] if one["id"] == id]
    return str(session["title"])


def found(home: Home, *words: str) -> int:
    return len(home.run(*words).stdout.splitlines())


def test_issue_22_5_last_name_in_session_index_is_the_title(home: Home, thread: CodexFile) -> None:
    assert found(home, "numbat") == 0
    add_names(home, (thread.id, "first"), ("unknown-thread", "other"), (thread.id, "Numbat hunt"))
    assert found(home, "numbat") == 1
    assert title(home, thread.id) == "Numbat hunt"
    assert_same_as_fresh(home)


def test_issue_22_5_name_survives_new_turns_and_beats_a_name_in_the_rollout(
    home: Home, thread: CodexFile
) -> None:
    add_names(home, (thread.id, "Numbat hunt"))
    home.index()
    thread.event("thread_name_updated", thread_id=thread.id, thread_name="older")
    thread.turn("and the quokka list", "Sorted.")
    thread.append()
    assert found(home, "quokka") == 1
    assert title(home, thread.id) == "Numbat hunt"
    add_names(home, (thread.id, "Bilby hunt"))
    assert (found(home, "bilby"), found(home, "numbat")) == (1, 0)
    assert_same_as_fresh(home)


def test_issue_22_5_name_in_the_state_database_is_read_from_its_wal(
    home: Home, thread: CodexFile
) -> None:
    folder = home.codex_sessions.parent
    with open_state(home) as state:
        state.execute("INSERT INTO threads VALUES (?, 'Echidna plan'), ('x', NULL)", [thread.id])
        state.commit()
        assert (folder / "state_5.sqlite-wal").stat().st_size > 0
        before = {path: path.read_bytes() for path in folder.glob("state*")}
        home.index()
        assert title(home, thread.id) == "Echidna plan"
        assert {path: path.read_bytes() for path in folder.glob("state*")} == before
        # Nothing is locked: Codex can go on writing.
        state.execute("UPDATE threads SET name = 'Potoroo plan' WHERE id = ?", [thread.id])
        state.commit()
        home.index()
    assert title(home, thread.id) == "Potoroo plan"


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(5000)])
def test_issue_22_5_damaged_state_database_is_ignored(
    home: Home, thread: CodexFile, content: bytes
) -> None:
    (home.codex_sessions.parent / "state_5.sqlite").write_bytes(content)
    (home.codex_sessions.parent / "state_5.sqlite-wal").write_bytes(content * 9)
    assert home.index().troubles == []
    assert title(home, thread.id) == "sort the walrus list"


def test_issue_22_5_state_database_with_other_tables_is_ignored(
    home: Home, thread: CodexFile
) -> None:
    with open_state(home, "id TEXT, title TEXT"):
        assert home.index().troubles == []
    assert title(home, thread.id) == "sort the walrus list"


def test_issue_22_5_linked_state_database_is_not_read(
    home: Home, thread: CodexFile, tmp_path: Path
) -> None:
    with open_state(home) as state:
        state.execute("INSERT INTO threads VALUES (?, 'Echidna plan')", [thread.id])
        state.commit()
    path = home.codex_sessions.parent / "state_5.sqlite"
    path.rename(tmp_path / "elsewhere.sqlite")
    path.symlink_to(tmp_path / "elsewhere.sqlite")
    home.index()
    assert title(home, thread.id) == "sort the walrus list"


def write_index(home: Home, id: str, summary: str) -> None:
    path = home.projects / "-home-sam-src-shop" / "sessions-index.json"
    entry = {"sessionId": id, "summary": summary, "firstPrompt": "hello"}
    path.write_text(json.dumps({"version": 1, "originalPath": "/p", "entries": [entry]}))


def test_issue_22_10_summary_is_the_title_of_a_session_without_one(home: Home) -> None:
    file = home.claude()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    assert found(home, "numbat") == 0
    write_index(home, file.id, "Numbat hunt")
    assert found(home, "numbat") == 1
    file.turn("and the quokka list", "Sorted.")
    file.append()
    assert found(home, "quokka") == 1
    assert title(home, file.id) == "Numbat hunt"
    assert_same_as_fresh(home)


@pytest.mark.parametrize(
    ("type", "field"), [("ai-title", "aiTitle"), ("custom-title", "customTitle")]
)
def test_issue_22_10_title_in_the_transcript_beats_the_summary(
    home: Home, type: str, field: str
) -> None:
    file = home.claude()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    write_index(home, file.id, "Numbat hunt")
    home.index()
    assert title(home, file.id) == "Numbat hunt"
    file.meta(type, **{field: "Own title"})
    file.append()
    assert found(home, "own", "title") == 1
    assert title(home, file.id) == "Own title"
    write_index(home, file.id, "Bilby hunt")
    home.index()
    assert title(home, file.id) == "Own title"
    assert_same_as_fresh(home)


DESKTOP = pytest.mark.parametrize(
    "desktop", [".config/Claude", "Library/Application Support/Claude"]
)


def write_desktop(folder: Path, id: str, title: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    session = {"sessionId": "local_1", "cliSessionId": id, "cwd": "/p", "title": title}
    (folder / "local_1.json").write_text(json.dumps(session))


@DESKTOP
def test_issue_22_12_claude_desktop_gives_titles(home: Home, desktop: str) -> None:
    file = home.claude()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    home.index()
    folder = home.directory / desktop / "claude-code-sessions" / "account" / "workspace"
    write_desktop(folder, file.id, "Numbat hunt")
    assert found(home, "numbat") == 1
    write_desktop(folder, file.id, "Bilby hunt")
    assert (found(home, "bilby"), found(home, "numbat")) == (1, 0)
    assert title(home, file.id) == "Bilby hunt"
    assert_same_as_fresh(home)


@DESKTOP
def test_issue_22_12_transcripts_of_cowork_are_read(home: Home, desktop: str) -> None:
    workspace = home.directory / desktop / "local-agent-mode-sessions" / "account" / "workspace"
    workspace.mkdir(parents=True)
    home.index()
    file = ClaudeFile(workspace / "local_1" / ".claude" / "projects" / "-sessions-sly-fox")
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    assert found(home, "walrus") == 1
    write_desktop(workspace, file.id, "Numbat hunt")
    assert found(home, "numbat") == 1
    file.turn("and the quokka list", "Sorted.")
    file.append()
    assert found(home, "quokka") == 1
    assert_same_as_fresh(home)


@pytest.mark.parametrize("session", ["[1]", '{"cliSessionId": 7, "title": ["x"]}', "{", "\0"])
def test_issue_22_12_malformed_desktop_session_is_ignored(home: Home, session: str) -> None:
    file = home.claude()
    file.turn("sort the walrus list", "Sorted.")
    file.write()
    folder = home.directory / ".config/Claude/claude-code-sessions/account/workspace"
    folder.mkdir(parents=True)
    (folder / "local_1.json").write_text(session)
    (folder / "local_2.json").symlink_to(file.path)
    assert home.index().troubles == []
    assert title(home, file.id) == "sort the walrus list"
