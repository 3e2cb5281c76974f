"""The four tools: functions from arguments to JSON fields.

They know nothing of the protocol and call `ops` like the command line, so that both give the same
answers. Names, fields and error texts follow other conversation-search servers for Claude Code:
an agent that knows one of them knows this one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ccgrep.config import Config
from ccgrep.errors import CcgrepError, NotFoundError, RefError
from ccgrep.kinds import Mode, SourceName, TextKind
from ccgrep.mcp import reply
from ccgrep.mcp.project_filter import find_project_sessions
from ccgrep.ops.list import list_sessions
from ccgrep.ops.search import search
from ccgrep.ops.show import Conversation, PlacedTurn, show_range
from ccgrep.output.formatting import iso_time, project_name
from ccgrep.output.record_line import snippet_parts
from ccgrep.output.tool_calls import summarize
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import FoundHit, SearchOptions
from ccgrep.text import clean

SNIPPET_CHARS = 300
MAX_LIMIT = 500
_SOURCES: dict[str, SourceName] = {
    "claude-code": "claude_code", "claude_code": "claude_code", "codex": "codex",
}  # fmt: skip

Fields = dict[str, Any]


class ToolError(CcgrepError):
    """An error in the arguments of a tool. `type` identifies it for programs."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type


class ServerContext(NamedTuple):
    """What the tools need to know about the server."""

    config: Config
    glob: str | None  # of project directories to serve; None serves every session
    parse_time: Callable[[str], int]
    calling_sessions: Callable[[], frozenset[str]]


def make_filters(
    context: ServerContext,
    project: str | None = None,
    since: str | None = None,
    tool: str | None = None,
    source: str | None = None,
) -> Filters:
    """Return the filters that several tools share."""
    return Filters(
        project=project,
        since=context.parse_time(since) if since else None,
        source=_SOURCES[source] if source else None,
        tool=tool,
        subagents=context.config.subagents,
        only_ids=_served_sessions(context),
    )


def search_conversations(
    context: ServerContext,
    query: str,
    filters: Filters,
    limit: int,
    session_id: str | None,
    types: tuple[TextKind, ...],
    mode: Mode,
    include_self: bool,
    cursor: str | None,
) -> Fields:
    (start,), limit = _parse_cursor(cursor), _clamp_limit(limit)
    # An agent that names a session means it, even if it is the calling one.
    include_self = include_self or session_id is not None
    request = Request(
        patterns=(query,),
        mode=mode,
        filters=filters._replace(
            sessions=(session_id,) if session_id is not None else None,
            except_ids=frozenset() if include_self else context.calling_sessions(),
        ),
        types=types,
        limit=start + limit + 1,  # One more hit shows that there is a next page.
        excludes_own_output=not include_self,
        needs_total=False,
    )
    notes: list[str] = []
    options = SearchOptions(embed_pending=True, warn=notes.append)
    try:
        result = search(context.config, request, options)
    except NotFoundError as error:
        return {"results": [], "tier": None, **_note_fields([str(error)])}
    except RefError:
        raise _unknown_session(session_id or "") from None
    hits = result.found(types)[start:]
    items = [_hit_fields(hit) for hit in hits[:limit]]
    results, rest = reply.fit_items(items, start, start + len(hits))
    return {
        "results": results,
        "tier": result.answer.tier,
        **_cursor_fields(rest),
        **_note_fields(notes),
    }


def _hit_fields(found: FoundHit) -> Fields:
    return {
        "session_id": found.hit.place.session,
        "project": reply.clean_field(project_name(found.stored.project)),
        "turn_number": found.hit.place.turn,
        "score": round(found.hit.score, 4),
        "snippet": _snippet(found),
        "timestamp": iso_time(found.hit.started or None),
    }


def _snippet(found: FoundHit) -> str:
    """Return one line around the match."""
    text = "".join(part.text for part in snippet_parts(found, SNIPPET_CHARS))
    line = clean(" ".join(clean(text).split()))
    return line if len(line) <= SNIPPET_CHARS else clean(line[: SNIPPET_CHARS - 1]) + "…"


def list_conversations(
    context: ServerContext, filters: Filters, limit: int, cursor: str | None
) -> Fields:
    (start,) = _parse_cursor(cursor)
    listed = list_sessions(context.config, filters)
    items = []
    for item in listed[start : start + _clamp_limit(limit)]:
        session = item.row.session
        fields = {
            "session_id": session.id,
            "project": project_name(session.project),
            "summary": session.title,
            "slug": session.slug or None,
            "first_timestamp": iso_time(session.started),
            "last_timestamp": iso_time(session.ended),
            "turn_count": session.turns,
            "cwd": session.cwd,
            "git_branch": session.branch or None,
            "source": session.source,
        }
        items.append({name: reply.clean_field(value) for name, value in fields.items()})
    fitting, rest = reply.fit_items(items, start, len(listed))
    return {
        "conversations": fitting,
        "total_conversations": len(listed),
        **_cursor_fields(rest),
    }


