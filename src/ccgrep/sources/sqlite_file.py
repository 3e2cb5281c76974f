"""Reads SQLite databases of a client that may be running, without writing or making it wait.

SQLite itself would lock the file and create files beside it. So a database of up to 64 MB is read
into memory, with its write-ahead log (WAL), which often holds most of the rows. A larger one is
read in place. Without a lock, the client may write at the same time: what was read counts only if
the file is still the same afterwards. The database is untrusted: a query that takes too long is
aborted, and any error means that there are no rows.
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
_MAX_TRIES = 5

Row = tuple[object, ...]


class Database:
    """A database to read from."""

    def __init__(self, connection: sqlite3.Connection, unlocked: str = "") -> None:
        self.connection = connection
        self._unlocked = unlocked  # the path, if it is read in place without a lock

    def rows(self, query: str, *values: str) -> list[Row]:
        """Return the rows of a query, or none if the database is damaged or has other tables."""
        return self.try_rows(query, *values) or []

    def try_rows(self, query: str, *values: str) -> list[Row] | None:
        """Return the rows of a query, or None if it fails or the client wrote meanwhile."""
        before = _stat(self._unlocked)
        try:
            rows = self.connection.execute(query, values).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return None
        return rows if _stat(self._unlocked) == before else None


@contextmanager
def open_database(path: str, root: str) -> Iterator[Database]:
    """Open a database. One that is too large for memory is read in place."""
    database = _connect(path, root)
    connection = database.connection
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        steps = iter(range(_MAX_STEPS))
        connection.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
        database.rows("PRAGMA trusted_schema = OFF")
        yield database
    finally:
        connection.close()


def _connect(path: str, root: str) -> Database:
    pages = _read_pages(path, root)
    if pages is None and os.path.isfile(path) and not os.path.islink(path):
        return _open_in_place(path)
    connection = sqlite3.connect(":memory:")
    if pages:
        pages[18:20] = b"\1\1"  # no WAL: an in-memory database cannot have one
        connection.deserialize(bytes(pages))
    return Database(connection)


def _read_pages(path: str, root: str) -> bytearray | None:
    """Return a database with its WAL, or None if it is unreadable or too large.

    If the client moved the WAL into the database meanwhile, that may be a mixture of both. The
    last try is taken as it is: pages that do not fit together make the query fail.
    """
    pages = bytearray()
    for _ in range(_MAX_TRIES):
        before = _stat(path)
        data = read_side_file(path, root, _MAX_BYTES)
        wal = read_side_file(f"{path}-wal", root, _MAX_BYTES)
        if data is None or (wal is None and os.path.isfile(f"{path}-wal")):
            return None
        pages = bytearray(data)
        apply_wal(pages, wal or b"")
        if _stat(path) == before:
            break
    return pages


def _stat(path: str) -> tuple[int, ...]:
    """Return what changes when a client writes to a database: of it, and of its journal."""
    found: list[int] = []
    for name in (path, f"{path}-journal") if path else ():
        try:
            info = os.stat(name)
        except OSError:
            found.append(-1)
        else:
            found += (info.st_mtime_ns, info.st_size, info.st_ino)
    return tuple(found)


def _open_in_place(path: str) -> Database:
    """Open a large database without writing anything.

    With a WAL, SQLite holds a shared lock in the client's `-shm` during a query. It makes no
    writer wait. Without the two files, it takes no lock at all: a query does not count if the
    client has written meanwhile.
    """
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if os.path.isfile(f"{path}-wal"):
        connection = sqlite3.connect(f"file:{quoted}?mode=ro&readonly_shm=1", uri=True)
        database = Database(connection)
        if database.try_rows("SELECT 1 FROM sqlite_master") is not None:
            return database
        connection.close()
    return Database(sqlite3.connect(f"file:{quoted}?immutable=1", uri=True), path)


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
        is_invalid = not 0 < number * size <= _MAX_BYTES
        if wal[start + 8 : start + 16] != salt or is_invalid:
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
