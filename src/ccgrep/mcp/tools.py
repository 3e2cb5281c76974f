"""The four tools: methods from arguments to JSON fields.

They know nothing of the protocol and call `ops` like the command line, so that both give the same
answers. Names, fields and error texts follow other conversation-search servers for Claude Code:
an agent that knows one of them knows this one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ccgrep.config import Config
from ccgrep.errors import AmbiguousRefError, CcgrepError, NotFoundError, RefError
from ccgrep.kinds import DefaultMode, Inclusion, TextKind
from ccgrep.mcp import reply
from ccgrep.mcp.arguments import (
    ListArguments,
    ReadConversationArguments,
    ReadTurnArguments,
    SearchArguments,
)
from ccgrep.mcp.history import History
from ccgrep.mcp.project_filter import find_project_sessions
from ccgrep.mcp.turn_fields import turn_fields
from ccgrep.ops.list import ListedSession
from ccgrep.ops.search import Result
from ccgrep.ops.show import Conversation
from ccgrep.output.formatting import iso_time
from ccgrep.output.near_miss_text import near_miss_text
from ccgrep.output.record_line import snippet_parts
from ccgrep.paths import last_name
from ccgrep.search.near_miss import find_near_miss
from ccgrep.search.request import Filters, Request
from ccgrep.search.searcher import FoundHit, SearchOptions
from ccgrep.text import clean

SNIPPET_CHARS = 300
_MAX_CANDIDATES = 10
_MAX_TURN = 1_000_000_000
_MODES: dict[str, DefaultMode] = {
    "lexical": "words", "semantic": "semantic", "hybrid": "hybrid"
}  # fmt: skip
_INCLUSIONS: dict[str, Inclusion] = {
    "fold": "include", "include": "include", "exclude": "exclude", "only": "only",
}  # fmt: skip
_SPELLING = {
    "projects": "project",
    "sources": "source",
    "tools": "tool",
    "branches": "branch",
    "sessions": "session_id",
    "kind": "use type={}",
    "quotes": "leave out the quotes",
    "one_word": "which are the results",
    "words": "use mode=lexical",
    "filters": "leave out {}",
    "window": "which `ccgrep index --embed-all` embeds",
}
"""The advice for a search without hits, in terms of this tool."""

Fields = dict[str, Any]
Warn = Callable[[str], None]
T = TypeVar("T")
Name = TypeVar("Name", bound=str)


class ToolError(CcgrepError):
    """An error in the arguments of a tool. `type` identifies it for programs."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(message)
        self.type = type