def read_turn(
    context: ServerContext, session_id: str, turn_number: int, cursor: str | None
) -> Fields:
    conversation = _show_range(context, session_id, max(turn_number, 0), 1)
    assert conversation.session is not None
    if turn_number < 0 or not conversation.turns:
        total = conversation.session.turns
        raise ToolError(
            "out_of_range", f"Turn {turn_number} out of range (session has {total} turns)"
        )
    turn = _turn_fields(conversation.session.id, conversation.turns[0])
    (start,) = _parse_cursor(cursor)
    fitted, rest = reply.fit_turn(turn, start, reply.ITEM_CHARS)
    return {**fitted, **_cursor_fields(rest)}


def read_conversation(
    context: ServerContext, session_id: str, offset: int, limit: int, cursor: str | None
) -> Fields:
    """Return at most `limit` turns. The last may be cut; the cursor continues within it."""
    first, start = _parse_cursor(cursor, 2) if cursor else (max(offset, 0), 0)
    limit = _clamp_limit(limit)
    conversation = _show_range(context, session_id, first, limit)
    session = conversation.session
    assert session is not None
    turns: list[Fields] = []
    room, rest = reply.ITEM_CHARS, None
    for placed in conversation.turns:
        if turns and room < reply.MIN_TURN_CHARS:
            rest = f"{placed.number}:0"
            break
        turn, end = reply.fit_turn(_turn_fields(session.id, placed), start, room)
        turns.append(turn)
        room, start = room - reply.encoded_size(turn), 0
        if end is not None:
            rest = f"{placed.number}:{end}"
            break
    if rest is None and first + len(turns) < session.turns and turns:
        rest = f"{first + len(turns)}:0"
    return {
        "session_id": session.id,
        "project": reply.clean_field(project_name(session.project)),
        "cwd": reply.clean_field(session.cwd),
        "git_branch": reply.clean_field(session.branch or None),
        "total_turns": session.turns,
        "offset": first,
        "limit": limit,
        "turns": turns,
        **_cursor_fields(rest),
    }


def _show_range(context: ServerContext, session_id: str, start: int, count: int) -> Conversation:
    try:
        conversation = show_range(context.config, session_id, start, count)
    except RefError:
        raise _unknown_session(session_id) from None
    served = _served_sessions(context)
    session = conversation.session
    if session is None or (served is not None and session.id not in served):
        raise _unknown_session(session_id)
    return conversation


def _turn_fields(session_id: str, placed: PlacedTurn) -> Fields:
    turn = placed.turn
    return {
        "session_id": session_id,
        "turn_number": placed.number,
        "timestamp": iso_time(placed.entry.started),
        "user_text": clean(turn.prompt) if turn else "",
        "assistant_text": clean("\n".join(turn.assistant_texts())) if turn else "",
        "tools_used": [
            {name: reply.clean_field(value) for name, value in summarize(call).items()}
            for call in (turn.calls() if turn else ())
        ],
        **({} if turn else {"is_lost": True}),
    }


def _served_sessions(context: ServerContext) -> frozenset[str] | None:
    """Return the sessions that the server's glob selects, or None if it serves all."""
    return find_project_sessions(context.config, context.glob) if context.glob is not None else None


def _clamp_limit(limit: int) -> int:
    return min(max(limit, 1), MAX_LIMIT)


def _parse_cursor(cursor: str | None, count: int = 1) -> list[int]:
    """Return the numbers of a cursor, or zeros if there is none."""
    parts = cursor.split(":") if cursor else ["0"] * count
    if len(parts) != count or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts):
        raise ToolError("bad_cursor", f"invalid cursor '{cursor}': pass next_cursor of a reply")
    return [int(part) for part in parts]


def _cursor_fields(cursor: int | str | None) -> Fields:
    return {} if cursor is None else {"next_cursor": str(cursor)}


def _note_fields(notes: list[str]) -> Fields:
    return {"notes": [reply.clean_field(note) for note in notes]} if notes else {}


def _unknown_session(session_id: str) -> ToolError:
    return ToolError("unknown_session", f"Unknown session_id: {session_id}")
