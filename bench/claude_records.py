"""Generates every kind of record of a Claude Code transcript, with one method for each.

Versions fall into four eras. In the first, sub-agents are beside the main session, and later below
it. The second has progress records, the third and fourth have attachments.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from bench.claude_tools import Call, random_call, shell
from bench.text import TextWriter
from bench.transcript import Family, Record, Transcript

_ERAS = (
    # minimum age, name, versions, share of empty thinking blocks
    (0.89, "beside", ("2.0.71", "2.0.75", "2.0.76", "2.0.77"), 0.0),
    (0.48, "progress", ("2.1.12", "2.1.23", "2.1.37", "2.1.49", "2.1.63", "2.1.72"), 0.05),
    (0.10, "attachment", ("2.1.92", "2.1.112", "2.1.114", "2.1.140", "2.1.167"), 0.36),
    (0.00, "latest", ("2.1.207", "2.1.217", "2.1.221", "2.1.232"), 1.0),
)
_MODELS = ("claude-opus-4-6", "claude-haiku-4-5-20251001", "claude-sonnet-4-6", "glm-4.7")
_USAGE = (
    '{"input_tokens":3,"cache_creation_input_tokens":~,"cache_read_input_tokens":1~,'
    '"cache_creation":{"ephemeral_5m_input_tokens":~,"ephemeral_1h_input_tokens":0},'
    '"output_tokens":~,"service_tier":"standard"}'
)
_HOOK = '{"hookEvent":"PreToolUse","hookName":"PreToolUse:$","command":"/home/dev/.claude/$/$.sh"}'
_ATTACHMENTS = {  # kind: lines in the census, bytes of text
    "hook_success": (11_517, 1_300),
    "total_tokens_reminder": (4_909, 90),
    "async_hook_response": (3_965, 700),
    "task_reminder": (2_975, 1_100),
    "skill_listing": (1_343, 8_000),
    "nested_memory": (1_979, 3_700),
}
_SYSTEM_LINES = {  # form: lines in the census
    '{"subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{"command":"$"}]}': 3_289,
    '{"subtype":"turn_duration","durationMs":~,"messageCount":~}': 3_219,
    '{"subtype":"api_error","error":{"status":529,"message":"¶ ¶ ¶ ¶"},"retryAttempt":~}': 2_586,
    '{"subtype":"away_summary","content":"¶ ¶"}': 1_216,
}


class Setting:
    """What the files of one family have in common."""

    def __init__(self, family: Family, directory: Path, seed: int) -> None:
        rng = family.rng(seed)
        self.family = family
        _, self.era, versions, self.empty_thinking = next(e for e in _ERAS if family.age >= e[0])
        self.has_attachments = self.era in ("attachment", "latest")
        self.writer = TextWriter(rng, f"{seed}:{family.project}")
        self.session_id = self.writer.uuid()
        self.model = rng.choice(_MODELS)
        cwd = self.writer.cwd
        self.folder = directory / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd)
        self.envelope: Record = {"userType": "external", "cwd": cwd, "gitBranch": "main"}
        self.envelope |= {"version": rng.choice(versions), "slug": self.writer.line("$-$-$")}
        if self.has_attachments:
            self.envelope |= {"entrypoint": "cli", "session_id": self.session_id}
        self.files: list[ClaudeFile] = []


class ClaudeFile(Transcript):
    """A main session or a sub-agent, written record by record."""

    def __init__(self, setting: Setting, folder: Path, session_id: str, agent_id: str = "") -> None:
        name = f"agent-{agent_id}" if agent_id else session_id
        now = setting.files[0].now if setting.files else setting.family.start
        super().__init__(folder / f"{name}.jsonl", setting.writer, now)
        setting.files.append(self)
        self.setting = setting
        self.session_id = session_id
        self.agent_id = agent_id
        self.parent: str | None = None
        self.max_bytes = setting.family.max_bytes
        self.turn_ends: list[int] = []
        self.title = self.writer.sentence()[:60]
        self.envelope = {"isSidechain": bool(agent_id)} | setting.envelope
        self.envelope |= {"sessionId": session_id} | ({"agentId": agent_id} if agent_id else {})

    def put(self, kind: str, **body: object) -> str:
        """Add a record with the common fields, as a child of the previous record."""
        head: Record = {"parentUuid": self.parent, **self.envelope, "type": kind}
        self.parent = self.writer.uuid()
        self.add(**head, **body, uuid=self.parent, timestamp=self.stamp())
        return self.parent

    def user(self, content: object, **extra: object) -> str:
        return self.put("user", message={"role": "user", "content": content}, **extra)

    def message(self, blocks: Sequence[Record], stop_reason: str = "tool_use") -> list[str]:
        """Add an API message: a record per block, each with the ids and usage of the message."""
        message: Record = {"model": self.setting.model, "id": self.token("msg_01")}
        message |= {"type": "message", "role": "assistant", "usage": self.writer.record(_USAGE)}
        request = self.token("req_011C")
        uuids = []
        for block in blocks:
            self.wait(0.2, 4)
            reason = stop_reason if block is blocks[-1] and self.rng.random() < 0.8 else None
            message |= {"content": [block], "stop_reason": reason, "stop_sequence": None}
            uuids.append(self.put("assistant", message=message, requestId=request))
        return uuids

    def thinking(self) -> Record:
        is_empty = self.rng.random() < self.setting.empty_thinking
        text = "" if is_empty else self.writer.prose(self.writer.size(420, 1.0, 12_000))
        signature = self.noise(self.writer.size(700, 0.7, 9_000))
        return {"type": "thinking", "thinking": text, "signature": signature}

    def image(self) -> Record:
        """Return a picture that fits into the rest of the file, or a small one."""
        left = max(self.max_bytes - self.size, 9_000)
        size = min(self.writer.size(180_000, 0.9, 1_500_000), left)
        source = {"type": "base64", "media_type": "image/png", "data": self.noise(size)}
        return {"type": "image", "source": source}

    def use(self, name: str, arguments: Record) -> Record:
        block: Record = {"type": "tool_use", "id": self.token("toolu_01"), "name": name}
        return block | {"input": arguments}

    def step(self) -> None:
        """Add a message that calls tools, the progress of the tools, and their results."""
        blocks: list[Record] = []
        opening = self.rng.random()
        if opening < 0.44:
            blocks.append(self.thinking())
        if 0.29 < opening < 0.82:
            blocks.append({"type": "text", "text": self.writer.prose(self.writer.size(140, 0.8))})
        calls = [random_call(self.writer) for _ in range(self.rng.choice((1,) * 7 + (2, 2, 4)))]
        uses = [self.use(call.name, call.arguments) for call in calls]
        uuids = self.message(blocks + uses)[len(blocks) :]
        for call, use, source in zip(calls, uses, uuids, strict=True):
            use_id = str(use["id"])
            if self.setting.era == "progress":
                self.report(call, use_id)
            self.result(call, use_id, source)
            if self.setting.has_attachments and self.rng.random() < 0.6:
                self.attach(use_id)

    def result(self, call: Call, use_id: str, source: str) -> None:
        self.wait(0.1, 20)
        content: object = call.details if isinstance(call.details, list) else call.output
        if self.rng.random() < 0.004 and not self.setting.family.is_small:
            content = [self.image()]
        block: Record = {"tool_use_id": use_id, "type": "tool_result", "content": content}
        extra: Record = {"sourceToolAssistantUUID": source}
        if not self.agent_id or self.setting.era == "beside":
            extra["toolUseResult"] = call.details
        self.user([block | {"is_error": call.is_error}], **extra)
        if call.name in ("Edit", "Write") and not self.agent_id and self.rng.random() < 0.9:
            self.snapshot(is_update=True)

    def report(self, call: Call, use_id: str) -> None:
        """Add the progress records of a call."""
        if self.rng.random() < 0.75:
            self.progress("hook", use_id, **self.writer.record(_HOOK))
        if call.name == "Bash" and self.rng.random() < 0.2:
            tail = call.output[-self.rng.randint(0, 220) :]
            for second in range(1, 2 + int(self.rng.expovariate(1 / 24))):
                time = {"elapsedTimeSeconds": second, "totalLines": second, "timeoutMs": 120_000}
                self.progress("bash", use_id, output=tail, fullOutput=tail, **time)

    def progress(self, kind: str, use_id: str, **data: object) -> None:
        self.wait(0.01, 0.4)
        own = self.token(f"{kind}-progress-", 6)
        data = {"type": f"{kind}_progress"} | data
        self.put("progress", data=data, toolUseID=own, parentToolUseID=use_id)

    def attach(self, use_id: str) -> None:
        weights = [lines for lines, _ in _ATTACHMENTS.values()]
        kind = self.rng.choices(list(_ATTACHMENTS), weights)[0]
        size = self.writer.size(_ATTACHMENTS[kind][1], 0.8, 40_000)
        text = self.writer.output("log", size) if "hook" in kind else self.writer.markdown(size)
        body = self.writer.record(_HOOK) | {"type": kind, "toolUseID": use_id, "content": text}
        if kind == "hook_success":
            body["stdout"] = text
        self.put("attachment", attachment=body)

    def snapshot(self, is_update: bool = False) -> None:
        stamp, own = self.stamp(), self.writer.uuid()
        backups = {
            path: {"backupFileName": f"{self.writer.hex(16)}@v2", "version": 2, "backupTime": stamp}
            for path in self.rng.choices(self.writer.paths, k=self.rng.randint(0, 11))
        }
        snapshot = {"messageId": own, "trackedFileBackups": backups, "timestamp": stamp}
        kind = "file-history-snapshot"
        self.add(type=kind, messageId=own, snapshot=snapshot, isSnapshotUpdate=is_update)

    def queue(self, operation: str, **content: object) -> None:
        own = {"timestamp": self.stamp(), "sessionId": self.session_id}
        self.add(type="queue-operation", operation=operation, **own, **content)

    def ask(self, prompt: str) -> None:
        """Add a prompt, with the records that Claude Code writes around it."""
        rng = self.rng
        self.wait(20, 900)
        if rng.random() < 0.75:
            self.queue("enqueue", **{"content": prompt} if rng.random() < 0.5 else {})
            self.queue("dequeue")
        if rng.random() < 0.65:
            notice = f"<task-notification>{self.writer.prose(1_000)}</task-notification>"
            self.queue("enqueue", content=notice)
            self.queue("remove")
        self.snapshot()
        if rng.random() < 0.1:
            self.user("<local-command-caveat>Caveat: local</local-command-caveat>", isMeta=True)
            self.user("<command-name>/model</command-name>\n<command-args></command-args>")
            self.user(f"<local-command-stdout>{self.writer.sentence()}</local-command-stdout>")
        content: list[Record] = [{"type": "text", "text": prompt}]
        is_list = rng.random() < 0.38
        if is_list and rng.random() < 0.035:
            content.insert(0, self.image())
        extra = {"promptId": self.writer.uuid()} if self.setting.has_attachments else {}
        self.user(content if is_list else prompt, **extra)

    def answer(self, size: int) -> str:
        text = self.writer.markdown(size)
        blocks: list[Record] = [{"type": "text", "text": text}]
        if self.rng.random() < 0.35 and not self.setting.family.is_small:
            blocks.insert(0, self.thinking())
        self.message(blocks, "end_turn")
        return text

    def close_turn(self, prompt: str) -> None:
        """Add the records that follow each turn of a main session."""
        if self.rng.random() < 0.05:
            self.user([{"type": "text", "text": "[Request interrupted by user]"}])
        forms, weights = list(_SYSTEM_LINES), list(_SYSTEM_LINES.values())
        for form in self.rng.choices(forms, weights, k=self.rng.choice((1, 2, 2))):
            self.put("system", **self.writer.record(form), level="info", isMeta=False)
        if self.setting.has_attachments:
            self.metadata(prompt)
        self.end_turn()

    def end_turn(self) -> None:
        self.turns += 1
        self.turn_ends.append(len(self.lines))

    def metadata(self, prompt: str) -> None:
        """Add titles and modes, which Claude Code appends again and again."""
        repeated: tuple[tuple[float, str, Record], ...] = (
            (2.7, "last-prompt", {"lastPrompt": prompt[:200], "leafUuid": self.parent}),
            (1.5, "ai-title", {"aiTitle": self.title}),
            (1.4, "permission-mode", {"permissionMode": "acceptEdits"}),
            (0.6, "custom-title", {"customTitle": self.title[:20]}),
            (0.5, "mode", {"mode": "normal"}),
            (0.35, "bridge-session", {"bridgeSessionId": self.writer.uuid(), "lastSequenceNum": 4}),
            (0.35, "agent-name", {"agentName": self.title[:16]}),
        )
        for rate, kind, body in repeated:
            for _ in range(int(rate + self.rng.random())):
                self.add(type=kind, **body, sessionId=self.session_id)

    def small_turn(self) -> None:
        """Add a turn of about 600 bytes of text in as few records as possible."""
        self.wait(20, 900)
        self.user(self.writer.prose(self.writer.size(110, 0.6, 600)))
        if self.rng.random() < 0.3:
            call = shell(self.writer, 250)
            use = self.use(call.name, call.arguments)
            self.result(call, str(use["id"]), self.message([use])[0])
        self.answer(self.writer.size(200, 0.5, 2_000))
        self.end_turn()
