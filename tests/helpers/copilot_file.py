"""Builds made-up sessions of Copilot CLI."""

from pathlib import Path
from typing import Any

from tests.helpers.transcripts import Lines


class CopilotFile(Lines):
    """The events of a session, in the folder that its `workspace.yaml` describes."""

    def __init__(self, root: Path, seed: int = 1, cwd: str = "/home/sam/src/shop") -> None:
        super().__init__(root, seed + 2000)
        self.id = self.uuid()
        self.folder = root / "session-state" / self.id
        self.path = self.folder / "events.jsonl"
        self.cwd = cwd
        self.agent = ""  # the id of the sub-agent that the next events are about
        self._last: str | None = None

    def event(self, type: str, /, **data: Any) -> dict[str, Any]:
        record: dict[str, Any] = {
            "type": type,
            "data": data,
            "id": self.uuid(),
            "timestamp": self.tick(),
        }
        record |= {"parentId": self._last, **({"agentId": self.agent} if self.agent else {})}
        self._last = record["id"]
        self.records.append(record)
        return record

    def start(self, **data: Any) -> None:
        context = {"cwd": self.cwd, "gitRoot": self.cwd, "branch": "main"}
        fields = {"sessionId": self.id, "version": 1, "copilotVersion": "1.0.102"}
        self.event("session.start", **{**fields, "context": context, **data})

    def prompt(self, text: str, **data: Any) -> dict[str, Any]:
        seen = f"<current_datetime>now</current_datetime>\n\n{text}\n\n<reminder>wombats</reminder>"
        return self.event("user.message", content=text, transformedContent=seen, **data)

    def usage(self, call_id: str, input: int, cached: int, written: int, output: int) -> None:
        usage = {"model": "gpt-5.4", "inputTokens": input, "outputTokens": output}
        usage |= {"cacheReadTokens": cached, "cacheWriteTokens": written, "apiCallId": call_id}
        self.event("session.usage_record", usage=usage)

    def message(self, text: str = "", *calls: dict[str, Any], **data: Any) -> None:
        fields = {"messageId": self.uuid(), "model": "gpt-5.4", "content": text}
        self.event("assistant.message", **{**fields, "toolRequests": list(calls), **data})

    def call(self, name: str, arguments: Any, text: str = "", **data: Any) -> str:
        """Add a message with one call, and return the id of the call."""
        call_id = f"call_{self._random.getrandbits(64):016x}"
        self.message(text, {"toolCallId": call_id, "name": name, "arguments": arguments}, **data)
        data = {"toolCallId": call_id, "toolName": name, "arguments": arguments}
        self.event("tool.execution_start", **data)
        return call_id

    def result(self, call_id: str, content: str, success: bool = True, **data: Any) -> None:
        fields = {"toolCallId": call_id, "success": success, "result": {"content": content}}
        self.event("tool.execution_complete", **{**fields, **data})

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        self.prompt(prompt)
        if command:
            self.result(self.call("bash", {"command": command}), output)
        self.message(answer)

    def workspace(self, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "workspace.yaml").write_text(text)
