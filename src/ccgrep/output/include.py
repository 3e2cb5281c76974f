"""Selects which parts of a turn to print."""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.model import Note, Text, Thinking, ToolCall, Turn


class Include(NamedTuple):
    """The parts to print besides prompts, answers and notes."""

    tools: bool = False
    thinking: bool = False

    def parts(self, turn: Turn) -> Iterator[Note | Text | Thinking | ToolCall]:
        """Yield what follows the prompt of a turn."""
        for step in turn.steps:
            for part in (step,) if isinstance(step, Note) else step.parts:
                is_thinking, is_call = isinstance(part, Thinking), isinstance(part, ToolCall)
                if (self.thinking or not is_thinking) and (self.tools or not is_call):
                    yield part
