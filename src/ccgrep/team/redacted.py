"""Redact what is pushed: turns, sessions and entries, whatever the settings say. Pure.

A value without secrets stays equal, and so does its id.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ccgrep import secrets
from ccgrep.light_typing import NamedTuple
from ccgrep.model import (
    Entry,
    Message,
    Note,
    Part,
    Session,
    Step,
    Text,
    Thinking,
    ToolCall,
    Turn,
)


class RedactedTurn(NamedTuple):
    """A turn without secrets, and how many were removed."""

    turn: Turn
    redactions: int


class _Redactor:
    """Replaces secrets and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, text: str) -> str:
        found = secrets.find(text)
        if not found:
            return text
        self.count += len(found)
        parts, at = [], 0
        for secret in found:
            parts += [text[at : secret.start], f"[redacted:{secret.rule}]"]
            at = secret.end
        return "".join((*parts, text[at:]))

    def values(self, value: Any) -> Any:
        """Return a JSON value with all strings redacted. A field's name helps to find secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(name)): self._field(name, one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.values(item) for item in value]
        return value

    def _field(self, name: Any, value: Any) -> Any:
        if not isinstance(value, str):
            return self.values(value)
        prefix = f"{name}: "
        redacted = self.text(prefix + value)
        return redacted.removeprefix(prefix) if redacted.startswith(prefix) else self.text(value)

    def step(self, step: Step) -> Step:
        if isinstance(step, Note):
            return replace(step, text=self.text(step.text))
        return Message(tuple(map(self._part, step.parts)), self.text(step.model))

    def _part(self, part: Part) -> Part:
        if isinstance(part, Text | Thinking):
            return replace(part, text=self.text(part.text))
        result = part.result
        if result is not None:
            result = replace(result, text=self.text(result.text))
        return ToolCall(self.text(part.name), self.values(part.input), result)


def redact_turn(turn: Turn) -> RedactedTurn:
    redactor = _Redactor()
    steps = tuple(map(redactor.step, turn.steps))
    redacted = Turn(redactor.text(turn.prompt), turn.attached, steps)
    return RedactedTurn(redacted, redactor.count)


def redact_session(session: Session) -> Session:
    """Return a session without secrets, with what a server shows of it."""
    text = _Redactor().text
    names = ("agent", "project", "cwd", "current_cwd", "branch", "title", "slug")
    return replace(
        session,
        **{name: text(getattr(session, name)).replace("\0", " ") for name in names},
        unknown_types={},
        summaries=(),
    )


def redact_entry(entry: Entry) -> Entry:
    text = _Redactor().text
    return replace(entry, cwd=text(entry.cwd), branch=text(entry.branch).replace("\0", " "))
