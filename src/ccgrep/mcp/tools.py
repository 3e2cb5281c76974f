"""The four tools: methods from arguments to JSON fields.

They know nothing of the protocol and call `ops` like the command line, so that both give the same
answers. Names, fields and error texts follow other conversation-search servers for Claude Code:
an agent that knows one of them knows this one. The server publishes the signatures and docstrings
as descriptions; none depends on a transcript.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ccgrep.config import Config
from ccgrep.errors import CcgrepError, NotFoundError, RefError
from ccgrep.kinds import DefaultMode, SourceName, TextKind
from ccgrep.mcp import reply
from ccgrep.mcp.project_filter import find_project_sessions
from ccgrep.ops.list import list_sessions
from ccgrep.ops.search import search
from ccgrep.ops.show import Conversation, PlacedTurn, show_range
from ccgrep.output.formatting import iso_time
from ccgrep.output.record_line import snippet_parts
from ccgrep.output.turn_parts import summarize
from ccgrep.paths import last_name
from ccgrep.search.default_mode import set_default_mode
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import FoundHit, SearchOptions
from ccgrep.text import clean

SNIPPET_CHARS = 300
MAX_LIMIT = 500
_SOURCES: dict[str, SourceName] = {
    "claude-code": "claude_code", "claude_code": "claude_code", "codex": "codex",
}  # fmt: skip
_MODES: dict[str, DefaultMode] = {
    "lexical": "words", "semantic": "semantic", "hybrid": "hybrid"
}  # fmt: skip

Fields = dict[str, Any]
Project = Annotated[str | None, Field(description="Only projects whose path contains this text")]
Since = Annotated[
    str | None, Field(description="Only turns since: 30m, 24h, 7d, 2w, yesterday, 2026-01-15T10:30")
]
Tool = Annotated[
    str | None, Field(description="Only turns that used this tool; any: that used some tool")
]
Source = Annotated[
    Literal["claude-code", "claude_code", "codex"] | None,
    Field(description="Only conversations with this agent"),
]
Cursor = Annotated[
    str | None,
    Field(description="next_cursor of the previous reply; repeat the other arguments unchanged"),
]
SessionId = Annotated[str, Field(description="Session id, or a unique prefix of it")]
Types = Annotated[
    list[TextKind] | TextKind | None,
    Field(description="Only these kinds of text: user, assistant, tool, thinking"),
]


class ToolError(CcgrepError):
    """An error in the arguments of a tool. `type` identifies it for programs."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type


