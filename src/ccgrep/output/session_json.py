"""JSON fields of sessions and conversations, for `list`, `show`, `export` and `search`."""

from typing import Any

import msgspec

from ccgrep.blame.evidence import MadeCommit
from ccgrep.model import Message, Session, Text, Thinking, Turn
from ccgrep.ops.list import ListedSession
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.commit_names import evidence_fields
from ccgrep.output.formatting import iso_time
from ccgrep.output.turn_parts import Include, summarize


def _session_fields(session: Session) -> dict[str, Any]:
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
        "current_cwd": session.current_cwd or session.cwd,
        "git_branch": session.branch or None,
        "title": session.title,
        "slug": session.slug or None,
        "started_at": iso_time(session.started),
        "ended_at": iso_time(session.ended),
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
        "is_recovered": session.is_recovered,
    }


def list_fields(sessions: list[ListedSession]) -> dict[str, Any]:
    return {"sessions": [_listed_fields(item) for item in sessions]}


def _listed_fields(item: ListedSession) -> dict[str, Any]:
    row = item.row
    return {
        **_session_fields(row.session),
        "short_id": item.short_id,
        "subagent_count": item.subagents,
        "is_marked": item.tags is not None,
        "tags": item.tags or (),
        "session_path": row.files[0].path if row.files else None,
        "is_gone": row.is_gone,
        "machine": item.machine or None,
        **({"depth": item.depth} if item.depth is not None else {}),
    }


def conversation_fields(conversation: Conversation, include: Include) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for placed in conversation.turns:
        if placed.turn is not None:
            own = turn_messages(placed.turn, include)
            messages += [{"turn": placed.number, **message} for message in own]
    return {
        **(_session_fields(conversation.session) if conversation.session else {}),
        "session_path": conversation.path or None,
        "is_gone": conversation.is_gone,
        **({"machine": conversation.machine} if conversation.machine else {}),
        "turns": [_turn_fields(placed) for placed in conversation.turns],
        "messages": messages,
    }


def _turn_fields(placed: PlacedTurn) -> dict[str, Any]:
    entry, turn = placed.entry, placed.turn
    return {
        "turn": placed.number,
        "id": entry.turn.hex(),
        "timestamp": iso_time(entry.started),
        "ended_at": iso_time(entry.ended),
        "cwd": entry.cwd or None,
        "git_branch": entry.branch or None,
        "is_open": entry.is_open,
        "is_rolled_back": entry.is_rolled_back,
        "is_inherited": placed.is_inherited,
        "is_lost": turn is None,
        "tools_used": [summarize(call) for call in turn.calls()] if turn else [],
        **({"commits": [_made_fields(made) for made in placed.commits]} if placed.commits else {}),
    }


def _made_fields(made: MadeCommit) -> dict[str, Any]:
    return {"sha": made.sha, "subject": made.subject, **evidence_fields(made.evidence)}


def turn_messages(turn: Turn, include: Include) -> list[dict[str, Any]]:
    """Return the messages of a turn in order; notes have the role `system`."""
    messages: list[dict[str, Any]] = []
    if turn.prompt or turn.attached:
        prompt: dict[str, Any] = {"role": "user", "content": turn.prompt}
        if turn.attached:
            prompt["attached"] = msgspec.to_builtins(turn.attached)
        messages.append(prompt)
    for step in turn.steps:
        if isinstance(step, Message):
            if message := _message_fields(step, include):
                messages.append({"role": "assistant", **message})
        else:
            messages.append({"role": "system", "kind": step.kind, "content": step.text})
    return messages


def _message_fields(message: Message, include: Include) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if texts:
        fields["content"] = "\n".join(texts)
    thinking = [part.text for part in message.parts if isinstance(part, Thinking)]
    if include.thinking and thinking:
        fields["thinking"] = "\n".join(thinking)
    calls = [part for part in message.parts if not isinstance(part, Text | Thinking)]
    if include.tools and calls:
        fields["tool_calls"] = [
            {"name": c.name, "input": c.input, "result": msgspec.to_builtins(c.result)}
            for c in calls
        ]
    return fields
