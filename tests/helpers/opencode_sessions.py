"""Makes up sessions of opencode, in its database or in the JSON files of older versions."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import EPOCH_MS

MODEL = "made-up-model"
CWD = "/home/sam/src/shop"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, directory TEXT NOT NULL,
    title TEXT NOT NULL, version TEXT NOT NULL, cost REAL NOT NULL DEFAULT 0, revert TEXT,
    agent TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS part (
    id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
"""
_SECOND_SCHEMA = """
CREATE TABLE IF NOT EXISTS session_v2 (
    id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, directory TEXT NOT NULL, title TEXT,
    version TEXT NOT NULL, revert TEXT, agent TEXT, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL, time_idle INTEGER);
CREATE TABLE IF NOT EXISTS session_message (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
"""
Part = dict[str, Any]


class OpencodeSession:
    """A session: a list of messages with their parts."""

    def __init__(self, number: int = 1, **fields: Any) -> None:
        self.id = f"ses_{number:026x}"
        self.time = EPOCH_MS + number * 1_000_000
        self.fields: dict[str, Any] = {
            "title": "New session - 2026-01-31T10:00:00.000Z",
            "directory": CWD,
            "time_created": self.time,
            **fields,
        }
        self.messages: list[tuple[str, dict[str, Any], list[Part]]] = []
        self._number = number

    def add(self, role: str, *parts: Part, **fields: Any) -> str:
        """Add a message, and return its id."""
        self.time += 1000
        id = f"msg_{self._number:04x}{len(self.messages):022x}"
        data = {"role": role, "time": {"created": self.time}, **fields}
        self.messages.append((id, data, list(parts)))
        return id

    def prompt(self, *parts: str | Part, **fields: Any) -> str:
        model = {"providerID": "stub", "modelID": MODEL}
        return self.add("user", *map(_part, parts), agent="build", model=model, **fields)

    def answer(self, *parts: str | Part, **fields: Any) -> str:
        usage = tokens()
        own = {"modelID": MODEL, "cost": 0.25, "tokens": usage, **fields}
        end = {"type": "step-finish", "reason": "stop", "cost": 0.25, "tokens": usage}
        return self.add("assistant", *map(_part, parts), end, path={"cwd": CWD, "root": CWD}, **own)

    def turn(self, prompt: str, answer: str) -> str:
        """Add a prompt and its answer, and return the id of the prompt."""
        id = self.prompt(prompt)
        self.answer(answer)
        return id

    def copy(self, number: int, **fields: Any) -> "OpencodeSession":
        """Return a fork, as opencode makes it: the messages under new ids, with the same times."""
        fork = OpencodeSession(number, **fields)
        for _, data, parts in self.messages:
            id = f"msg_{number:04x}{len(fork.messages):022x}"
            fork.messages.append((id, data, parts))
        return fork

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as ccgrep exports them."""
        rows: list[dict[str, Any]] = [{"type": "session", "id": self.id, **self.fields}]
        for id, data, parts in self.messages:
            rows.append({"type": "message", "id": id, "data": data})
            rows += [{"type": "part", "id": f"prt_{n}", "data": p} for n, p in enumerate(parts)]
        return rows

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows())


def _part(part: str | Part) -> Part:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def tokens(input: int = 10, output: int = 2, reasoning: int = 3) -> dict[str, Any]:
    cache = {"read": 300, "write": 4}
    return {"input": input, "output": output, "reasoning": reasoning, "cache": cache}


def note(text: str) -> Part:
    return {"type": "text", "text": text, "synthetic": True}


def call(tool: str, output: str = "", *, id: str = "call_1", **input: Any) -> Part:
    state = {"status": "completed", "input": input, "output": output, "metadata": {}}
    return {"type": "tool", "tool": tool, "callID": id, "state": state}


def connect(root: Path) -> sqlite3.Connection:
    root.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(root / "opencode.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(_SCHEMA)
    return database


def write_database(root: Path, *sessions: OpencodeSession) -> Path:
    """Write sessions as opencode leaves them when it exits."""
    database = connect(root)
    insert(database, *sessions)
    database.close()
    return root / "opencode.db"


def insert(database: sqlite3.Connection, *sessions: OpencodeSession) -> None:
    """Insert or replace sessions. Their own time stays that of their start, as opencode does it."""
    for session in sessions:
        for table, column in (("session", "id"), ("message", "session_id"), ("part", "session_id")):
            database.execute(f"DELETE FROM {table} WHERE {column} = ?", (session.id,))
        fields = {"parent_id": None, "revert": None, "agent": None, **session.fields}
        revert = fields["revert"] and json.dumps(fields["revert"])
        created = fields["time_created"]
        database.execute(
            "INSERT INTO session VALUES (?, 'global', ?, ?, ?, '1.18.33', 0, ?, ?, ?, ?)",
            (
                *(session.id, fields["parent_id"], fields["directory"], fields["title"]),
                *(revert, fields["agent"], created, created),
            ),
        )
        for id, data, parts in session.messages:
            time = data["time"]["created"]
            values = (id, session.id, time, time, json.dumps(data))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", values)
            for number, part in enumerate(parts):
                part_id = f"prt_{id[4:]}{number:04x}"
                row = (part_id, id, session.id, time, time, json.dumps(part))
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    database.commit()


class SecondSession:
    """A session of opencode 2: a list of messages with a kind."""

    def __init__(self, number: int = 1, **fields: Any) -> None:
        self.id = f"ses_{number:026x}"
        self.time = EPOCH_MS + number * 1_000_000
        self.fields: dict[str, Any] = {"directory": CWD, "title": "Lamp work", **fields}
        self.messages: list[tuple[str, dict[str, Any]]] = []

    def add(self, kind: str, **data: Any) -> str:
        """Add a message, and return its id."""
        self.time += 1000
        self.messages.append((kind, {"time": {"created": self.time}, **data}))
        return f"{self.id}_{len(self.messages) - 1}"

    def answer(self, *content: Part, **data: Any) -> str:
        model = {"id": MODEL, "providerID": "stub"}
        return self.add("assistant", content=list(content), model=model, agent="build", **data)

    def turn(self, prompt: str, answer: str) -> str:
        id = self.add("user", text=prompt)
        self.answer({"type": "text", "text": answer}, tokens=tokens(), cost=0.25)
        return id

    def write(self, root: Path) -> Path:
        """Write the session into the database, beside those of version 1."""
        root.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(root / "opencode.db")
        database.executescript(_SECOND_SCHEMA)
        columns = {"id": self.id, "version": "2.0.22", "time_created": EPOCH_MS, **self.fields}
        columns["time_updated"] = EPOCH_MS
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        values = [json.dumps(v) if isinstance(v, dict) else v for v in columns.values()]
        database.execute(f"INSERT OR REPLACE INTO session_v2 ({names}) VALUES ({marks})", values)
        database.execute("DELETE FROM session_message WHERE session_id = ?", (self.id,))
        for number, (kind, data) in reversed([*enumerate(self.messages)]):
            time = data["time"]["created"]
            row = (f"{self.id}_{number}", self.id, kind, number, time, time, json.dumps(data))
            database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()
        database.close()
        return root / "opencode.db"


def write_storage(root: Path, session: OpencodeSession) -> Path:
    """Write a session as versions before 1.2 did."""
    storage = root / "storage"
    fields = dict(session.fields)
    created = fields.pop("time_created")
    info = {"id": session.id, "projectID": "p1", "version": "1.1.0", **fields}
    info["time"] = {"created": created, "updated": created}
    _write(storage / "session" / "p1" / f"{session.id}.json", info)
    _write(storage / "project" / "p1.json", {"id": "p1", "worktree": CWD})
    for id, data, parts in session.messages:
        ids = {"id": id, "sessionID": session.id}
        _write(storage / "message" / session.id / f"{id}.json", {**ids, **data})
        for number, part in enumerate(parts):
            name = f"prt_{id[4:]}{number:04x}"
            _write(storage / "part" / id / f"{name}.json", {"id": name, "messageID": id, **part})
    return storage


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))
