"""Which optional parts of a conversation to print."""

from typing import NamedTuple


class Include(NamedTuple):
    """The parts to print besides prompts and answers."""

    tools: bool = False
    thinking: bool = False