class Tools(NamedTuple):
    """The tools, with what they need to know about the server."""

    config: Config
    glob: str | None  # of project directories to serve; None serves every session
    parse_time: Callable[[str], int]
    calling_sessions: Callable[[], frozenset[str]]

    def search_conversations(
        self,
        query: Annotated[str, Field(description='Words to find; "quoted words" form a phrase')],
        limit: int = 10,
        session_id: SessionId | None = None,
        project: Project = None,
        since: Since = None,
        type: Types = None,
        tool: Tool = None,
        source: Source = None,
        mode: Annotated[
            Literal["auto", "lexical", "semantic", "hybrid"],
            Field(
                description="Match words (lexical), meaning (semantic), or both (hybrid); "
                "auto ranks questions by both if it can"
            ),
        ] = "auto",
        include_self: Annotated[
            bool, Field(description="Include the calling session, and ccgrep's output in others")
        ] = False,
        cursor: Cursor = None,
    ) -> Fields:
        """Search past conversations. Returns matching turns, best first.
        Use read_turn to read one in full.
        """
        filters = self._filters(project, since, tool, source)
        kinds: list[TextKind] = [type] if isinstance(type, str) else type or []
        types = tuple(dict.fromkeys(kinds))
        (start,), limit = _parse_cursor(cursor), _clamp_limit(limit)
        # An agent that names a session means it, even if it is the calling one.
        include_self = include_self or session_id is not None
        request = Request(
            patterns=(query,),
            filters=filters._replace(
                sessions=(session_id,) if session_id is not None else None,
                except_ids=frozenset() if include_self else self.calling_sessions(),
            ),
            types=types,
            limit=start + limit + 1,  # One more hit shows that there is a next page.
            excludes_own_output=not include_self,
            needs_total=False,
        )
        wanted = _MODES.get(mode, self.config.mode)
        request = set_default_mode(request, wanted, self.config.store_dir)
        notes: list[str] = []
        options = SearchOptions(embed_pending=True, warn=notes.append)
        try:
            result = search(self.config, request, options)
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

    def list_conversations(
        self,
        project: Project = None,
        limit: int = 50,
        since: Since = None,
        tool: Tool = None,
        source: Source = None,
        cursor: Cursor = None,
    ) -> Fields:
        """List past conversations, most recently active first."""
        (start,) = _parse_cursor(cursor)
        filters = self._filters(project, since, tool, source)._replace(documents="exclude")
        listed = list_sessions(self.config, filters)
        items = []
        for item in listed[start : start + _clamp_limit(limit)]:
            session = item.row.session
            fields = {
                "session_id": session.id,
                "project": last_name(session.project),
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
        total = len(listed)
        fitting, rest = reply.fit_items(items, start, total)
        return {"conversations": fitting, "total_conversations": total, **_cursor_fields(rest)}

    def read_turn(
        self,
        session_id: SessionId,
        turn_number: Annotated[int, Field(description="Number of the turn, from 0")],
        cursor: Cursor = None,
    ) -> Fields:
        """Read one turn in full: prompt, answer and a summary of each tool call."""
        conversation = self._show_range(session_id, max(turn_number, 0), 1)
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
        self,
        session_id: SessionId,
        offset: Annotated[int, Field(description="Number of the first turn, from 0")] = 0,
        limit: int = 10,
        cursor: Cursor = None,
    ) -> Fields:
        """Read the turns of a conversation in order."""
        # The last turn may be cut: the cursor continues within it.
        first, start = _parse_cursor(cursor, 2) if cursor else (max(offset, 0), 0)
        limit = _clamp_limit(limit)
        conversation = self._show_range(session_id, first, limit)
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
            "project": reply.clean_field(last_name(session.project)),
            "cwd": reply.clean_field(session.cwd),
            "git_branch": reply.clean_field(session.branch or None),
            "total_turns": session.turns,
            "offset": first,
            "limit": limit,
            "turns": turns,
            **_cursor_fields(rest),
        }

    def _filters(
        self, project: str | None, since: str | None, tool: str | None, source: str | None
    ) -> Filters:
        return Filters(
            project=project,
            since=self.parse_time(since) if since else None,
            source=_SOURCES[source] if source else None,
            tool=tool,
            subagents=self.config.subagents,
            only_ids=self._served_sessions(),
        )

    def _show_range(self, session_id: str, start: int, count: int) -> Conversation:
        try:
            conversation = show_range(self.config, session_id, start, count)
        except RefError:
            raise _unknown_session(session_id) from None
        served = self._served_sessions()
        session = conversation.session
        if session is None or (served is not None and session.id not in served):
            raise _unknown_session(session_id)
        return conversation

    def _served_sessions(self) -> frozenset[str] | None:
        """Return the sessions that the server's glob selects, or None if it serves all."""
        if self.glob is None:
            return None
        return find_project_sessions(self.config, self.glob)


def _hit_fields(found: FoundHit) -> Fields:
    parts = {name: round(value, 4) for name, value in found.hit.parts}
    return {
        "session_id": found.hit.place.session,
        "project": reply.clean_field(last_name(found.stored.project)),
        "turn_number": found.hit.place.turn,
        "score": round(found.hit.score, 4),
        **({"parts": parts} if len(parts) > 1 else {}),
        "snippet": _snippet(found),
        "timestamp": iso_time(found.hit.started or None),
    }


def _snippet(found: FoundHit) -> str:
    text = "".join(part.text for part in snippet_parts(found, SNIPPET_CHARS))
    return str(reply.clean_field(" ".join(clean(text).split()), SNIPPET_CHARS))


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
