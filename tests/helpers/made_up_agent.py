"""The reader of an agent that does not exist, with one session in each form that clients use.

lines/<id>.jsonl   an append-only file: a record for each message
docs/<id>.json     a file that is written again each time: a list of the same records
notes.db           an SQLite database: the tables `session` and `message`
"""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from ccgrep.kinds import FileKind
from ccgrep.model import Session, Text
from ccgrep.sources.identity import safe_id
from ccgrep.sources.json_document import read_document
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import (
    Input,
    NoState,
    Reading,
    SessionIdentity,
    SessionReading,
    make_reading,
)
from ccgrep.sources.registry import Place, Source
from ccgrep.sources.scan import FoundFile, Listing, split_virtual
from ccgrep.sources.sqlite_file import open_database
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import as_count, as_string, find_project, parse_time, uuid_bytes

SOURCE = Source(
    "made_up",
    "Made Up",
    __name__,
    (Place(".made-up", ("lines", "docs", "notes.db"), "MADE_UP_HOME"),),
    watched=("lines", "docs", "notes.db", "notes.db-wal"),
    resume=("made-up", "--session={id}"),
)


class Record(Struct):
    """A message."""

    role: Any = None
    text: Any = None
    time: Any = None
    id: Any = None
    cwd: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        return "role" in value


class State(Struct, frozen=True):
    cwd: str = ""


def list_files(listing: Listing) -> None:
    root = listing.root.path
    listing.add_tree(os.path.join(root, "lines"), _find_kind)
    listing.add_tree(os.path.join(root, "docs"), _find_kind)
    database = os.path.join(root, "notes.db")
    if listing.add_database(database):
        for id, updated, count in listing.query(
            database,
            "SELECT s.id, s.updated, (SELECT COUNT(*) FROM message WHERE session = s.id)"
            " FROM session AS s",
        ):
            time = as_count(updated) or 0
            listing.add_virtual(database, as_string(id), as_count(count) or 0, time * 1_000_000)


def _find_kind(name: str) -> FileKind | None:
    return "session" if name.endswith((".jsonl", ".json")) else None


def identify(path: str) -> SessionIdentity:
    if "notes.db#" in path:
        return SessionIdentity(safe_id(split_virtual(path)[1]))
    return SessionIdentity(safe_id(Path(path).stem))


def export(found: FoundFile) -> Iterable[dict[str, Any]]:
    _, id = split_virtual(found.path)
    with open_database(found.container, found.root) as database:
        for (cwd,) in database.rows("SELECT cwd FROM session WHERE id = ?", id):
            yield {"cwd": cwd}
        query = "SELECT role, text, time FROM message WHERE session = ? ORDER BY rowid"
        for role, text, time in database.rows(query, id):
            yield {"role": role, "text": text, "time": time}


def read(input: Input, found: FoundFile) -> Reading:
    builder = TurnBuilder(input.sink, input.checkpoint.entries)
    state = input.decode_state(State())
    if not found.container and found.path.endswith(".json"):
        document = read_document(input)
        for value in document.value if isinstance(document.value, list) else []:
            record = Record(**{k: v for k, v in value.items() if k in Record.__struct_fields__})
            state = _add(builder, record, Mark(0, 0), document.end.offset, state)
        entries, _ = builder.finish()
        sessions = [SessionReading(_session(input, state), tuple(entries), document.bad)]
        return make_reading(input, document, sessions, Mark(0, 0), NoState(), is_rewritten=True)
    records = Records(input.stream, input.start, Record)
    for mark, end, record in records:
        state = _add(builder, record, mark, end, state)
    entries, resume = builder.finish()
    bad = (*input.checkpoint.bad, *records.bad)
    session = SessionReading(_session(input, state), tuple(entries), bad)
    return make_reading(input, records, [session], *(resume or (Mark(0, 0), State())))


def _add(builder: TurnBuilder, record: Record, mark: Mark, end: int, state: State) -> State:
    uuid, time = uuid_bytes(record.id), parse_time(record.time)
    builder.record = RecordInfo(mark, end, state, time, state.cwd, uuid=uuid)
    if record.role == "user":
        builder.begin_turn(as_string(record.text))
    elif record.role == "agent":
        builder.begin_message(str(builder.record.time), "made-up-1")
        builder.add_part(Text(as_string(record.text)))
    return State(as_string(record.cwd) or state.cwd)


def _session(input: Input, state: State) -> Session:
    cwd = state.cwd
    return Session(
        input.identity.id, "made_up", cwd=cwd, project=find_project(cwd), title="made up"
    )


def write_database(path: Path, sessions: dict[str, list[tuple[str, str, int]]]) -> None:
    """Write messages (role, text, time in ms) of sessions, with the time of the last as version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, cwd, updated)")
        database.execute("CREATE TABLE IF NOT EXISTS message (session, role, text, time)")
        for id, messages in sessions.items():
            values = (id, "/work/shop", messages[-1][2])
            database.execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?)", values)
            database.execute("DELETE FROM message WHERE session = ?", (id,))
            rows = [(id, *message) for message in messages]
            database.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", rows)
    database.close()
