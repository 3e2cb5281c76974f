"""Builds made-up sessions of Gemini CLI and Qwen Code."""

import json
from pathlib import Path
from typing import Any

from tests.helpers.transcripts import Lines, iso


class GeminiFile(Lines):
    """A recording of Gemini CLI, as a log of JSON lines."""

    def __init__(self, root: Path, seed: int = 1, project: str = "shop", parent: str = "") -> None:
        super().__init__(root, seed + 3000)
        self.id = self.uuid()
        self.root = root
        self.folder = root / "tmp" / project
        name = f"{self.id}.jsonl" if parent else f"session-2026-09-21T10-00-{self.id[:8]}.jsonl"
        self.path = self.folder / "chats" / parent / name

    def header(self, **fields: Any) -> None:
        hash = "f" * 64
        times = {"startTime": iso(self.now_ms), "lastUpdated": iso(self.now_ms)}
        base = {"sessionId": self.id, "projectHash": hash, **times, "kind": "main"}
        self.records.append({**base, **fields})

    def set(self, **fields: Any) -> None:
        self.records.append({"$set": fields})

    def rewind_to(self, id: str) -> None:
        self.records.append({"$rewindTo": id})

    def make(self, type: str, content: Any, **fields: Any) -> dict[str, Any]:
        """Return a message without adding it."""
        base = {"id": self.uuid(), "timestamp": self.tick(), "type": type, "content": content}
        return {**base, **fields}

    def add(self, type: str, content: Any, **fields: Any) -> dict[str, Any]:
        message = self.make(type, content, **fields)
        self.records.append(message)
        self.set(lastUpdated=message["timestamp"])
        return message

    def prompt(self, text: str, **fields: Any) -> dict[str, Any]:
        return self.add("user", [{"text": text}], **fields)

    def answer(self, text: str, **fields: Any) -> dict[str, Any]:
        tokens = {"input": 110, "output": 5, "cached": 10, "thoughts": 2, "tool": 0, "total": 117}
        return self.add("gemini", text, **{"tokens": tokens, "model": "gemini-2.5-pro", **fields})

    def call(self, name: str, args: Any, response: Any, text: str = "", **fields: Any) -> str:
        """Add an answer, then again with a call, then the response as the model sees it."""
        call_id = f"{name}_{self._random.getrandbits(32)}"
        message = self.answer(text)
        part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
        call = {"id": call_id, "name": name, "args": args, "status": "success", "result": [part]}
        self.records.append({**message, "toolCalls": [{**call, **fields}]})
        self.add("user", [part])
        return call_id

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        self.prompt(prompt)
        if command:
            self.call("run_shell_command", {"command": command}, {"output": output})
        self.answer(answer)

    def write_document(self) -> Path:
        """Write the messages as the one document that versions before 0.39 wrote."""
        header, *rest = (record for record in self.records if isinstance(record, dict))
        messages: dict[str, dict[str, Any]] = {}
        for record in rest:
            if "id" in record:
                messages[record["id"]] = record
            header = {**header, **record.get("$set", {})}
        path = self.path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**header, "messages": list(messages.values())}, indent=2))
        return path


class QwenFile(Lines):
    """A transcript of Qwen Code."""

    def __init__(
        self, root: Path, seed: int = 1, cwd: str = "/home/sam/src/shop", parent: str = ""
    ) -> None:
        super().__init__(root, seed + 4000)
        self.id = f"agent-explore-call_{seed}" if parent else self.uuid()
        project = root / "projects" / cwd.replace("/", "-")
        folder = project / "subagents" / parent if parent else project / "chats"
        self.path = folder / f"{self.id}.jsonl"
        self.cwd = cwd
        self.last_uuid: str | None = None

    def add(self, type: str, **fields: Any) -> dict[str, Any]:
        record = {
            "uuid": self.uuid(),
            "parentUuid": self.last_uuid,
            "sessionId": self.id,
            "timestamp": self.tick(),
            "type": type,
            "cwd": self.cwd,
            "version": "0.24.4",
            "gitBranch": "main",
            **fields,
        }
        self.last_uuid = record["uuid"]
        self.records.append(record)
        return record

    def system(self, subtype: str, **payload: Any) -> dict[str, Any]:
        return self.add("system", subtype=subtype, systemPayload=payload)

    def prompt(self, *texts: str, **fields: Any) -> dict[str, Any]:
        parts = [{"text": text} for text in texts]
        return self.add("user", message={"role": "user", "parts": parts}, **fields)

    def answer(self, *parts: dict[str, Any] | str, **fields: Any) -> None:
        message = {
            "role": "model",
            "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
        }
        usage = {"promptTokenCount": 110, "candidatesTokenCount": 5, "cachedContentTokenCount": 10}
        base = {"model": "qwen3-coder-plus", "message": message, "usageMetadata": usage}
        self.add("assistant", **{**base, **fields})

    def call(self, name: str, args: Any, response: Any, status: str = "success") -> None:
        call_id = f"call_{self._random.getrandbits(32)}"
        self.answer({"functionCall": {"id": call_id, "name": name, "args": args}})
        part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
        message = {"role": "user", "parts": [part]}
        self.add("tool_result", message=message, toolCallResult={"status": status})

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        self.prompt(prompt)
        if command:
            self.call("run_shell_command", {"command": command}, {"output": output})
        self.answer(answer)
