"""Builds made-up chat sessions of VS Code."""

import json
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import Lines


class CopilotChatFile(Lines):
    """A session in a folder of `workspaceStorage`, as a log of changes or as a document."""

    def __init__(self, root: Path, seed: int = 1, cwd: str = "/home/sam/src/my shop") -> None:
        super().__init__(root, seed + 6000)
        self.root = root
        self.id = self.uuid()
        self.cwd = cwd
        self.workspace = root / "0123456789abcdef"
        self.path = self.workspace / "chatSessions" / f"{self.id}.jsonl"
        self.requests: list[dict[str, Any]] = []
        self.fields: dict[str, Any] = {"version": 3, "sessionId": self.id}

    def describe(self, text: str = "") -> None:
        """Write the description of the workspace."""
        self.workspace.mkdir(parents=True, exist_ok=True)
        folder = "file://" + self.cwd.replace(" ", "%20")
        (self.workspace / "workspace.json").write_text(text or json.dumps({"folder": folder}))

    def request(self, text: str, *response: dict[str, Any], **fields: Any) -> dict[str, Any]:
        self.tick()
        request: dict[str, Any] = {
            "requestId": f"request_{self.uuid()}",
            "timestamp": self.now_ms,
            "modelId": "copilot/gpt-5",
            "message": {"text": text, "parts": []},
            "response": list(response),
            **fields,
        }
        self.requests.append(request)
        return request

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        rounds: list[dict[str, Any]] = []
        results: dict[str, Any] = {}
        if command:
            id = f"call_{self._random.getrandbits(32)}"
            call = {
                "id": id,
                "name": "run_in_terminal",
                "arguments": json.dumps({"command": command}),
            }
            rounds.append({"response": "", "toolCalls": [call]})
            results[id] = {"content": [{"value": output}]}
        rounds.append({"response": answer, "toolCalls": []})
        metadata = {"toolCallRounds": rounds, "toolCallResults": results}
        self.request(prompt, {"value": answer}, result={"metadata": metadata})

    def write_log(self) -> Path:
        """Write an empty session, and a change for each request."""
        self.records = [{"kind": 0, "v": {**self.fields, "requests": []}}]
        self.records += [{"kind": 2, "k": ["requests"], "v": [one]} for one in self.requests]
        return self.write()

    def write_document(self) -> Path:
        path = self.path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**self.fields, "requests": self.requests}))
        return path
