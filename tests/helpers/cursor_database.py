"""Builds a made-up database of Cursor's IDE."""

import json
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import EPOCH_MS, iso


class CursorChat:
    """A chat, which `write` stores in the database with all its messages."""

    def __init__(self, folder: Path, seed: int = 1, **composer: Any) -> None:
        self.path = folder / "state.vscdb"
        self.id = str(uuid.UUID(int=seed, version=4))
        workspace = {"uri": {"fsPath": "/home/sam/src/shop"}}
        self.composer = {"workspaceIdentifier": workspace, **composer}
        self.bubbles: list[dict[str, Any]] = []

    def add(self, type: int, **fields: Any) -> dict[str, Any]:
        number = len(self.bubbles)
        time = iso(EPOCH_MS + number * 1000)
        bubble = {"bubbleId": f"b{9 - number}", "type": type, "createdAt": time, **fields}
        self.bubbles.append(bubble)
        return bubble

    def prompt(self, text: str, **fields: Any) -> None:
        self.add(1, text=text, attachedCodeChunks=["what the client added"], **fields)

    def answer(self, text: str = "", **fields: Any) -> None:
        self.add(2, text=text, **fields)

    def turn(self, prompt: str, answer: str) -> None:
        self.prompt(prompt)
        self.answer(answer)

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        headers = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in self.bubbles]
        composer = {**self.composer, "fullConversationHeadersOnly": headers}
        with sqlite3.connect(self.path) as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS cursorDiskKV"
                " (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
            )
            self.put(database, f"composerData:{self.id}", composer)
            for one in self.bubbles:
                self.put(database, f"bubbleId:{self.id}:{one['bubbleId']}", one)
        database.close()

    def put(self, database: sqlite3.Connection, key: str, value: Any) -> None:
        text = None if value is None else json.dumps(value)
        database.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, text))
