"""Finds opencode's sessions, and yields their rows from the database or the older JSON files.

Version 2 keeps sessions in tables of its own. It copies a session of the older tables into them
under the same id, so ccgrep reads from the older tables only those that the newer ones lack.
Since version 1.2 opencode keeps sessions in a database. It imported the JSON files of earlier
versions and left them in place, so ccgrep reads only those that the database lacks.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from ccgrep.lazy_re import compile_pattern
from ccgrep.sources.files import read_side_json
from ccgrep.sources.jsonl import decode_leniently
from ccgrep.sources.scan import FoundFile, Listing, split_virtual
from ccgrep.sources.sqlite_file import Database, Row, open_database
from ccgrep.sources.values import as_count, as_string

_DATABASE = r"opencode(-[\w.-]+)?\.db"
_VERSIONS = """
    SELECT s.id, s.time_updated,
        (SELECT max(m.time_updated, ifnull(
            (SELECT max(time_updated) FROM part WHERE message_id = m.id), 0))
         FROM message m WHERE m.session_id = s.id
         ORDER BY m.time_created DESC, m.id DESC LIMIT 1),
        (SELECT count(*) FROM message WHERE session_id = s.id)
            + (SELECT count(*) FROM part WHERE session_id = s.id)
    FROM session s"""
"""When each session or its newest message changed, and its number of rows.

