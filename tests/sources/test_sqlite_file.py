"""Databases of clients that are running, crashed or hostile."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccgrep.sources import sqlite_file
from ccgrep.sources.files import read_side_file
from ccgrep.sources.sqlite_file import open_database


@pytest.fixture(params=["in memory", "in place"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "in place":
        monkeypatch.setattr(sqlite_file, "_MAX_BYTES", 1)
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "lamps.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE lamp (name TEXT)")
        writer.execute("INSERT INTO lamp VALUES ('old')")
    writer.close()
    return path


def read(path: Path) -> list[tuple[object, ...]] | None:
    with open_database(str(path), str(path.parent)) as database:
        return database.try_rows("SELECT name FROM lamp ORDER BY rowid")


@pytest.fixture(params=["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def writer(path: Path, request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """A client that holds the lock for writing."""
    writer = sqlite3.connect(path, isolation_level=None, timeout=0)
    writer.execute(str(request.param))
    writer.execute("INSERT INTO lamp VALUES ('new')")
    yield writer
    writer.close()


def test_writer_with_a_lock_neither_waits_nor_is_waited_for(
    place: str, path: Path, writer: sqlite3.Connection
) -> None:
    assert read(path) == [("old",)]
    with open_database(str(path), str(path.parent)) as database:
        database.rows("SELECT name FROM lamp")
        writer.execute("COMMIT")  # with a timeout of zero
    assert read(path) == [("old",), ("new",)]


def test_reader_leaves_no_file(place: str, path: Path, writer: sqlite3.Connection) -> None:
    before = sorted(path.parent.iterdir())
    read(path)
    assert sorted(path.parent.iterdir()) == before


def test_wal_without_its_index_is_read(path: Path) -> None:
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO lamp VALUES ('new')")
    writer.commit()
    crashed = path.parent / "crashed" / path.name
    crashed.parent.mkdir()
    for suffix in ("", "-wal"):
        (crashed.parent / f"{path.name}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    writer.close()
    assert read(crashed) == [("old",), ("new",)]
    assert sorted(p.name for p in crashed.parent.iterdir()) == ["lamps.db", "lamps.db-wal"]


def test_large_wal_without_its_index_does_not_make_the_reader_fail(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_BYTES", 1)
    Path(f"{path}-wal").write_bytes(b"no WAL" * 100)
    assert read(path) == [("old",)]


def test_small_database_with_a_large_wal_is_read_in_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_BYTES", path.stat().st_size)
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.executemany("INSERT INTO lamp VALUES (?)", [("x" * 1000,)] * 20)
    writer.commit()
    assert Path(f"{path}-wal").stat().st_size > path.stat().st_size
    rows = read(path)
    writer.close()
    assert rows is not None and len(rows) == 21


def test_wal_that_moves_into_the_database_meanwhile_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO lamp VALUES ('new')")
    writer.commit()
    steps = iter(["PRAGMA wal_checkpoint(TRUNCATE)"])

    def read_and_move(name: str, *arguments: Any) -> bytes | None:
        data = read_side_file(name, *arguments)
        if not name.endswith("-wal"):
            for step in steps:
                writer.execute(step)
        return data

    monkeypatch.setattr(sqlite_file, "read_side_file", read_and_move)
    rows = read(path)
    writer.close()
    assert rows == [("old",), ("new",)]


def test_rows_that_were_read_while_the_client_wrote_do_not_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_MAX_BYTES", 1)
    with open_database(str(path), str(path.parent)) as database:
        changes = iter([1])

        def write(name: str) -> str:
            for _ in changes:
                with sqlite3.connect(path) as writer:
                    writer.execute("INSERT INTO lamp VALUES ('new')")
                writer.close()
                os.utime(path, ns=(1, 1))
            return name

        database.connection.create_function("slow", 1, write)
        assert database.try_rows("SELECT slow(name) FROM lamp") is None
    assert read(path) == [("old",), ("new",)]


def test_writer_that_never_stops_does_not_stop_the_reader(place: str, path: Path) -> None:
    """The reader gives up after some tries: it may find no rows."""
    stop = threading.Event()

    def write() -> None:
        writer = sqlite3.connect(path)
        while not stop.is_set():
            writer.execute("INSERT INTO lamp VALUES ('new')")
            writer.commit()
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        rows = [read(path) for _ in range(20)]
    finally:
        stop.set()
        thread.join()
    assert len(rows) == 20


def test_damaged_database_has_no_rows(place: str, path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(data)
    assert read(path) is None
