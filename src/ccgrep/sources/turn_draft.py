"""A turn that may still grow, and the parts that it is built from."""

from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from ccgrep.model import (
    Blob,
    Entry,
    Message,
    Note,
    ObjectId,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from ccgrep.sources.jsonl import Mark


class CallDraft(Struct, eq=False):
    """A tool call that may still wait for its result."""

    name: str
    input: Any
    result: ToolResult | None = None
    is_running: bool = False  # in the background


class MessageDraft(Struct, eq=False):
    """An API message of which further fragments may follow."""

    model: str
    parts: list[Text | Thinking | CallDraft] = []

    def freeze(self) -> Message:
        parts = (
            ToolCall(part.name, part.input, part.result) if isinstance(part, CallDraft) else part
            for part in self.parts
        )
        return Message(tuple(parts), self.model)


class TurnDraft(Struct, eq=False):
    """A turn that may still grow."""

    mark: Mark
    state: object  # the reader's state at `mark`
    prompt: str
    attached: tuple[Blob, ...]
    parent: bytes = b""  # the record that the first one follows
    steps: list[MessageDraft | Note] = []
    early_steps: list[MessageDraft | Note] = []  # written before their prompt
    copied_steps: int = 0  # how many steps were held before the prompt
    messages: dict[str, MessageDraft] = {}
    calls: dict[str, CallDraft] = {}
    orphans: dict[str, ToolResult] = {}  # results whose call has not been read
    usage: dict[bytes, Usage] = {}
    uuids: list[bytes] = []
    started: int | None = None
    ended: int | None = None
    cwd: str = ""
    branch: str = ""
    end: int = 0
    is_rolled_back: bool = False
    claim: ObjectId | None = None  # the stored turn that ccgrep wrote here

    def set_late_prompt(self, prompt: str, attached: tuple[Blob, ...]) -> None:
        """Set the prompt of an answer that was written before it."""
        self.prompt, self.attached = prompt, attached
        self.early_steps, self.steps = self.steps, []

    def mark_as_machine(self) -> None:
        """Turn the prompt into a note, and drop the notes before it, which belong to others."""
        if self.prompt:
            self.steps[: self.copied_steps] = [Note("machine", self.prompt)]
            self.prompt, self.attached = "", ()

    def add_message(self, message: MessageDraft) -> None:
        self.steps += self.early_steps
        self.early_steps.clear()
        self.steps.append(message)

    def is_answered(self) -> bool:
        """Return whether every call has its final result."""
        return all(c.result is not None and not c.is_running for c in self.calls.values())

    def extend(self, end: int, time: int | None, cwd: str, branch: str) -> None:
        """Extend the turn to a record that belongs to it."""
        self.end = max(self.end, end)
        if time is not None:
            if not self.started or time < self.started:
                self.started = time
            if not self.ended or time > self.ended:
                self.ended = time
        self.cwd = self.cwd or cwd
        self.branch = self.branch or branch

    def freeze(self) -> Turn:
        steps = [
            step.freeze() if isinstance(step, MessageDraft) else step
            for step in (*self.steps, *self.early_steps)
            if isinstance(step, Note) or step.parts
        ]
        orphans = (ToolCall("unknown", result=result) for result in self.orphans.values())
        return Turn(self.prompt, self.attached, (*steps, *(Message((call,)) for call in orphans)))

    def make_entry(self, turn: ObjectId, is_open: bool) -> Entry:
        return Entry(
            turn=turn,
            start=self.mark.offset,
            end=self.end,
            started=self.started,
            ended=self.ended,
            cwd=self.cwd,
            branch=self.branch,
            messages=sum(bool(message.parts) for message in self.messages.values())
            + bool(self.prompt or self.attached),
            tools=len(self.calls) + len(self.orphans),
            usage=tuple(self.usage.values()),
            uuids=b"".join(self.uuids),
            is_open=is_open,
            is_rolled_back=self.is_rolled_back,
        )


def merge_usage(a: Usage, b: Usage) -> Usage:
    """Return the larger of each count, for two reports on one API message."""
    pairs = zip(astuple(a)[2:], astuple(b)[2:], strict=True)
    counts = (max((x for x in pair if x is not None), default=None) for pair in pairs)
    return Usage(a.key, a.model or b.model, *counts)
