"""Generates a Codex rollout, in which most messages occur twice, as an event and as an item.

Later versions have no reasoning events, but scripts with lists as output. There are no compressed
rollouts and no forks, which the tests cover.
"""

import functools
import random
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.text import TextWriter, lexicon
from bench.transcript import Family, Record, Summary, Transcript

_LOCAL_OFFSET_S = 2 * 3600
_VERSIONS = "0.146.0 0.144.2 0.137.0 0.126.0 0.108.0 0.104.0 0.98.0 0.77.0".split()
_OLD_AGE = 0.5
_TAIL = 7_000  # the mean bytes after the last step of a turn, plus half a step


@functools.cache
def _instructions(name: str, words: int) -> str:
    rng = random.Random(f"instructions:{name}")
    chosen = rng.choices(lexicon(), k=words)
    return "\n".join(" ".join(chosen[i : i + 14]) for i in range(0, words, 14))


class Rollout(Transcript):
    def __init__(self, family: Family, directory: Path, seed: int) -> None:
        writer = TextWriter(family.rng(seed), f"{seed}:{family.project}")
        self.thread_id = writer.uuid()
        # The folder and the name have local time, the records UTC.
        local = datetime.fromtimestamp(family.start + _LOCAL_OFFSET_S, UTC)
        name = f"{local:%Y/%m/%d}/rollout-{local:%Y-%m-%dT%H-%M-%S}-{self.thread_id}.jsonl"
        super().__init__(directory / ".codex" / "sessions" / name, writer, family.start)
        self.family = family
        self.cwd = writer.cwd
        self.version = _VERSIONS[int(family.age * len(_VERSIONS) * 0.999)]
        self.is_old = family.age > _OLD_AGE
        self.instructions = _instructions(self.cwd, 500)
        self.turn_id = ""

    def put(self, kind: str, payload: Record) -> None:
        self.wait(0.01, 0.5)
        self.add(timestamp=self.stamp(), type=kind, payload=payload)

    def event(self, kind: str, **payload: object) -> None:
        self.put("event_msg", {"type": kind} | payload)

    def item(self, kind: str, **payload: object) -> None:
        self.put("response_item", {"type": kind} | payload)

    def say(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": text} for text in texts])

    def meta(self) -> None:
        payload: Record = {"id": self.thread_id, "timestamp": self.stamp(), "cwd": self.cwd}
        payload |= {"originator": "codex_vscode", "cli_version": self.version, "source": "vscode"}
        if not self.family.is_small:
            payload["base_instructions"] = {"text": _instructions(self.version, 3_000)}
        self.put("session_meta", payload | {"git": {"branch": "main"}})

    def context(self) -> None:
        payload: Record = {"turn_id": self.turn_id, "cwd": self.cwd, "model": "gpt-5.4-codex"}
        payload["sandbox_policy"] = {"type": "workspace-write", "network_access": False}
        if not self.family.is_small:
            payload["user_instructions"] = self.instructions
        self.put("turn_context", payload)

    def inject(self) -> None:
        """Add the instructions that Codex sends before the first prompt."""
        self.say("developer", f"<permissions instructions>{_instructions('sandbox', 2_000)}")
        agents = f"# AGENTS.md instructions for {self.cwd}\n\n<INSTRUCTIONS>\n{self.instructions}"
        self.say("user", agents, f"<environment_context>{self.cwd}</environment_context>")

    def count_tokens(self) -> None:
        read, written = self.rng.randint(9_000, 90_000), self.rng.randint(20, 900)
        usage = {"input_tokens": read, "cached_input_tokens": 8_000, "output_tokens": written}
        usage |= {"reasoning_output_tokens": 64, "total_tokens": read + written}
        window = {"used_percent": 12.0, "window_minutes": 300, "resets_at": 1_790_000_000}
        limits = {"primary": window, "secondary": window, "credits": None, "plan_type": "plus"}
        info = {"total_token_usage": usage, "last_token_usage": usage}
        self.event("token_count", info=info, rate_limits=limits)

    def reason(self) -> None:
        parts: list[Record] = []
        if self.is_old:
            text = f"**{self.writer.sentence()}**\n\n{self.writer.prose(self.writer.size(60, 0.6))}"
            self.event("agent_reasoning", text=text)
            parts.append({"type": "summary_text", "text": text})
        secret = self.noise(self.writer.size(1_500, 0.7, 20_000))
        self.item("reasoning", summary=parts, content=None, encrypted_content=secret)

    def speak(self, text: str) -> None:
        self.event("agent_message", message=text, phase="commentary", memory_citation=None)
        self.say("assistant", text)

    def execute(self) -> None:
        is_small = self.family.is_small
        kind, command = self.writer.command()
        if self.rng.random() < 0.12 and not is_small:
            command = f"python - <<'PY'\n{self.writer.code(1_300)}\nPY"
        call_id = self.token("call_", 24)
        call = {"cmd": command, "workdir": self.cwd, "yield_time_ms": 1_000}
        arguments = msgspec.json.encode(call).decode()
        self.item("function_call", name="exec_command", call_id=call_id, arguments=arguments)
        self.wait(0.1, 30)
        body = self.writer.output(kind, 200 if is_small else self.writer.size(1_600, 1.2, 40_000))
        head = f"Chunk ID: {self.writer.hex(6)}\nWall time: {self.rng.uniform(0, 9):.4f} seconds"
        output = f"{head}\nProcess exited with code 0\nOutput:\n{body}"
        self.item("function_call_output", call_id=call_id, output=output)

    def custom_call(self, name: str, input: str) -> str:
        call_id = self.token("call_", 24)
        self.item("custom_tool_call", status="completed", call_id=call_id, name=name, input=input)
        return call_id

    def patch(self) -> None:
        path, _, lines = self.writer.excerpt(self.writer.size(550, 0.8, 12_000))
        diff = "\n".join(self.writer.patch(lines))
        text = f"*** Begin Patch\n*** Update File: {path}\n@@\n{diff}\n*** End Patch"
        call_id = self.custom_call("apply_patch", text)
        done = f"Success. Updated the following files:\nM {path}\n"
        if self.rng.random() < 0.3:
            changes = {path: {"type": "update", "unified_diff": diff, "move_path": None}}
            ids = {"call_id": call_id, "turn_id": self.turn_id}
            self.event("patch_apply_end", **ids, stdout=done, success=True, changes=changes)
        metadata = {"exit_code": 0, "duration_seconds": 0.1}
        output = msgspec.json.encode({"output": done, "metadata": metadata}).decode()
        self.item("custom_tool_call_output", call_id=call_id, output=output)

    def script(self) -> None:
        """Add a call of `exec`, whose output is a list of parts."""
        call_id = self.custom_call("exec", self.writer.code(450))
        text = self.writer.output("json", self.writer.size(4_500, 1.0, 40_000))
        output = [{"type": "input_text", "text": text}]
        self.item("custom_tool_call_output", call_id=call_id, output=output)

    def step(self) -> None:
        rng = self.rng
        if rng.random() < 0.7:
            self.reason()
        if rng.random() < 0.3:
            self.speak(self.writer.prose(self.writer.size(220, 0.6)))
        if rng.random() > 0.18:
            self.execute()
        elif self.is_old or rng.random() < 0.4:
            self.patch()
        else:
            self.script()
        self.count_tokens()
        if rng.random() < 0.34:
            self.context()

    def ask(self, prompt: str) -> None:
        self.turn_id = self.writer.uuid()
        self.wait(20, 900)
        self.event("task_started", turn_id=self.turn_id, model_context_window=258_400)
        if not self.turns and not self.family.is_small:
            self.inject()
        self.context()
        self.say("user", prompt)
        self.event("user_message", message=prompt, images=[], local_images=[], text_elements=[])

    def finish(self, size: int) -> None:
        text = self.writer.markdown(size)
        self.speak(text)
        self.count_tokens()
        self.event("task_complete", turn_id=self.turn_id, last_agent_message=text)
        self.turns += 1

    def small_turn(self) -> None:
        self.ask(self.writer.prose(self.writer.size(110, 0.6, 600)))
        if self.rng.random() < 0.3:
            self.execute()
        self.finish(self.writer.size(200, 0.5, 2_000))

    def full_turn(self, end: int) -> None:
        self.ask(self.writer.prompt())
        while self.size < end - _TAIL:
            self.step()
        self.finish(self.writer.size(900, 0.7, 9_000))


def write_codex(family: Family, directory: Path, seed: int) -> Summary:
    rollout = Rollout(family, directory, seed)
    rollout.meta()
    is_resumed = rollout.rng.random() < 0.32
    for end in family.turn_ends(rollout.rng):
        if family.is_small:
            rollout.small_turn()
            continue
        for _ in range(rollout.rng.randint(1, 3) if is_resumed and rollout.turns else 0):
            rollout.meta()
        rollout.full_turn(end)
    return rollout.save()
