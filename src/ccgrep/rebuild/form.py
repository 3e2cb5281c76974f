"""What a rebuilt transcript holds of a turn.

A rebuilt turn has no thinking, because the clients sign it. Every call has a result, because the
APIs demand one. Reading the transcript gives the form of the turn, so comparing forms tells whether
a turn was rebuilt.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ccgrep.kinds import SourceName
from ccgrep.model import Blob, Message, Note, Part, Step, Text, Thinking, ToolCall, ToolResult, Turn

_NO_PROMPT = "[no prompt]"
_NO_RESULT = "[no result was recorded]"
_SUMMARIES = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
)
"""How the summaries of Claude Code and Codex begin that replace everything before them."""


def make_form(turn: Turn, source: SourceName) -> Turn:
    """Return what a transcript of `source` holds of a turn."""
    steps = (_form_step(step, source) for step in turn.steps)
    prompt = turn.prompt if turn.prompt.strip() else _NO_PROMPT
    return Turn(prompt, turn.attached, tuple(step for step in steps if step is not None))


def _form_step(step: Step, source: SourceName) -> Step | None:
    if isinstance(step, Note):
        return step if step.kind != "error" and step.text.strip() else None
    parts = tuple(_form_parts(step.parts, source))
    return replace(step, parts=parts) if parts else None


def _form_parts(parts: Sequence[Part], source: SourceName) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, ToolCall):
            input = _form_input(part.input, source)
            result = part.result or ToolResult(_NO_RESULT)
            yield ToolCall(part.name or "unknown", input, result)
        elif not isinstance(part, Thinking) and part.text.strip():
            yield part


def _form_input(input: Any, source: SourceName) -> Any:
    """Return a tool's input: Claude Code sends objects only, Codex also plain text."""
    if input is None:
        return {}
    return input if isinstance(input, dict) or source == "codex" else {"input": input}


def describe_blob(blob: Blob) -> str:
    return f"[{blob.media_type}, {blob.size} bytes, was left out]"


def is_compaction(note: Note) -> bool:
    """Return whether a note replaces everything before it."""
    return note.kind == "summary" and note.text.startswith(_SUMMARIES)


def list_content(turn: Turn) -> list[object]:
    """Return the content of a form in order, without results, which may still grow.

    The readers drop a text that repeats another one of the same message. Codex's has one message
    between two results, so the list has a text only once between two calls.
    """
    content: list[object] = [turn.prompt]
    texts: set[str] = set()
    for item in _iterate_content(turn.steps):
        if isinstance(item, Text):
            if item.text in texts:
                continue
            texts.add(item.text)
        elif isinstance(item, ToolCall):
            texts.clear()
        content.append((item.name, item.input) if isinstance(item, ToolCall) else item)
    return content


def _iterate_content(steps: Sequence[Step]) -> Iterator[Note | Part]:
    for step in steps:
        if isinstance(step, Message):
            yield from step.parts
        else:
            yield step
