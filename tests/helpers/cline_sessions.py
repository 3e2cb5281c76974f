"""Makes up sessions of Cline, and tasks of Roo Code and of Cline's earlier versions."""

import json
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import EPOCH_MS

MODEL = "made-up-model"
CWD = "/home/sam/src/shop"
ENVIRONMENT = f"""<environment_details>
# VSCode Visible Files
lamp.py

# Current Working Directory ({CWD}) Files
lamp.py

# Current Mode
<slug>code</slug>
<model>{MODEL}</model>
</environment_details>"""
Block = dict[str, Any]


class ClineSession:
    """A session in the current format: a JSON file with messages, and one that describes it."""

    def __init__(self, root: Path, number: int = 1, stem: str = "", **metadata: Any) -> None:
        self.id = f"{EPOCH_MS + number}_abcde"
        self.folder = root / "sessions" / self.id
        self.path = self.folder / f"{stem or self.id}.messages.json"
        self.agent = "subagent" if stem else "lead"
        self.metadata = metadata
        self.cwd = CWD
        self.messages: list[dict[str, Any]] = []
        self._time = EPOCH_MS + number * 1_000_000

    def add(self, role: str, *blocks: str | Block, **fields: Any) -> None:
        self._time += 1000
        content = [text(block) if isinstance(block, str) else block for block in blocks]
        message = {"id": f"msg_{self._time}", "role": role, "content": content, "ts": self._time}
        self.messages.append({**message, **fields})

    def prompt(self, typed: str, *blocks: Block) -> None:
        self.add("user", f'<user_input mode="act">{typed}</user_input>', *blocks)

    def answer(self, *blocks: str | Block, **fields: Any) -> None:
        metrics = {"inputTokens": 314, "outputTokens": 2}
        metrics |= {"cacheReadTokens": 300, "cacheWriteTokens": 4}
        info = {"id": MODEL, "provider": "stub"}
        own = {"modelInfo": info, "metrics": {**metrics, "cost": 0.25}, **fields}
        self.add("assistant", *blocks, **own)

    def turn(self, prompt: str, answer: str) -> None:
        self.prompt(prompt)
        self.answer(answer)

    @property
    def data(self) -> bytes:
        origin = {"source": "cli", "version": "3.0.65"}
        document = {"version": 1, "agent": self.agent, "sessionId": self.id, "origin": origin}
        return json.dumps({**document, "messages": self.messages}, indent=2).encode()

    def write(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.data)
        manifest = {"session_id": self.id, "cwd": self.cwd, "metadata": self.metadata}
        (self.folder / f"{self.id}.json").write_text(json.dumps(manifest))
        return self.path


def text(value: str) -> Block:
    return {"type": "text", "text": value}


def use(id: str, name: str, **input: Any) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, content: Any, **fields: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


class ClineTask:
    """A task: what was sent to the model, and what was displayed."""

    def __init__(self, root: Path, number: int = 1) -> None:
        self.id = str(EPOCH_MS + number)
        self.folder = root / "tasks" / self.id
        self.path = self.folder / "api_conversation_history.json"
        self.history: list[dict[str, Any]] = []
        self.shown: list[dict[str, Any]] = []
        self.item: dict[str, Any] = {}
        self._time = EPOCH_MS + number * 1_000_000

    def user(self, *blocks: str | Block, shown: str = "user_feedback", **fields: Any) -> None:
        content = [text(block) if isinstance(block, str) else block for block in blocks]
        self.history.append({"role": "user", "content": content, **fields})
        self._show(shown, "typed")

    def prompt(self, typed: str) -> None:
        self.user(f"<task>\n{typed}\n</task>", ENVIRONMENT, shown="task")

    def answer(self, *blocks: str | Block, **fields: Any) -> None:
        content = [text(block) if isinstance(block, str) else block for block in blocks]
        request = {"request": "...", "tokensIn": 10, "tokensOut": 2, "cacheReads": 300}
        self._show("api_req_started", json.dumps({**request, "cacheWrites": 4, "cost": 0.25}))
        self.history.append({"role": "assistant", "content": content, **fields})

    def _show(self, say: str, shown: str) -> None:
        self._time += 1000
        self.shown.append({"ts": self._time, "type": "say", "say": say, "text": shown})

    @property
    def data(self) -> bytes:
        return json.dumps(self.history).encode()

    def write(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.data)
        (self.folder / "ui_messages.json").write_text(json.dumps(self.shown))
        if self.item:
            (self.folder / "history_item.json").write_text(json.dumps(self.item))
        return self.path
