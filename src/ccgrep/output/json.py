"""Results as JSON: one object with a schema version, safe to print on a terminal.

Text is whole here. Characters that act instead of showing are written as JSON escapes,
so a parser gets the text as it was and a terminal shows it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ccgrep.ingest.run import IndexReport
from ccgrep.model import Message, Session, Text, Thinking, Turn
from ccgrep.ops.index import Status
from ccgrep.ops.search import Coverage
from ccgrep.ops.secrets import Found
from ccgrep.ops.sessions import Listed, Shown, ShownTurn
from ccgrep.ops.upkeep import Forgotten, FsckResult
from ccgrep.output import tools
from ccgrep.settings import Setting
from ccgrep.store.gc import GcReport
from ccgrep.text import json_escape, redacted_values

if TYPE_CHECKING:
    from ccgrep.search.semantic_search import EmbedReport


SCHEMA = 1


def dumps(value: dict[str, Any]) -> str:
    return _encoded({"schema": SCHEMA, **value})


def iso(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    try:
        time = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def project_name(path: str) -> str:
    """The short name of a project: its directory's."""
    return path.rstrip("/").rpartition("/")[2]


def coverage_fields(coverage: Coverage) -> dict[str, Any]:
    """How much of what is on disk was looked at."""
    return {
        "is_fresh": coverage.is_fresh,
        "behind_files": coverage.behind_files,
        "behind_bytes": coverage.behind_bytes,
    }


def index_report(
    report: IndexReport, set_aside: str = "", embedded: "EmbedReport | None" = None
) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(report)
    if set_aside:
        fields["set_aside"] = set_aside
    if embedded is not None:
        fields["embedded"] = {"model": embedded.model, "texts": embedded.done}
    return fields


def status(status: Status) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    return {**fields, "last_indexed": iso(status.last_indexed)}


def raw(turn: Turn) -> str:
    """A turn's object as it is stored, every field of it."""
    return _encoded(turn)


def _encoded(value: Any) -> str:
    plain = redacted_values(msgspec.to_builtins(value))
    return json_escape(msgspec.json.encode(plain).decode())


def session(session: Session) -> dict[str, Any]:
    """A session as `list --json` and `show --json` give it."""
    return {
        "id": session.id,
        "source": session.source,
        "kind": session.kind,
        "parent": session.parent or None,
        "agent": session.agent or None,
        "forked_from": session.forked_from or None,
        "continued_in": session.continued_in or None,
        "project": session.project,
        "cwd": session.cwd,
        "git_branch": session.branch or None,
        "title": session.title,
        "slug": session.slug or None,
        "started_at": iso(session.started),
        "ended_at": iso(session.ended),
        "duration_seconds": session.duration_s,
        "turn_count": session.turns,
        "message_count": session.messages,
        "tool_count": session.tools,
        "input_tokens": session.input_tokens,
        "output_tokens": session.output_tokens,
        "models": session.models,
        "versions": session.versions,
        "is_complete": session.is_complete,
        "is_prompt_only": session.is_prompt_only,
    }


def listed(sessions: list[Listed]) -> dict[str, Any]:
    return {"sessions": [_listed(item) for item in sessions]}


def _listed(item: Listed) -> dict[str, Any]:
    row = item.row
    path = row.files[0].path if row.files else None
    return {
        **session(row.session),
        "short_id": item.short_id,
        "session_path": path,
        "is_gone": row.is_gone,
        **({"depth": item.depth} if item.depth is not None else {}),
    }


def shown(result: Shown, with_tools: bool, with_thinking: bool) -> dict[str, Any]:
    head: dict[str, Any] = session(result.session) if result.session else {}
    messages: list[dict[str, Any]] = []
    for place in result.places:
        if place.turn is not None:
            said = turn_messages(place.turn, with_tools, with_thinking)
            messages += [{"turn": place.number, **message} for message in said]
    return {
        **head,
        "session_path": result.path or None,
        "is_gone": result.is_gone,
        "turns": [_turn(place) for place in result.places],
        "messages": messages,
    }


def _turn(place: ShownTurn) -> dict[str, Any]:
    entry, turn = place.entry, place.turn
    return {
        "turn": place.number,
        "id": entry.turn.hex(),
        "timestamp": iso(entry.started),
        "ended_at": iso(entry.ended),
        "cwd": entry.cwd or None,
        "git_branch": entry.branch or None,
        "is_open": entry.is_open,
        "is_rolled_back": entry.is_rolled_back,
        "is_lost": turn is None,
        "tools_used": [tools.summary(call) for call in turn.calls()] if turn else [],
    }


def turn_messages(turn: Turn, with_tools: bool, with_thinking: bool) -> list[dict[str, Any]]:
    """What was said, in order: the person, the agent, and notes as role `system`."""
    said: list[dict[str, Any]] = []
    if turn.prompt or turn.attached:
        prompt: dict[str, Any] = {"role": "user", "content": turn.prompt}
        if turn.attached:
            prompt["attached"] = msgspec.to_builtins(turn.attached)
        said.append(prompt)
    for step in turn.steps:
        if isinstance(step, Message):
            message = _message(step, with_tools, with_thinking)
            if len(message) > 1 or message.get("content"):
                said.append(message)
        else:
            said.append({"role": "system", "kind": step.kind, "content": step.text})
    return said


def _message(message: Message, with_tools: bool, with_thinking: bool) -> dict[str, Any]:
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    fields: dict[str, Any] = {}
    if texts:
        fields["content"] = "\n".join(texts)
    thinking = [part.text for part in message.parts if isinstance(part, Thinking)]
    if with_thinking and thinking:
        fields["thinking"] = "\n".join(thinking)
    calls = [part for part in message.parts if not isinstance(part, Text | Thinking)]
    if with_tools and calls:
        fields["tool_calls"] = [
            {"name": c.name, "input": c.input, "result": msgspec.to_builtins(c.result)}
            for c in calls
        ]
    return {"role": "assistant", **fields} if fields else {}


def settings(settings: Mapping[str, Setting], path: str) -> dict[str, Any]:
    found = {name: {"value": s.value, "origin": s.origin} for name, s in settings.items()}
    return {"file": path, "settings": found}


def fsck(result: FsckResult) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(result.report)
    if result.repaired is not None:
        fields["repaired"] = msgspec.to_builtins(result.repaired)
    return fields


def gc(report: GcReport) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(report)
    return fields


def forgotten(result: Forgotten) -> dict[str, Any]:
    return {"forgotten": list(result.sessions), **gc(result.report)}


def secrets(found: list[Found]) -> dict[str, Any]:
    return {
        "secrets": [
            {
                "session_id": one.place.session,
                "turn": one.place.turn,
                "rule": one.rule,
                "fingerprint": one.fingerprint,
                "kinds": one.kinds,
            }
            for one in found
        ]
    }
