"""Makes up sessions of Pi and oh-my-pi."""

import json
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import EPOCH_MS

MODEL = "made-up-model"
CWD = "/home/sam/src/shop"


class PiFile:
    """A session file, whose records follow each other unless a test says otherwise."""

    def __init__(self, root: Path, number: int = 1, below: str = "--home-sam-src-shop--") -> None:
        self.id = f"01a1f05b-8258-7feb-b49b-{number:012x}"
        self.stem = f"2026-01-31T10-00-0{number}-000Z_{self.id}"
        self.path = root / "sessions" / below / f"{self.stem}.jsonl"
        self.lines: list[dict[str, Any]] = []
        self.leaf: str | None = None
        self._number = number
        self._count = 0

    @property
    def data(self) -> bytes:
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def write(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.data)
        return self.path

    def header(self, **fields: Any) -> None:
        header = {"version": 3, "id": self.id, "timestamp": self._time(), "cwd": CWD, **fields}
        self.lines.append({"type": "session", **header})
        self.add("model_change", provider="stub", modelId=MODEL)

    def add(self, type: str, **fields: Any) -> str:
        """Add a record that follows the last one, and return its id."""
        self._count += 1
        id = f"{self._number:02x}{self._count:06x}"
        tree = {"id": id, "parentId": self.leaf, "timestamp": self._time()}
        self.lines.append({"type": type, **tree, **fields})
        self.leaf = id
        return id

    def message(self, role: str, **fields: Any) -> str:
        time = EPOCH_MS + self._count * 1000
        return self.add("message", message={"role": role, **fields, "timestamp": time})

    def prompt(self, text: str, *blocks: dict[str, Any]) -> str:
        return self.message("user", content=[{"type": "text", "text": text}, *blocks])

    def answer(self, *blocks: str | dict[str, Any], **fields: Any) -> str:
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        counts = {"input": 10, "output": 2, "cacheRead": 300, "cacheWrite": 4, "totalTokens": 316}
        usage = {**counts, "cost": {"input": 0.1, "total": 0.25}}
        fields = {"model": MODEL, "usage": usage, "stopReason": "stop", **fields}
        return self.message("assistant", content=content, **fields)

    def result(self, call_id: str, text: str, is_error: bool = False, **fields: Any) -> str:
        content = [{"type": "text", "text": text}]
        fields = {"toolCallId": call_id, "toolName": "bash", "isError": is_error, **fields}
        return self.message("toolResult", content=content, **fields)

    def turn(self, prompt: str, answer: str) -> str:
        """Add a prompt and its answer, and return the id of the answer."""
        self.prompt(prompt)
        return self.answer(answer)

    def _time(self) -> str:
        return f"2026-01-31T10:{self._count // 60 % 60:02}:{self._count % 60:02}.000Z"


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def rich_session(root: Path) -> PiFile:
    """Return a session with every kind of record."""
    file = PiFile(root, 9)
    file.header()
    file.prompt("look at the lamp")
    thought = {"type": "thinking", "thinking": "It is dark.", "thinkingSignature": "c2ln"}
    file.answer(thought, "I will look.", call("t1", "bash", command="ls"), stopReason="toolUse")
    file.result("t1", "lamp.py")
    file.answer("There is one file.")
    first = file.turn("second", "Second done.")
    file.add("thinking_level_change", thinkingLevel="low")
    file.turn("a dead end", "It ends.")
    file.leaf = first
    file.add("branch_summary", fromId="x", summary="We tried a dead end.")
    file.turn("another way", "It works.")
    file.add("compaction", summary="So far: lamps.", firstKeptEntryId=first, tokensBefore=5)
    file.message("bashExecution", command="pytest", output="1 passed", exitCode=0)
    file.add("session_info", name="Lamp work")
    file.add("custom_message", customType="hint", content="A hint.", display=True)
    file.prompt("and stop")
    file.answer(stopReason="aborted", errorMessage="Request was aborted.", usage={})
    return file
