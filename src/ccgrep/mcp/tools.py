"""The four tools: what each is asked, and what it answers, as values of JSON.

They know nothing of the protocol, and call `ops` as the command line does, so both give the same
answers. Names, fields and error texts are those of Claude Code's conversation-search servers, so
that an agent which knows one knows this one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ccgrep.config import Config
from ccgrep.errors import CcgrepError, NotFoundError, RefError
from ccgrep.kinds import Mode, SourceName, TextKind
from ccgrep.mcp import reply
from ccgrep.mcp.project_filter import sessions_in
from ccgrep.ops.list import list_sessions
from ccgrep.ops.search import search
from ccgrep.ops.show import Conversation, PlacedTurn, show_range
from ccgrep.output.formatting import iso_time, project_name
from ccgrep.output.record_line import snippet_pieces
from ccgrep.output.tool_calls import summarize
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import FoundHit, SearchOptions
from ccgrep.text import clean

SNIPPET_CHARS = 300
MAX_LIMIT = 500

Fields = dict[str, Any]


class ToolError(CcgrepError):
    """What a tool says instead of an answer; `kind` is for programs."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Serving(NamedTuple):
    """Whose conversations are served, and what the process around knows."""

    config: Config
    glob: str | None  # of project directories; None is every session of every agent
    parse_when: Callable[[str], int]
    asking: Callable[[], frozenset[str]]  # the sessions that a call comes from


class Narrowed(NamedTuple):
    """The filters that several tools have, as they were given."""

    project: str | None = None
    since: str | None = None
    tool: str | None = None
    source: SourceName | None = None


def search_conversations(
    serving: Serving,
    query: str,
    limit: int,
    session_id: str | None,
    narrowed: Narrowed,
    types: tuple[TextKind, ...],
    mode: Mode,
    include_self: bool,
    cursor: str | None,
) -> Fields:
    start, limit = _position(cursor), _limit(limit)
    filters = _filters(serving, narrowed)
    # Who names a session means it, also if it is the one that asks.
    is_own = include_self or session_id is not None
    request = Request(
        patterns=(query,),
        mode=mode,
        filters=filters._replace(
            sessions=(session_id,) if session_id is not None else None,
            except_ids=frozenset() if is_own else serving.asking(),
        ),
        types=types,
        limit=start + limit + 1,  # One more tells whether there are more.
        excludes_own_output=not is_own,
        needs_total=False,
    )
    notes: list[str] = []
    options = SearchOptions(embed_pending=True, warn=notes.append)
    try:
        result = search(serving.config, request, options)
    except NotFoundError as none:
        return {"results": [], "tier": None, **_notes([str(none)])}
    except RefError:
        raise _unknown(session_id or "") from None
    found = result.found(types)[start:]
    made = reply.page([_hit(one) for one in found[:limit]], start, start + len(found))
    return {
        "results": made.items,
        "tier": result.answer.tier,
        **_next(made.next),
        **_notes(notes),
    }


def _hit(found: FoundHit) -> Fields:
    return {
        "session_id": found.hit.place.session,
        "project": reply.field(project_name(found.stored.project)),
        "turn_number": found.hit.place.turn,
        "score": round(found.hit.score, 4),
        "snippet": _snippet(found),
        "timestamp": iso_time(found.hit.started or None),
    }


def _snippet(found: FoundHit) -> str:
    """One line around the match."""
    text = "".join(piece.text for piece in snippet_pieces(found, SNIPPET_CHARS))
    line = clean(" ".join(clean(text).split()))
    return line if len(line) <= SNIPPET_CHARS else clean(line[: SNIPPET_CHARS - 1]) + "…"