class Tools(NamedTuple):
    """The tools, with what they need to know about the server."""

    config: Config
    history: History
    glob: str | None  # of project directories to serve; None serves every session
    parse_time: Callable[[str, bool], int]  # True asks for the end of a day
    calling_sessions: Callable[[], frozenset[str]]
    refresh: Callable[[Warn, Callable[[int, int], None]], None]

    def search_conversations(self, asked: SearchArguments, warn: Warn) -> Fields:
        types: tuple[TextKind, ...] = tuple(dict.fromkeys(_as_list(asked.type)))
        (start,) = _parse_cursor(asked.cursor)
        # An agent that names a session means it, even if it is the calling one.
        include_self = asked.include_self or asked.session_id is not None
        request = Request(
            patterns=(asked.query,),
            filters=self._filters(asked)._replace(
                subagents=self.config.subagents,
                except_ids=frozenset() if include_self else self.calling_sessions(),
            ),
            types=types,
            limit=start + asked.limit + 1,  # One more hit shows that there is a next page.
            excludes_own_output=not include_self,
            needs_total=False,
        )
        wanted = _MODES.get(asked.mode, self.config.mode)
        request = self.history.set_mode(request, wanted)
        options = SearchOptions(embed_pending=True, warn=warn)

        def search_in(session_id: str | None) -> tuple[list[FoundHit], str]:
            sessions = (session_id,) if session_id is not None else None
            filters = request.filters._replace(sessions=sessions)
            result, tier = self._search(request._replace(filters=filters), options)
            return result.load_hits(types), tier

        found: list[FoundHit] = []
        tier = None
        try:
            if asked.session_id is None:
                found, tier = search_in(None)
            else:
                found, tier = self._resolving(asked.session_id, search_in)
        except NotFoundError:
            warn(f"no project matches '{asked.project}': list_conversations shows the projects")
        hits = found[start:]
        items = [_hit_fields(hit) for hit in hits[: asked.limit]]
        results, rest = reply.fit_items(items, start, start + len(hits))
        return {"results": results, "tier": tier, **_cursor_fields(rest)}

    def _search(self, request: Request, options: SearchOptions) -> tuple[Result, str]:
        """Search; without a hit, search for the rarest word alone, and note what would match."""
        result = self.history.search(request, options)
        if result.answer.hits:
            return result, result.answer.tier
        miss = find_near_miss(result.searcher, request, result.answer, result.coverage.embedded)
        options.warn(near_miss_text(miss, _SPELLING))
        if miss.change != "one_word":
            return result, result.answer.tier
        wide = request._replace(patterns=miss.names)
        return self.history.search(wide, options), "some"

    def list_conversations(self, asked: ListArguments) -> Fields:
        (start,) = _parse_cursor(asked.cursor)
        default = "fold" if self.config.subagents == "include" else self.config.subagents
        subagents = asked.subagents or default
        filters = self._filters(asked)._replace(
            subagents=_INCLUSIONS[subagents],
            documents="exclude",
            except_ids=frozenset() if asked.include_self else self.calling_sessions(),
        )
        listed = self.history.list_sessions(filters, is_folded=subagents == "fold")
        items = [_listed_fields(item) for item in listed[start : start + asked.limit]]
        total = len(listed)
        fitting, rest = reply.fit_items(items, start, total)
        return {"conversations": fitting, "total_conversations": total, **_cursor_fields(rest)}

    def read_turn(self, asked: ReadTurnArguments) -> Fields:
        number = asked.turn_number
        conversation = self._show_range(asked.session_id, min(max(number, 0), _MAX_TURN), 1)
        session = conversation.session
        assert session is not None
        if number < 0 or not conversation.turns:
            total = session.turns
            raise ToolError(
                "out_of_range", f"Turn {number} out of range (session has {total} turns)"
            )
        include = _as_list(asked.include)
        turn = turn_fields(session.id, conversation.turns[0], include)
        (start,) = _parse_cursor(asked.cursor)
        fitted, rest = reply.fit_turn(turn, start, reply.ITEM_CHARS)
        return {**fitted, **_cursor_fields(rest)}

    def read_conversation(self, asked: ReadConversationArguments) -> Fields:
        # The last turn may be cut: the cursor continues within it.
        first, start = min(asked.offset, _MAX_TURN), 0
        if asked.cursor:
            first, start = _parse_cursor(asked.cursor, 2)
        conversation = self._show_range(asked.session_id, first, asked.limit)
        session = conversation.session
        assert session is not None
        include = _as_list(asked.include)
        turns: list[Fields] = []
        room, rest = reply.ITEM_CHARS, None
        for placed in conversation.turns:
            if turns and room < reply.MIN_TURN_CHARS:
                rest = f"{placed.number}:0"
                break
            fields = turn_fields(session.id, placed, include)
            turn, end = reply.fit_turn(fields, start, room)
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
            "limit": asked.limit,
            "turns": turns,
            **_cursor_fields(rest),
        }

    def _filters(self, asked: SearchArguments | ListArguments) -> Filters:
        return Filters(
            projects=(asked.project,) if asked.project else (),
            since=self.parse_time(asked.since, False) if asked.since else None,
            until=self.parse_time(asked.until, True) if asked.until else None,
            branches=(asked.branch,) if asked.branch else (),
            sources=(asked.source.replace("-", "_"),) if asked.source else (),
            tools=(asked.tool,) if asked.tool else (),
            only_ids=self._served_sessions(),
        )

    def _show_range(self, session_id: str, start: int, count: int) -> Conversation:
        def show(id: str) -> Conversation:
            return self.history.show_range(id, start, count)

        conversation = self._resolving(session_id, show)
        served = self._served_sessions()
        session = conversation.session
        if session is None or (served is not None and session.id not in served):
            raise _unknown_session(session_id)
        return conversation

    def _resolving(self, session_id: str, use: Callable[[str], T]) -> T:
        """Return the result of `use` for a session id or a prefix of one that is served."""
        try:
            return use(session_id)
        except AmbiguousRefError as error:
            served = self._served_sessions()
            ids = [id for id in error.candidates if served is None or id in served]
        except RefError:
            ids = []
        if len(ids) == 1:
            return use(ids[0])
        if not ids:
            raise _unknown_session(session_id)
        more = f" and {len(ids) - _MAX_CANDIDATES} more" if len(ids) > _MAX_CANDIDATES else ""
        raise ToolError(
            "ambiguous_session",
            f"Ambiguous session_id: {session_id} could be {', '.join(ids[:_MAX_CANDIDATES])}{more}",
        )

    def _served_sessions(self) -> frozenset[str] | None:
        """Return the sessions that the server's glob selects, or None if it serves all."""
        if self.glob is None:
            return None
        return find_project_sessions(self.config, self.glob)


def _listed_fields(item: ListedSession) -> Fields:
    session = item.row.session
    fields = {
        "session_id": session.id,
        "kind": session.kind,
        "parent": session.parent or None,
        "subagent_count": item.subagents,
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
    return {name: reply.clean_field(value) for name, value in fields.items()}


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


def _parse_cursor(cursor: str | None, count: int = 1) -> list[int]:
    """Return the numbers of a cursor, or zeros if there is none."""
    parts = cursor.split(":") if cursor else ["0"] * count
    if len(parts) != count or not all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts):
        raise ToolError("bad_cursor", f"invalid cursor '{cursor}': pass next_cursor of a reply")
    return [int(part) for part in parts]


def _as_list(names: list[Name] | Name | None) -> list[Name]:
    """Return the names of an argument that may also be a single one."""
    return names if isinstance(names, list) else [names] if names is not None else []


def _cursor_fields(cursor: int | str | None) -> Fields:
    return {} if cursor is None else {"next_cursor": str(cursor)}


def _unknown_session(session_id: str) -> ToolError:
    return ToolError("unknown_session", f"Unknown session_id: {session_id}")