The time of the session itself is not enough: opencode does not update it after each answer.
"""
_SECOND_VERSIONS = """
    SELECT s.id, s.time_updated,
        (SELECT max(time_updated) FROM session_message WHERE session_id = s.id),
        (SELECT count(*) FROM session_message WHERE session_id = s.id) AS messages
    FROM session_v2 s WHERE messages > 0"""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_VOLATILE = frozenset(
    "time_updated time_compacting time_suspended time_idle time_viewed idle_outcome resume_attempts"
    " summary_additions summary_deletions summary_files summary_diffs"
    " tokens_input tokens_output tokens_reasoning tokens_cache_read tokens_cache_write cost".split()
)
"""Columns that each answer changes and that follow from the messages."""
_MESSAGES = (
    "SELECT id, time_created, CAST(data AS BLOB) FROM message"
    " WHERE session_id = ? ORDER BY time_created, id",
    "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id",
    "SELECT id, time_created, CAST(data AS BLOB) FROM message WHERE id = ?",
)
_PARTS = (
    "SELECT id, time_created, CAST(data AS BLOB), message_id FROM part"
    " WHERE session_id = ? ORDER BY id",
    "SELECT id FROM part WHERE session_id = ? ORDER BY id",
    "SELECT id, time_created, CAST(data AS BLOB), message_id FROM part WHERE id = ?",
)
"""All rows of a session, their ids, and one row."""
_SECOND_MESSAGES = (
    "SELECT id, time_created, CAST(data AS BLOB), type FROM session_message"
    " WHERE session_id = ? ORDER BY seq, id",
    "SELECT id FROM session_message WHERE session_id = ? ORDER BY seq, id",
    "SELECT id, time_created, CAST(data AS BLOB), type FROM session_message WHERE id = ?",
)
_ORIGIN = """
    SELECT s.id FROM session s
    WHERE s.time_created < (SELECT time_created FROM session WHERE id = ?1) AND EXISTS (
        SELECT 1 FROM message WHERE session_id = s.id AND time_created = CAST(?2 AS INTEGER))
    ORDER BY s.title = ?3 DESC, s.time_created LIMIT 1"""
_FORK = r"(.+) \(fork #(\d{1,6})\)"


def list_files(listing: Listing) -> None:
    """Add the sessions of the databases, and those that are in JSON files only."""
    root = listing.root.path
    known: set[str] = set()
    for path in _find_databases(root):
        if listing.add_database(path):
            known.update(_add_rows(listing, path))
    storage = os.path.join(root, "storage")
    for project in listing.list_folder(os.path.join(storage, "session")):
        if project.is_dir(follow_symlinks=False):
            for entry in listing.list_folder(project.path):
                id = entry.name.removesuffix(".json")
                if entry.name != id and id not in known:
                    _add_folders(listing, storage, entry, id)


def _find_databases(root: str) -> list[str]:
    """Return the path of the usual database, and of those of development builds."""
    try:
        names = os.listdir(root)
    except OSError:
        names = []
    found = {name for name in names if compile_pattern(_DATABASE).fullmatch(name)}
    return [os.path.join(root, name) for name in sorted({"opencode.db", *found})]


def _add_rows(listing: Listing, database: str) -> set[str]:
    """Add the sessions of a database, and return their ids."""
    tables = {row[0] for row in listing.query(database, _TABLES)}
    queries = [_SECOND_VERSIONS] if {"session_v2", "session_message"} <= tables else []
    if "session" in tables or not queries:
        queries.append(_VERSIONS)
    known: set[str] = set()
    for query in queries:
        for id, *times, count in listing.query(database, query):
            if isinstance(id, str) and id not in known:
                changed = max(as_count(time) or 0 for time in times)
                listing.add_virtual(database, id, as_count(count) or 0, changed * 1_000_000)
                known.add(id)
    return known


def _add_folders(listing: Listing, storage: str, entry: os.DirEntry[str], id: str) -> None:
    """Add a session of an older version. Its version is the time of its newest file."""
    listing.add_entry(entry, "database")  # a file that changes with the session
    messages = listing.list_folder(os.path.join(storage, "message", id))
    paths = [message.path for message in messages]
    names = [message.name.removesuffix(".json") for message in messages]
    folders = [os.path.join(storage, "part", name) for name in names]
    newest = max(_mtime_ns(path) for path in (entry.path, *paths, *folders))
    listing.add_virtual(storage, id, len(messages), newest)


def _mtime_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def export(found: FoundFile) -> Iterable[dict[str, Any]]:
    """Return the row of a session, and then each message followed by its parts."""
    container, id = split_virtual(found.path)
    if container.endswith(".db"):
        with open_database(container, found.root) as database:
            rows = [*_export_rows(database, id)]
    else:
        rows = [*_export_files(container, found.root, id)]
    if not rows or rows[0]["type"] != "session":
        raise OSError("its session cannot be read")
    return rows


def _export_rows(database: Database, id: str) -> Iterator[dict[str, Any]]:
    if database.try_rows(f"{_SECOND_VERSIONS} AND s.id = ?", id):
        yield from _export_session(database, "session_v2", id)
        for message, created, data, kind in _select(database, id, *_SECOND_MESSAGES):
            row = {"type": "message", "kind": kind, "id": message, "time_created": created}
            yield {**row, "data": _decode(data)}
        return
    yield from _export_session(database, "session", id)
    parts: dict[object, list[dict[str, Any]]] = {}
    for part, created, data, message in _select(database, id, *_PARTS):
        part_row = {"type": "part", "id": part, "time_created": created, "data": _decode(data)}
        parts.setdefault(message, []).append(part_row)
    for message, created, data in _select(database, id, *_MESSAGES):
        yield {"type": "message", "id": message, "time_created": created, "data": _decode(data)}
        yield from parts.get(message, ())


def _export_session(database: Database, table: str, id: str) -> Iterator[dict[str, Any]]:
    names = [str(row[0]) for row in database.rows("SELECT name FROM pragma_table_info(?)", table)]
    for row in database.rows(f"SELECT * FROM {table} WHERE id = ?", id):  # noqa: S608 - a constant
        fields = {name: value for name, value in zip(names, row, strict=False) if value is not None}
        session = {name: fields[name] for name in fields if name not in _VOLATILE}
        for name in ("revert", "model"):
            if name in session:
                session[name] = _decode(session[name])
        origin = as_string(fields.get("fork_session_id"))
        if table == "session":
            origin = _find_origin(database, id, as_string(fields.get("title")))
        yield {"type": "session", **session, **({"forked_from": origin} if origin else {})}


def _select(database: Database, session: str, query: str, ids: str, one: str) -> list[Row]:
    """Return the rows of a session. If one of them cannot be read, return the others."""
    rows = database.try_rows(query, session)
    if rows is not None:
        return rows
    return [
        row for (id,) in database.rows(ids, session) for row in database.rows(one, as_string(id))
    ]


def _decode(data: Any) -> Any:
    text = data.encode() if isinstance(data, str) else data
    return decode_leniently(text) if isinstance(text, bytes) else None


def _find_origin(database: Database, id: str, title: str) -> str:
    """Return the session of which another one is a fork, or an empty string.

    opencode does not record it. But a fork has the messages of its origin, which are older than the
    fork itself, and a numbered title.
    """
    first = database.rows(
        "SELECT min(m.time_created) FROM message m JOIN session s ON s.id = m.session_id"
        " WHERE s.id = ? AND m.time_created < s.time_created",
        id,
    )
    if not first or first[0][0] is None:
        return ""
    match = compile_pattern(_FORK).fullmatch(title)
    number = int(match.group(2)) - 1 if match else 0
    origin = f"{match.group(1)} (fork #{number})" if match and number else ""
    origin = origin or (match.group(1) if match else "")
    rows = database.rows(_ORIGIN, id, str(first[0][0]), origin)
    return as_string(rows[0][0]) if rows else ""


def _export_files(storage: str, root: str, id: str) -> Iterator[dict[str, Any]]:
    for project in _list_names(os.path.join(storage, "session")):
        path = os.path.join(storage, "session", project, f"{id}.json")
        if session := read_side_json(path, root):
            above = read_side_json(os.path.join(storage, "project", f"{project}.json"), root)
            yield {"directory": as_string(above.get("worktree")), **session, "type": "session"}
    folder = os.path.join(storage, "message", id)
    for name, message in sorted(_read_folder(folder, root), key=_order):
        yield {"type": "message", "id": name, "data": message}
        for part, data in sorted(_read_folder(os.path.join(storage, "part", name), root)):
            yield {"type": "part", "id": part, "data": data}


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read_folder(folder: str, root: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the names and contents of the JSON files in a folder."""
    names = [name for name in _list_names(folder) if name.endswith(".json")]
    return [(name[:-5], read_side_json(os.path.join(folder, name), root)) for name in names]


def _order(message: tuple[str, dict[str, Any]]) -> tuple[int, str]:
    name, fields = message
    time = fields.get("time")
    return (as_count(time.get("created")) if isinstance(time, dict) else None) or 0, name
