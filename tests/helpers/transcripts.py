"""Builds made-up transcripts that look like real ones, always the same for a seed."""

import json
import random
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

EPOCH_MS = 1_790_000_000_000  # 2026-09-21


def iso(ms: int) -> str:
    time = datetime.fromtimestamp(ms / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Lines:
    """The records of a transcript, in memory until `write` or `append`."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.records: list[dict[str, Any] | bytes] = []
        self._random = random.Random(seed)
        self.now_ms = EPOCH_MS + seed * 86_400_000 // 50
        self._written = 0

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def diverge(self, number: int) -> None:
        """Make the next records differ from those of a copy of this file."""
        self._random.seed(1000 + number)

    def tick(self, seconds: float = 1.0) -> str:
        self.now_ms += int(seconds * 1000)
        return iso(self.now_ms)

    def raw(self, data: bytes) -> None:
        """Add bytes that are no record."""
        self.records.append(data)

    def lines(self) -> list[bytes]:
        return [record if isinstance(record, bytes) else encode(record) for record in self.records]

    def write(self) -> Path:
        """Write the whole file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(self.lines()))
        self._written = len(self.records)
        return self.path

    def append(self) -> Path:
        """Append what was added since the last `write` or `append`."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(b"".join(self.lines()[self._written :]))
        self._written = len(self.records)
        return self.path


def encode(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class ClaudeFile(Lines):
    """A transcript of Claude Code."""

    def __init__(
        self,
        directory: Path,
        seed: int = 1,
        cwd: str = "/home/sam/src/shop",
        name: str = "",
        session_id: str = "",
        is_sidechain: bool = False,
        version: str = "2.1.150",
    ) -> None:
        super().__init__(directory, seed)
        self.session_id = session_id or self.uuid()
        self.path = directory / f"{name or self.session_id}.jsonl"
        self.cwd = cwd
        self.version = version
        self.is_sidechain = is_sidechain
        self.last_uuid: str | None = None

    @property
    def id(self) -> str:
        return self.path.stem

    def add(self, type: str, **fields: Any) -> dict[str, Any]:
        """Add a record with the envelope of user, assistant, system and attachment records."""
        record: dict[str, Any] = {
            "parentUuid": self.last_uuid,
            "isSidechain": self.is_sidechain,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": "main",
            "type": type,
            "uuid": self.uuid(),
            "timestamp": self.tick(),
            **fields,
        }
        self.last_uuid = record["uuid"]
        self.records.append(record)
        return record

    def meta(self, type: str, **fields: Any) -> None:
        """Add a record without envelope, such as a title or a queue operation."""
        self.records.append({"type": type, "sessionId": self.session_id, **fields})

    def prompt(self, text: str | list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def blocks(self, *blocks: dict[str, Any], **fields: Any) -> str:
        """Add a message of the agent, one record for each block, each with the usage."""
        message_id = fields.pop("message_id", None) or f"msg_{self._random.getrandbits(64):016x}"
        request_id = fields.pop("request_id", None) or f"req_{self._random.getrandbits(64):016x}"
        usage = fields.pop("usage", {"input_tokens": 10, "output_tokens": 5})
        model = fields.pop("model", "claude-opus-4-6")
        for block in blocks:
            self.add(
                "assistant",
                message={
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": model,
                    "content": [block],
                    "stop_reason": None,
                    "usage": usage,
                },
                requestId=request_id,
                **fields,
            )
        return message_id

    def answer(self, text: str, **fields: Any) -> str:
        return self.blocks({"type": "text", "text": text}, **fields)

    def call(self, name: str, input: dict[str, Any], **fields: Any) -> str:
        """Add a tool call and return its id."""
        call_id = f"toolu_{self._random.getrandbits(64):016x}"
        block = {"type": "tool_use", "id": call_id, "name": name, "input": input}
        self.blocks(block, **fields)
        return call_id

    def result(self, call_id: str, content: Any, is_error: bool = False, **fields: Any) -> None:
        block: dict[str, Any] = {
            "tool_use_id": call_id,
            "type": "tool_result",
            "content": content,
        }
        if is_error:
            block["is_error"] = True
        self.add("user", message={"role": "user", "content": [block]}, **fields)

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        """Add a prompt, an optional command with its output, and an answer."""
        self.prompt(prompt)
        if command:
            self.result(self.call("Bash", {"command": command}), output)
        self.answer(answer)

    def fork(self, directory: Path, records: int, seed: int) -> "ClaudeFile":
        """Return another session that begins with the first records of this one."""
        other = ClaudeFile(directory, seed, self.cwd, version=self.version)
        for record in self.records[:records]:
            assert isinstance(record, dict)
            other.records.append({**record, "sessionId": other.session_id})
        other.last_uuid = next(
            r["uuid"] for r in reversed(other.records) if isinstance(r, dict) and "uuid" in r
        )
        other.now_ms = self.now_ms
        return other


class CodexFile(Lines):
    """A rollout of Codex, in its current format."""

    def __init__(self, sessions: Path, seed: int = 1, cwd: str = "/home/sam/src/api") -> None:
        super().__init__(sessions, seed + 1000)
        self.id = self.uuid()
        self.path = sessions / "2026" / "09" / "21" / f"rollout-2026-09-21T10-00-00-{self.id}.jsonl"
        self.cwd = cwd
        self._tokens = 0

    def add(self, type: str, **payload: Any) -> None:
        self.records.append({"timestamp": self.tick(), "type": type, "payload": payload})

    def meta(self, **fields: Any) -> None:
        self.add(
            "session_meta",
            **{
                "id": self.id,
                "timestamp": iso(self.now_ms),
                "cwd": self.cwd,
                "originator": "codex_cli_rs",
                "cli_version": "0.146.0",
                "source": "cli",
                "git": {"branch": "main"},
                **fields,
            },
        )
        self.add("turn_context", cwd=fields.get("cwd", self.cwd), model="gpt-5-codex")

    def item(self, type: str, **fields: Any) -> None:
        self.records.append(
            {
                "timestamp": self.tick(),
                "type": "response_item",
                "payload": {"type": type, **fields},
            }
        )

    def event(self, type: str, **fields: Any) -> None:
        self.records.append(
            {"timestamp": self.tick(), "type": "event_msg", "payload": {"type": type, **fields}}
        )

    def prompt(self, text: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.event("user_message", message=text, images=[])

    def answer(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def command(self, command: str, output: str) -> None:
        call_id = f"call_{self._random.getrandbits(64):016x}"
        arguments = json.dumps({"command": ["bash", "-lc", command]})
        self.item("function_call", name="shell", arguments=arguments, call_id=call_id)
        self.item("function_call_output", call_id=call_id, output=output)

    def tokens(self, input: int, cached: int, output: int) -> None:
        self._tokens += input + output
        last = {
            "input_tokens": input,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "total_tokens": input + output,
        }
        total = {**last, "total_tokens": self._tokens}
        info = {"total_token_usage": total, "last_token_usage": last}
        self.event("token_count", info=info, rate_limits=None)

    def turn(self, prompt: str, answer: str, command: str = "", output: str = "") -> None:
        self.prompt(prompt)
        if command:
            self.command(command, output)
        self.answer(answer)


class PaginatedCodexFile(CodexFile):
    """A rollout of Codex since 0.151: records have ordinals, items replace the events."""

    def __init__(self, sessions: Path, seed: int = 1, cwd: str = "/home/sam/src/api") -> None:
        super().__init__(sessions, seed, cwd)
        self.next_ordinal = 0

    def lines(self) -> list[bytes]:
        for record in self.records:
            if isinstance(record, dict) and "ordinal" not in record:
                record["ordinal"] = self.next_ordinal
                self.next_ordinal += 1
        return super().lines()

    def meta(self, **fields: Any) -> None:
        super().meta(**{"cli_version": "0.169.0", "history_mode": "paginated", **fields})

    def completed(self, type: str, **fields: Any) -> None:
        """Add a completed item."""
        id = f"exec-{self.uuid()}"
        self.event("item_completed", thread_id=self.id, item={"type": type, "id": id, **fields})

    def prompt(self, text: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.completed("UserMessage", id=self.uuid(), content=[{"type": "text", "text": text}])

    def answer(self, text: str) -> None:
        id = f"msg_{self.uuid()}"
        self.completed("AgentMessage", id=id, content=[{"type": "Text", "text": text}])
        text_part = {"type": "output_text", "text": text, "annotations": []}
        self.item("message", id=id, role="assistant", content=[text_part])

    def script(self, code: str, output: str, *items: dict[str, Any]) -> None:
        """Add a script of code mode with the items of its calls."""
        call_id = f"call_{self.uuid()}"
        self.item("custom_tool_call", call_id=call_id, name="exec", input=code, status="completed")
        for item in items:
            self.completed(**item)
        head = "Script completed\nWall time 0.1 seconds\nOutput:\n"
        parts = [{"type": "input_text", "text": text} for text in (head, output)]
        self.item("custom_tool_call_output", call_id=call_id, output=parts)

    def rewind(self, ordinal: int, seed: int) -> "PaginatedCodexFile":
        """Return the rollout that follows a rewind to before the record with this ordinal.

        A rewind with a larger seed was later.
        """
        self.lines()
        other = PaginatedCodexFile(self.path.parents[3], seed, self.cwd)
        other.id, other.next_ordinal = self.id, ordinal
        rollout = uuid.UUID(int=seed)
        other.path = self.path.with_name(f"rollout-2026-09-21T11-00-00-{self.id}_{rollout}.jsonl")
        base = {"thread_id": self.id, "end_ordinal_exclusive": ordinal, "end_byte_offset": 0}
        other.now_ms = self.now_ms
        other.meta(history_base=base)
        return other
