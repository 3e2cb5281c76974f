"""Reads SQLite databases of a client that may be running, without writing or making it wait.

SQLite itself would lock the file and create files beside it. So a database of up to 64 MB is read
into memory, with its write-ahead log (WAL), which often holds most of the rows. A larger one is
read in place. The database is untrusted: a query that takes too long is aborted, and any error
means that there are no rows.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from ccgrep.sources.files import read_side_file

_MAX_BYTES = 64 * 1024 * 1024
_MAX_VALUE_BYTES = 16 * 1024 * 1024
_MAX_STEPS = 200  # of 1,000,000 instructions each
_WAL_HEADER = 32
_FRAME_HEADER = 24

Row = tuple[object, ...]


class Database:
    """A database to read from."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, *values: str) -> list[Row]:
        """Return the rows of a query, or none if the database is damaged or has other tables."""
        return self.try_rows(query, *values) or []

    def try_rows(self, query: str, *values: str) -> list[Row] | None:
        """Return the rows of a query, or None if it fails."""
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return None


@contextmanager
def open_database(path: str, root: str) -> Iterator[Database]:
    """Open a database. One that is too large for memory is read in place."""
    with _connect(path, root) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        steps = iter(range(_MAX_STEPS))
        connection.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
        database = Database(connection)
        database.rows("PRAGMA trusted_schema = OFF")
        yield database


@contextmanager
def _connect(path: str, root: str) -> Iterator[sqlite3.Connection]:
    data = read_side_file(path, root, _MAX_BYTES)
    if data is None and os.path.isfile(path) and not os.path.islink(path):
        connection = _open_in_place(path)
    else:
        connection = sqlite3.connect(":memory:")
        pages = bytearray(data or b"")
        apply_wal(pages, read_side_file(f"{path}-wal", root, _MAX_BYTES) or b"")
        if pages:
            pages[18:20] = b"\1\1"  # no WAL: an in-memory database cannot have one
            connection.deserialize(bytes(pages))
    try:
        yield connection
    finally:
        connection.close()


def _open_in_place(path: str) -> sqlite3.Connection:
    """Open a large database without writing anything.

    With a WAL, SQLite holds a shared lock in the client's `-shm` during a query. It makes no
    writer wait. Without the two files, it takes no lock at all.
    """
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if os.path.isfile(f"{path}-wal"):
        connection = sqlite3.connect(f"file:{quoted}?mode=ro&readonly_shm=1", uri=True)
        if Database(connection).try_rows("SELECT 1 FROM sqlite_master") is not None:
            return connection
        connection.close()
    return sqlite3.connect(f"file:{quoted}?immutable=1", uri=True)


def apply_wal(pages: bytearray, wal: bytes) -> None:
    """Write the committed pages of a WAL into the database that it belongs to.

    Frames of an earlier use of the WAL have another salt. Their checksums are not verified: a page
    that was being written makes the query fail, and the next change is read again.
    """
    size, salt = int.from_bytes(wal[8:12]), wal[16:24]
    if not 512 <= size <= 65536:
        return
    uncommitted: dict[int, bytes] = {}
    for start in range(_WAL_HEADER, len(wal) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        number, pages_after = (int.from_bytes(wal[start + at :][:4]) for at in (0, 4))
        if wal[start + 8 : start + 16] != salt or number * size > _MAX_BYTES:
            break
        uncommitted[number] = wal[start + _FRAME_HEADER :][:size]
        if pages_after:
            _write_pages(pages, uncommitted, size)
            uncommitted.clear()


def _write_pages(pages: bytearray, changed: dict[int, bytes], size: int) -> None:
    for number, page in changed.items():
        end = number * size
        pages.extend(bytes(max(end - len(pages), 0)))
        pages[end - size : end] = page
