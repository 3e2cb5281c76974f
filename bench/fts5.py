"""A peer: the turns that ccgrep's readers find in an FTS5 table of SQLite, ranked by bm25.

    python bench/fts5.py index DATABASE ROOT…
    python bench/fts5.py search DATABASE WORDS

It is what one would write first, and what several tools for this are. The files are read by as
many processes as there are cores, as ccgrep does, so that what parsing costs is the same; nothing
is hashed, kept for ever or checked. A file that changed is read anew, and its new rows are added.
"""

from __future__ import annotations

import os
import sqlite3
import sys

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple  # sooner imported than typing

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
_AHEAD = 32
_FOUND = """
SELECT session, turn, -bm25(words), snippet(words, -1, '', '', '…', 16)
FROM words JOIN turns ON turns.id = words.rowid
WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10
"""


class Place(NamedTuple):
    session: str
    turn: int
    texts: tuple[str, ...]


def index(database: str, roots: Sequence[str]) -> None:
    """Takes in the files below the roots that are new or changed."""
    connection = sqlite3.connect(database)
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
    known = {row[0]: row[1:] for row in connection.execute("SELECT path, size, mtime FROM files")}
    found = {path: (info.st_size, info.st_mtime_ns) for path, info in _files(roots)}
    changed = [path for path, stat in found.items() if known.get(path) != stat]
    for path, places in _read(changed):
        with connection:
            _add(connection, path, places)
            row = (path, *found[path])
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", row)
    connection.close()


def _files(roots: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                if name.endswith(".jsonl"):
                    path = os.path.join(folder, name)
                    yield path, os.stat(path)


def _read(paths: Sequence[str]) -> Iterator[tuple[str, list[Place]]]:
    if len(paths) <= 1:
        yield from map(places_of, paths)
        return
    import multiprocessing  # noqa: PLC0415 - a search does without

    # Some files ahead of what is being written, and no more: they are held in memory.
    chunks = [paths[at : at + _AHEAD] for at in range(0, len(paths), _AHEAD)]
    with multiprocessing.Pool() as pool:
        ahead = pool.map_async(places_of, chunks[0], chunksize=1)
        for chunk in [*chunks[1:], []]:
            now, ahead = ahead, pool.map_async(places_of, chunk, chunksize=1)
            yield from now.get()


def places_of(path: str) -> tuple[str, list[Place]]:
    """The turns of a transcript, by ccgrep's readers."""
    from ccgrep.fulltext.document import turn_text  # noqa: PLC0415
    from ccgrep.model import ObjectId, Turn  # noqa: PLC0415
    from ccgrep.sources.claude import ClaudeReader  # noqa: PLC0415
    from ccgrep.sources.codex import CodexReader  # noqa: PLC0415
    from ccgrep.sources.identity import identify  # noqa: PLC0415
    from ccgrep.sources.jsonl import Mark  # noqa: PLC0415
    from ccgrep.sources.spills import Spills  # noqa: PLC0415

    turns: list[Turn] = []

    def sink(turn: Turn) -> ObjectId:
        turns.append(turn)
        return ObjectId(len(turns).to_bytes(4))

    with open(path, "rb") as file:
        if os.path.basename(path).startswith("rollout"):
            reading = CodexReader(file, Mark(0, 0), identify("codex", path), None, sink).read()
        else:
            spills = Spills(path)
            identity = identify("claude_code", path)
            reading = ClaudeReader(file, Mark(0, 0), identity, None, sink, spills).read()
    return path, [
        Place(part.session.id, number, tuple(turn_text(turn, kind) for kind in _KINDS))
        for part in reading.sessions
        for number, entry in enumerate(part.entries)
        for turn in [turns[int.from_bytes(entry.turn) - 1]]
    ]


def _add(connection: sqlite3.Connection, path: str, places: Sequence[Place]) -> None:
    """Adds the rows that are new; the last one of each session may have grown."""
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
    for session, turn, score, text in connection.execute(_FOUND, [quoted]):
        line = text.replace("\n", " ")
        print(f"{session}:{turn}:{score:.3f}:{line}")


if __name__ == "__main__":
    if sys.argv[1] == "index":
        index(sys.argv[2], sys.argv[3:])
    else:
        search(sys.argv[2], " ".join(sys.argv[3:]))
