"""Leaves out hits in ccgrep's own output.

An agent that searches would otherwise find its earlier searches first. A turn is left out if it
matches nowhere but in calls of ccgrep.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ccgrep.fulltext.document import field_text, turn_text
from ccgrep.kinds import TextKind
from ccgrep.model import Message, Step, ToolCall
from ccgrep.search.request import Answer, Hit, Request
from ccgrep.search.searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.search.snippet import MatchFinder

TOOLS = ("search_conversations", "list_conversations", "read_turn", "read_conversation")
_ALL: tuple[TextKind, ...] = ("user", "assistant", "tool", "thinking")
_COMMAND = re.compile(r"(?:^|[;&|(\n`])\s*(?:\w+=\S*\s+)*(?:\S*/)?ccgrep(?=\s|$)")
"""ccgrep as a command, not in a path or a text."""
_SCRIPT_CALL = re.compile(
    rf"\btools\.\w*(?:{'|'.join(TOOLS)})\(|[\"'`;&|(]\s*(?:\S*/)?ccgrep(?=[\s\"'`])"
)
"""ccgrep as a tool or a command in a script of Codex's code mode."""


def drop_own_output(
    run: Callable[[Request], tuple[Answer, MatchFinder]], searcher: Searcher, request: Request
) -> tuple[Answer, MatchFinder]:
    """Run a request and drop hits in ccgrep's own output; fetch more until the limit is met."""
    limit = request.limit
    while True:
        answer, finder = run(request._replace(limit=limit))
        kept = [hit for hit in answer.hits if not _is_own(searcher, hit, finder, request.types)]
        if not limit or len(kept) >= request.limit or len(answer.hits) < limit:
            left_out = len(answer.hits) - len(kept)
            kept = kept[: request.limit or None]
            return answer._replace(hits=kept, total=answer.total - left_out), finder
        limit *= 4


def _is_own(searcher: Searcher, hit: Hit, finder: MatchFinder, kinds: tuple[TextKind, ...]) -> bool:
    stored = searcher.stored_turn(hit.place)
    shown = (stored.prompt, stored.answer, stored.title) if stored is not None else ()
    if hit.passage is not None or (not kinds and any(finder(text) for text in shown)):
        return False
    turn = searcher.turn(hit.place)
    if turn is None or not any(map(is_ccgrep_call, turn.calls())):
        return False
    rest = replace(turn, steps=tuple(map(_drop_calls, turn.steps)))
    texts = [turn_text(rest, kind) for kind in kinds or _ALL]
    texts += () if kinds else (field_text(rest, "note"),)
    return not any(finder(text) for text in texts)


def _drop_calls(step: Step) -> Step:
    if not isinstance(step, Message):
        return step
    kept = (
        part for part in step.parts if not (isinstance(part, ToolCall) and is_ccgrep_call(part))
    )
    return replace(step, parts=tuple(kept))


def is_ccgrep_call(call: ToolCall) -> bool:
    """Return whether a tool call ran ccgrep, in a shell or over MCP."""
    if call.name.rpartition("__")[2] in TOOLS:
        return True
    if call.name == "exec" and isinstance(call.input, str):
        return _SCRIPT_CALL.search(call.input) is not None
    given = call.input if isinstance(call.input, dict) else {}
    command = given.get("command", given.get("cmd"))
    texts = command if isinstance(command, list) else [command]
    return any(isinstance(text, str) and _COMMAND.search(text) for text in texts)
