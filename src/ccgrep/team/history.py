"""Reads sessions of a team's server: a list of them, or one with its turns."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from ccgrep.errors import AmbiguousRefError, CorruptError, RefError
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.refs import parse
from ccgrep.store import objects
from ccgrep.team.candidate import decode_turn
from ccgrep.team.question import filter_fields
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from ccgrep.search.request import Filters
    from ccgrep.team.server import Server

_MAX_SHOWN = 10


class TeamSession(Struct, frozen=True):
    """A session, and the person who pushed it."""

    session: Session
    owner: str


class TeamTurn(Struct, frozen=True):
    number: int
    entry: Entry
    turn: Turn


class TeamConversation(Struct, frozen=True):
    """Some or all turns of a session. `named_turn` is the one that the REF named."""

    session: Session
    owner: str
    turns: tuple[TeamTurn, ...]
    named_turn: int | None = None


class TeamCount(Struct, frozen=True):
    """How many sessions and different turns a person, an agent, a project or a day has."""

    name: str
    sessions: int
    turns: int


class TeamStats(Struct, frozen=True):
    """What a server has. `copies` are further places of turns; a tool counts the turns with it."""

    sessions: int
    turns: int
    copies: int
    first: int | None
    last: int | None
    people: list[TeamCount]
    sources: list[TeamCount]
    projects: list[TeamCount]
    days: list[TeamCount]
    tools: list[TeamCount]


def list_sessions(
    server: Server, filters: Filters, owners: tuple[str, ...], limit: int = 0
) -> list[TeamSession]:
    """Return the sessions that have a turn which passes, the most recent first."""
    question = {"filters": filter_fields(filters, owners), "limit": limit}
    return [TeamSession(_session(row), row["owner"]) for row in server.call("list", question)]


def read_conversation(
    server: Server, ref: str, before: int = 0, after: int = 0, limit: int = 0
) -> TeamConversation:
    """Return the session that `ref` names, or the turn with its neighbours."""
    parsed = parse(ref)
    question: dict[str, Any] = {"session": parsed.session}
    if parsed.hash:
        question = {"turn": parsed.hash}
    elif parsed.turn is not None:
        first = max(parsed.turn - before, 0)
        end = parsed.turn + after
        question |= {"from": first, "to": min(end, first + limit - 1) if limit else end}
    elif limit:
        question["to"] = limit - 1
    return _conversation(ref, server.call("get", question), parsed.turn)


def read_range(server: Server, session_id: str, start: int, count: int) -> TeamConversation:
    """Return at most `count` turns from turn `start` on."""
    question = {"session": session_id, "from": start, "to": start + count - 1}
    return _conversation(session_id, server.call("get", question), None)


def count(server: Server, filters: Filters, owners: tuple[str, ...]) -> TeamStats:
    """Count the turns that pass the filters."""
    (row,) = server.call("stats", {"filters": filter_fields(filters, owners)})
    return convert(row, TeamStats)


def _conversation(ref: str, rows: list[Any], named_turn: int | None) -> TeamConversation:
    shown = f"'{one_line(ref)}'"
    if not rows:
        raise RefError(f"no session of the server matches {shown}: run `ccgrep list -R NAME`")
    if "match" in rows[0]:
        sessions = [_session(row) for row in rows]
        lines = [f"  {one.id}  {clip(one_line(one.title), 60)}".rstrip() for one in sessions]
        text = "\n".join(lines[:_MAX_SHOWN])
        more = "\n  … and more" if len(lines) > _MAX_SHOWN else ""
        ids = [one.id for one in sessions]
        raise AmbiguousRefError(f"{shown} is ambiguous, it could be:\n{text}{more}", ids)
    session = _session(rows[0])
    if named_turn is not None and named_turn >= session.turns:
        raise RefError(f"turn {named_turn} is out of range (session has {session.turns} turns)")
    turns = tuple(map(_turn, rows[1:]))
    if parse(ref).hash and turns:
        named_turn = turns[0].number
    return TeamConversation(session, rows[0]["owner"], turns, named_turn)


def _session(row: dict[str, Any]) -> Session:
    id = row.get("match") or row["session"]
    try:
        return replace(objects.decode(b64decode(row["data"]), Session), id=id)
    except (CorruptError, ValueError):
        return Session(id, "", title="[this session cannot be read]")


def _turn(row: dict[str, Any]) -> TeamTurn:
    try:
        entry = objects.decode(b64decode(row["entry"]), Entry)
    except (CorruptError, ValueError):
        entry = Entry(ObjectId(bytes.fromhex(row["turn"])), 0, 0)
    return TeamTurn(row["number"], entry, decode_turn(row["body"]))
