"""JSON fields of a turn: prompt, answer, and as much of its tool calls as is asked for."""

from collections.abc import Collection
from typing import Any

from ccgrep.mcp import reply
from ccgrep.model import ToolCall, Turn
from ccgrep.ops.show import PlacedTurn
from ccgrep.output.formatting import iso_time
from ccgrep.output.turn_parts import output_text, readable_input, summarize
from ccgrep.text import clean


def turn_fields(session_id: str, placed: PlacedTurn, include: Collection[str]) -> dict[str, Any]:
    """Return the fields of a turn. `include` names what else is wanted besides summaries."""
    turn = placed.turn or Turn()
    fields = {
        "session_id": session_id,
        "turn_number": placed.number,
        "timestamp": iso_time(placed.entry.started),
        "user_text": clean(turn.prompt),
        "assistant_text": clean("\n".join(turn.assistant_texts())),
    }
    if "thinking" in include:
        fields["thinking_text"] = clean("\n".join(turn.thinking_texts()))
    fields["tools_used"] = [
        _call_fields(number, call, include) for number, call in enumerate(turn.calls())
    ]
    return fields if placed.turn else {**fields, "is_lost": True}


def _call_fields(number: int, call: ToolCall, include: Collection[str]) -> dict[str, Any]:
    fields = {name: reply.clean_field(value) for name, value in summarize(call).items()}
    if "tools" in include or "outputs" in include:
        fields["call"] = number
    if "tools" in include:
        fields["input"] = clean(readable_input(call).text)
    if "outputs" in include:
        fields["is_error"] = call.result is not None and call.result.is_error
        fields["output"] = clean(output_text(call.result)) if call.result is not None else ""
    return fields