def list_conversations(
    serving: Serving, limit: int, narrowed: Narrowed, cursor: str | None
) -> Fields:
    start = _position(cursor)
    listed = list_sessions(serving.config, _filters(serving, narrowed))
    entries = []
    for item in listed[start : start + _limit(limit)]:
        session = item.row.session
        entry = {
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
        entries.append({name: reply.field(value) for name, value in entry.items()})
    made = reply.page(entries, start, len(listed))
    return {"conversations": made.items, "total_conversations": len(listed), **_next(made.next)}


def read_turn(serving: Serving, session_id: str, turn_number: int, cursor: str | None) -> Fields:
    shown = _part(serving, session_id, max(turn_number, 0), 1)
    assert shown.session is not None
    if turn_number < 0 or not shown.turns:
        total = shown.session.turns
        raise ToolError(
            "out_of_range", f"Turn {turn_number} out of range (session has {total} turns)"
        )
    whole = _turn(shown.session.id, shown.turns[0])
    made, rest = reply.part_of_turn(whole, _position(cursor), reply.ROOM)
    return {**made, **_next(rest)}


def read_conversation(
    serving: Serving, session_id: str, offset: int, limit: int, cursor: str | None
) -> Fields:
    """A page holds at most `limit` turns; its last one may be a part, on which the next goes on."""
    first, begun = _place(cursor) if cursor else (max(offset, 0), 0)
    shown = _part(serving, session_id, first, _limit(limit))
    session = shown.session
    assert session is not None
    turns: list[Fields] = []
    room, rest = reply.ROOM, None
    for place in shown.turns:
        if turns and room < reply.LEAST_ROOM:
            rest = f"{place.number}:0"
            break
        made, left = reply.part_of_turn(_turn(session.id, place), begun, room)
        turns.append(made)
        room, begun = room - reply.size(made), 0
        if left is not None:
            rest = f"{place.number}:{left}"
            break
    if rest is None and first + len(turns) < session.turns and turns:
        rest = f"{first + len(turns)}:0"
    return {
        "session_id": session.id,
        "project": reply.field(project_name(session.project)),
        "cwd": reply.field(session.cwd),
        "git_branch": reply.field(session.branch or None),
        "total_turns": session.turns,
        "offset": first,
        "limit": _limit(limit),
        "turns": turns,
        **_next(rest),
    }


def _part(serving: Serving, session_id: str, start: int, count: int) -> Conversation:
    try:
        shown = show_range(serving.config, session_id, start, count)
    except RefError:
        raise _unknown(session_id) from None
    served = _served(serving)
    if shown.session is None or (served is not None and shown.session.id not in served):
        raise _unknown(session_id)
    return shown


def _turn(session_id: str, place: PlacedTurn) -> Fields:
    turn = place.turn
    return {
        "session_id": session_id,
        "turn_number": place.number,
        "timestamp": iso_time(place.entry.started),
        "user_text": clean(turn.prompt) if turn else "",
        "assistant_text": clean("\n".join(turn.assistant_texts())) if turn else "",
        "tools_used": [
            {name: reply.field(value) for name, value in summarize(call).items()}
            for call in (turn.calls() if turn else ())
        ],
        **({} if turn else {"is_lost": True}),
    }


def _filters(serving: Serving, narrowed: Narrowed) -> Filters:
    return Filters(
        project=narrowed.project,
        since=serving.parse_when(narrowed.since) if narrowed.since else None,
        source=narrowed.source,
        tool=narrowed.tool,
        subagents=serving.config.subagents,
        only_ids=_served(serving),
    )


def _served(serving: Serving) -> frozenset[str] | None:
    return sessions_in(serving.config, serving.glob) if serving.glob is not None else None


def _limit(limit: int) -> int:
    return min(max(limit, 1), MAX_LIMIT)


def _position(cursor: str | None) -> int:
    return _numbers(cursor, 1)[0] if cursor else 0


def _place(cursor: str) -> tuple[int, int]:
    turn, position = _numbers(cursor, 2)
    return turn, position


def _numbers(cursor: str, count: int) -> list[int]:
    parts = cursor.split(":")
    if len(parts) != count or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts):
        raise ToolError("bad_cursor", "cursor is not one that this tool gave as next_cursor")
    return [int(part) for part in parts]


def _next(cursor: int | str | None) -> Fields:
    return {} if cursor is None else {"next_cursor": str(cursor)}


def _notes(notes: list[str]) -> Fields:
    return {"notes": [reply.field(note) for note in notes]} if notes else {}


def _unknown(session_id: str) -> ToolError:
    return ToolError("unknown_session", f"Unknown session_id: {session_id}")
