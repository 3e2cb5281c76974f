"""A peer: the turns that ccgrep's readers find, in an FTS5 table of SQLite, ranked by bm25.

    python bench/fts5.py index DATABASE ROOT…
    python bench/fts5.py search DATABASE WORDS

This is the obvious design, which several tools use. Like ccgrep, it parses files in one process
per core. It hashes, keeps and verifies nothing. If a file changed, it parses the whole file and
adds the new rows.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple  # quicker to import than typing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ccgrep.kinds import TextKind

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER);
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, path TEXT, session TEXT, turn INTEGER,
    user TEXT, assistant TEXT, thinking TEXT, tool TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS places ON turns (path, session, turn);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    user, assistant, thinking, tool, content='turns', content_rowid='id'
);
"""
_KINDS: tuple[TextKind, ...] = ("user", "assistant", "thinking", "tool")
_CHUNK_FILES = 32
_SEARCH = """
SELECT session, turn, -bm25(words), snippet(words, -1, '', '', '…', 16)
FROM words JOIN turns ON turns.id = words.rowid
WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10
"""


class Place(NamedTuple):
    session: str
    turn: int
    texts: tuple[str, ...]


def index(database: str, roots: Sequence[str]) -> None:
    """Ingest the files below the roots that are new or changed."""
    connection = sqlite3.connect(database)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
    known = {row[0]: row[1:] for row in connection.execute("SELECT path, size, mtime FROM files")}
    current = {path: (info.st_size, info.st_mtime_ns) for path, info in _files(roots)}
    changed = [path for path, stat in current.items() if known.get(path) != stat]
    for path, places in _read_files(changed):
        with connection:
            _add(connection, path, places)
            row = (path, *current[path])
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", row)
    connection.close()


def _files(roots: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                if name.endswith(".jsonl"):
                    path = os.path.join(folder, name)
                    yield path, os.stat(path)


def _read_files(paths: Sequence[str]) -> Iterator[tuple[str, list[Place]]]:
    if len(paths) <= 1:
        yield from map(read_places, paths)
        return
    import multiprocessing  # noqa: PLC0415 - a search does not need it

    # Read only one chunk ahead of the writer, since it is held in memory.
    chunks = [paths[at : at + _CHUNK_FILES] for at in range(0, len(paths), _CHUNK_FILES)]
    with multiprocessing.Pool() as pool:
        ahead = pool.map_async(read_places, chunks[0], chunksize=1)
        for chunk in [*chunks[1:], []]:
            current, ahead = ahead, pool.map_async(read_places, chunk, chunksize=1)
            yield from current.get()


def read_places(path: str) -> tuple[str, list[Place]]:
    """Return the turns of a transcript as ccgrep's readers find them."""
    from ccgrep.fulltext.document import turn_text  # noqa: PLC0415
    from ccgrep.model import ObjectId, Turn  # noqa: PLC0415
    from ccgrep.sources.claude import ClaudeReader  # noqa: PLC0415
    from ccgrep.sources.codex import CodexReader  # noqa: PLC0415
    from ccgrep.sources.jsonl import Mark  # noqa: PLC0415
    from ccgrep.sources.readers import identify  # noqa: PLC0415
    from ccgrep.sources.reading import Input  # noqa: PLC0415
    from ccgrep.sources.spills import Spills  # noqa: PLC0415

    turns: list[Turn] = []

    def sink(turn: Turn) -> ObjectId:
        turns.append(turn)
        return ObjectId(len(turns).to_bytes(4))

    with open(path, "rb") as file:
        if os.path.basename(path).startswith("rollout"):
            reading = CodexReader(Input(file, Mark(0, 0), identify("codex", path), sink)).read()
        else:
            input = Input(file, Mark(0, 0), identify("claude_code", path), sink)
            reading = ClaudeReader(input, Spills(path)).read()
    return path, [
        Place(part.session.id, number, tuple(turn_text(turn, kind) for kind in _KINDS))
        for part in reading.sessions
        for number, entry in enumerate(part.entries)
        for turn in [turns[int.from_bytes(entry.turn) - 1]]
    ]


def _add(connection: sqlite3.Connection, path: str, places: Sequence[Place]) -> None:
    """Add the new rows, and replace the last row of each session, which may have grown."""
    last = dict(
        connection.execute("SELECT session, max(turn) FROM turns WHERE path = ? GROUP BY 1", [path])
    )
    for place in places:
        if place.turn < last.get(place.session, 0):
            continue
        _remove(connection, path, place)
        row: tuple[Any, ...] = (path, place.session, place.turn, *place.texts)
        added = connection.execute(
            "INSERT INTO turns VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row
        ).lastrowid
        connection.execute(
            "INSERT INTO words (rowid, user, assistant, thinking, tool) VALUES (?, ?, ?, ?, ?)",
            (added, *place.texts),
        )


def _remove(connection: sqlite3.Connection, path: str, place: Place) -> None:
    where = (path, place.session, place.turn)
    connection.execute(
        "INSERT INTO words (words, rowid, user, assistant, thinking, tool) "
        "SELECT 'delete', id, user, assistant, thinking, tool FROM turns "
        "WHERE path = ? AND session = ? AND turn = ?",
        where,
    )
    connection.execute("DELETE FROM turns WHERE path = ? AND session = ? AND turn = ?", where)


def search(database: str, words: str) -> None:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
    for session, turn, score, text in connection.execute(_SEARCH, [quoted]):
        line = text.replace("\n", " ")
        print(f"{session}:{turn}:{score:.3f}:{line}")


if __name__ == "__main__":
    if sys.argv[1] == "index":
        index(sys.argv[2], sys.argv[3:])
    else:
        search(sys.argv[2], " ".join(sys.argv[3:]))
