"""Reads conversations from Codex's `thread_history_*.sqlite`, which can outlive its rollouts.

A row of `thread_items` holds one item as JSON. Prompts begin turns; messages, reasoning, commands,
patches and MCP calls belong to the turn before them. Other items are ignored. The working
directory and the model of a thread are in `state_*.sqlite`.
"""

import shlex
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.kinds import SessionKind
from ccgrep.model import Message, Part, Text, Thinking, ToolCall, ToolResult, Turn
from ccgrep.sources.codex_items import list_changes
from ccgrep.sources.sqlite_file import Database
from ccgrep.sources.values import as_count, as_string

_ITEMS = """
    SELECT item_json, created_at_ms FROM thread_items WHERE thread_id = ? ORDER BY rollout_ordinal
"""
_THREADS = "SELECT id, cwd, git_branch, model, thread_source FROM threads"


class ThreadFacts(Struct, frozen=True):
    """What `state_*.sqlite` knows of a thread."""

    cwd: str = ""
    branch: str = ""
    model: str = ""
    kind: SessionKind = "main"


class ThreadTurn(Struct):
    """A turn of a thread, and when it began and ended."""

    prompt: str
    started: int | None
    ended: int | None = None
    parts: list[Part] = []

    def to_turn(self, model: str) -> Turn:
        steps = (Message(tuple(self.parts), model),) if self.parts else ()
        return Turn(prompt=self.prompt, steps=steps)


def read_thread_facts(state: Database) -> dict[str, ThreadFacts]:
    facts = {}
    for id, cwd, branch, model, source in state.rows(_THREADS):
        kind: SessionKind = "subagent" if source == "subagent" else "main"
        values = (as_string(cwd), as_string(branch), as_string(model), kind)
        facts[as_string(id)] = ThreadFacts(*values)
    return facts


def read_thread_ids(history: Database) -> list[str]:
    rows = history.rows("SELECT DISTINCT thread_id FROM thread_items")
    return sorted(as_string(id) for (id,) in rows if as_string(id))


def read_thread(history: Database, id: str) -> list[ThreadTurn]:
    """Return the turns of a thread, in order."""
    turns: list[ThreadTurn] = []
    for encoded, created in history.rows(_ITEMS, id):
        item = _decode(encoded)
        kind, time = as_string(item.get("type")), as_count(created)
        if kind == "userMessage":
            turns.append(ThreadTurn(_join_texts(item.get("content")), time))
        elif (read := _READERS.get(kind)) and (part := read(item)):
            if not turns:
                turns.append(ThreadTurn("", time))
            turns[-1].parts.append(part)
        if turns:
            turns[-1].ended = time
    return turns


def _decode(encoded: object) -> dict[str, Any]:
    try:
        item = msgspec.json.decode(encoded) if isinstance(encoded, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return item if isinstance(item, dict) else {}


def _join_texts(parts: Any) -> str:
    """Return the text of a list of strings or of parts with a text."""
    items = parts if isinstance(parts, list) else []
    texts = (
        as_string(one.get("text")) if isinstance(one, dict) else as_string(one) for one in items
    )
    return "\n".join(filter(None, texts))


def _read_message(item: dict[str, Any]) -> Part | None:
    text = as_string(item.get("text"))
    return Text(text) if text else None


def _read_reasoning(item: dict[str, Any]) -> Part | None:
    text = _join_texts(item.get("content")) or _join_texts(item.get("summary"))
    return Thinking(text) if text else None


def _read_command(item: dict[str, Any]) -> Part:
    is_error = item.get("exitCode") not in (0, None)
    result = ToolResult(as_string(item.get("aggregatedOutput")), is_error)
    return ToolCall("shell", {"command": _split_command(as_string(item.get("command")))}, result)


def _split_command(command: str) -> str | list[str]:
    """Return the words of `bash -lc SCRIPT`, as a rollout has them, else the command itself."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words if len(words) == 3 and words[1] in ("-c", "-lc") else command


def _read_change(item: dict[str, Any]) -> Part:
    return ToolCall("apply_patch", {"changes": list_changes(item.get("changes"))}, _status(item))


def _read_mcp_call(item: dict[str, Any]) -> Part:
    result = item.get("result")
    output = _join_texts(result.get("content")) if isinstance(result, dict) else ""
    is_error = item.get("error") is not None or _status(item).is_error
    name = f"mcp__{as_string(item.get('server'))}__{as_string(item.get('tool'))}"
    return ToolCall(name, item.get("arguments"), ToolResult(output, is_error))


def _status(item: dict[str, Any]) -> ToolResult:
    return ToolResult(is_error=item.get("status") in ("failed", "declined"))


_READERS: dict[str, Callable[[dict[str, Any]], Part | None]] = {
    "agentMessage": _read_message,
    "plan": _read_message,
    "reasoning": _read_reasoning,
    "commandExecution": _read_command,
    "fileChange": _read_change,
    "mcpToolCall": _read_mcp_call,
}
