"""Each form of history that a source may have: appended, rewritten, or in a database."""

import json
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccgrep.model import Turn
from ccgrep.ops.restore import NotRestorableError, RestoreOptions, restore
from ccgrep.sources import registry, sqlite_file
from tests.helpers import made_up_agent, scale
from tests.helpers.homes import Home, assert_same_as_fresh, stored_bytes
from tests.helpers.made_up_agent import write_database
from tests.helpers.readers import turn_id

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


def test_large_database_is_read_in_place_with_its_wal(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_BYTES", 1)
    database = root(home) / "notes.db"
    write_database(database, {"ses_a": [ASKED]})
    home.index()
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("INSERT INTO message VALUES ('ses_a', 'agent', 'written to the WAL', 5)")
    connection.commit()
    files = {path: path.stat() for path in root(home).iterdir()}
    home.index()
    assert {path: path.stat().st_mtime_ns for path in root(home).iterdir()} == {
        path: info.st_mtime_ns for path, info in files.items()
    }
    connection.close()
    (turn,) = home.turns("ses_a")
    assert turn.assistant_texts() == ["written to the WAL"]


def test_session_of_a_database_is_restored_as_rows_only(home: Home, tmp_path: Path) -> None:
    database = root(home) / "notes.db"
    write_database(database, {"ses_a": [ASKED, ANSWERED]})
    home.index()
    with pytest.raises(NotRestorableError, match="which is its client's database: use --to DIR"):
        restore(home.config, "ses_a", RestoreOptions())
    assert database.stat().st_size and sorted(path.name for path in root(home).iterdir()) == [
        "notes.db"
    ]
    (file,) = restore(home.config, "ses_a", RestoreOptions(directory=str(tmp_path / "out")))
    row = home.rows()["ses_a"]
    assert file.path == str(tmp_path / "out" / "notes.db#ses_a.jsonl")
    assert Path(file.path).read_bytes() == stored_bytes(home.store, row.files[0])


def test_excluded_directory_holds_for_every_form(home: Home) -> None:
    write_document(home, ("user", "not excluded", NOW_MS))
    write_database(root(home) / "notes.db", {"ses_a": [ASKED]})  # in /work/shop
    (home.directory / ".config" / "ccgrep").mkdir(parents=True)
    (home.directory / ".config" / "ccgrep" / "config.toml").write_text('exclude = ["/work/shop"]\n')
    home.index()
    assert list(home.rows()) == ["two"]
    assert home.store.find_pack(turn_id(Turn(ASKED[1]))) is None


@settings(
    max_examples=scale.of(8, 400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_database_may_have_any_damage(home: Home, data: st.DataObject) -> None:
    """A session that was read stays, whatever becomes of its database."""
    database = root(home) / "notes.db"
    if "ses_a" not in (home.rows() if home.store_dir.exists() else {}):
        write_database(database, {"ses_a": [ASKED, ANSWERED]})
        home.index()
    whole = bytearray(database.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    kept = whole[: data.draw(st.sampled_from([len(whole), len(whole) // 2, 100]))]
    database.write_bytes(bytes(kept) or b"x")
    home.index()
    known = [home.prompts(id) for id in home.rows() if id.partition("~")[0] == "ses_a"]
    assert [ASKED[1]] in known
    database.unlink()
    write_database(database, {"ses_a": [ASKED, ANSWERED]})
