"""Each form of history that a source may have: appended, rewritten, or in a database."""

import json
import sqlite3
import time
from pathlib import Path

import pytest

from ccgrep.sources import registry
from tests.helpers import made_up_agent
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.made_up_agent import write_database

NOW_MS = time.time_ns() // 1_000_000 - 3_600_000
ASKED = ("user", "where is the tea", NOW_MS)
ANSWERED = ("agent", "in the kettle", NOW_MS + 1)
AGAIN = ("user", "and the milk", NOW_MS + 2)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SOURCES", (*registry.SOURCES, made_up_agent.SOURCE))


def root(home: Home) -> Path:
    return home.directory / ".made-up"


def records(*messages: tuple[str, str, int]) -> list[dict[str, object]]:
    return [{"role": role, "text": text, "time": at} for role, text, at in messages]


def write_lines(home: Home, *messages: tuple[str, str, int]) -> None:
    path = root(home) / "lines" / "one.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records(*messages)))


def write_document(home: Home, *messages: tuple[str, str, int]) -> None:
    path = root(home) / "docs" / "two.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records(*messages), indent=1))


def test_roots_are_found_by_mark_and_by_variable(home: Home) -> None:
    path = str(root(home))
    assert registry.find_roots(str(home.directory))[-1].source == "codex"
    write_lines(home, ASKED)
    assert registry.Root(path, "made_up") in registry.find_roots(str(home.directory))
    assert registry.find_roots(path) == [registry.Root(path, "made_up")]
    found = registry.find_default_roots({"MADE_UP_HOME": path}, "/nowhere")
    assert found == [registry.Root(path, "made_up")]


def test_appended_file_is_read_from_its_watermark(home: Home) -> None:
    write_lines(home, ASKED, ANSWERED)
    home.index()
    write_lines(home, ASKED, ANSWERED, AGAIN)
    home.index()
    assert home.prompts("one") == [ASKED[1], AGAIN[1]]
    assert_same_as_fresh(home)


def test_rewritten_file_keeps_no_versions_while_it_grows(home: Home) -> None:
    write_document(home, ASKED)
    home.index()
    for messages in ((ASKED, ANSWERED), (ASKED, ANSWERED, AGAIN)):
        write_document(home, *messages)
        home.index()
    assert home.prompts("two") == [ASKED[1], AGAIN[1]]
    assert list(home.rows()) == ["two"]
    row = home.rows()["two"]
    assert row.versions == ()
    assert stored_bytes(home.store, row.files[0]) == (root(home) / "docs" / "two.json").read_bytes()
    assert_same_as_fresh(home)


def test_rewritten_file_that_loses_turns_leaves_them_in_a_superseded_session(home: Home) -> None:
    write_document(home, ASKED, ANSWERED, AGAIN)
    home.index()
    write_document(home, AGAIN)
    home.index()
    assert home.prompts("two") == [AGAIN[1]]
    assert home.prompts("two~2") == [ASKED[1], AGAIN[1]]


def test_damaged_document_leaves_the_turns_that_were_read(home: Home) -> None:
    write_document(home, ASKED, ANSWERED)
    home.index()
    path = root(home) / "docs" / "two.json"
    path.write_bytes(path.read_bytes()[:-3])
    home.index()
    assert home.prompts("two") == [ASKED[1]]


def test_only_changed_sessions_of_a_database_are_read(home: Home) -> None:
    database = root(home) / "notes.db"
    write_database(database, {"ses_a": [ASKED, ANSWERED], "ses_b": [ASKED]})
    assert home.index().files_parsed == 2
    assert home.index().files_parsed == 0
    write_database(database, {"ses_b": [ASKED, ANSWERED, AGAIN]})
    assert home.index().files_parsed == 1
    assert home.prompts("ses_a") == [ASKED[1]]
    assert home.prompts("ses_b") == [ASKED[1], AGAIN[1]]
    row = home.rows()["ses_b"]
    assert row.versions == () and row.files[0].container == str(database)
    assert stored_bytes(home.store, row.files[0]).startswith(
        b'{"cwd":"/work/shop"}\n{"role":"user"'
    )
    assert_same_as_fresh(home)


def test_session_that_is_deleted_from_a_database_is_gone_but_stays(home: Home) -> None:
    database = root(home) / "notes.db"
    write_database(database, {"ses_a": [ASKED, ANSWERED]})
    (root(home) / "lines").mkdir()
    home.index()
    database.write_bytes(b"damaged" * 1000)
    home.index()
    assert not home.rows()["ses_a"].is_gone, "a database that cannot be read deletes nothing"
    database.unlink()
    home.index()
    assert home.rows()["ses_a"].is_gone
    assert home.prompts("ses_a") == [ASKED[1]]


def test_database_that_a_client_keeps_open_is_read_with_its_wal(home: Home) -> None:
    database = root(home) / "notes.db"
    write_database(database, {"ses_a": [ASKED]})
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("INSERT INTO message VALUES ('ses_a', 'agent', 'written to the WAL', 5)")
    connection.execute("UPDATE session SET updated = 5")
    connection.commit()
    home.index()
    connection.close()
    (turn,) = home.turns("ses_a")
    assert turn.assistant_texts() == ["written to the WAL"]
