"""Reads the exchange format: sessions of any program as JSON lines. docs/sources.md defines it."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ccgrep.errors import UsageError
from ccgrep.kinds import NoteKind
from ccgrep.model import (
    Entry,
    Message,
    Note,
    Part,
    Session,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from ccgrep.sources.identity import safe_id
from ccgrep.sources.readers import find_any_source
from ccgrep.sources.reading import SessionReading, add_totals
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import Sink
from ccgrep.sources.values import find_project, parse_time, usage_key

VERSION = 1


class _Line(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


class ExchangeHeader(_Line, frozen=True, tag="ccgrep-exchange"):
    version: int


class ExchangeSession(_Line, frozen=True, tag="session"):
    id: str
    source: str = "imported"
    title: str = ""
    cwd: str = ""
    branch: str = ""
    parent: str = ""
    agent: str = ""
    version: str = ""


class TextPart(_Line, frozen=True, tag="text"):
    text: str
    model: str = ""


class ThinkingPart(_Line, frozen=True, tag="thinking"):
    text: str
    model: str = ""


class CallPart(_Line, frozen=True, tag="call"):
    name: str
    input: Any = None
    output: str | None = None
    is_error: bool = False
    model: str = ""


class NotePart(_Line, frozen=True, tag="note"):
    kind: NoteKind
    text: str


class ExchangeTokens(Struct, frozen=True, forbid_unknown_fields=True):
    model: str = ""
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class ExchangeTurn(_Line, frozen=True, tag="turn"):
    prompt: str = ""
    started: str | int | float | None = None
    ended: str | int | float | None = None
    parts: tuple[TextPart | ThinkingPart | CallPart | NotePart, ...] = ()
    tokens: tuple[ExchangeTokens, ...] = ()
    cwd: str = ""
    branch: str = ""
    is_undone: bool = False


_Value = ExchangeHeader | ExchangeSession | ExchangeTurn
_DECODER: msgspec.json.Decoder[_Value] = msgspec.json.Decoder(_Value)


def read_exchange(lines: Iterable[bytes], name: str, sink: Sink) -> Iterator[SessionReading]:
    """Yield the sessions of a file, or raise UsageError at its first invalid line."""
    session: ExchangeSession | None = None
    entries: list[Entry] = []
    prompt, has_header = "", False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        value = _decode(line, f"{name}:{number}", has_header)
        has_header = True
        if isinstance(value, ExchangeSession):
            if session is not None:
                yield _make_reading(session, entries, prompt)
            session, entries, prompt = value, [], ""
            _check(session, f"{name}:{number}")
        elif isinstance(value, ExchangeTurn):
            if session is None:
                raise UsageError(f"{name}:{number}: a turn before the first session: add a session")
            entries.append(_make_entry(value, session, len(entries), f"{name}:{number}", sink))
            prompt = prompt or value.prompt
    if not has_header:
        raise UsageError(f"{name} is empty: see docs/sources.md for the format")
    if session is not None:
        yield _make_reading(session, entries, prompt)


def _decode(line: bytes, place: str, has_header: bool) -> _Value:
    try:
        value = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{place}: {error}: see docs/sources.md for the format") from None
    is_header = isinstance(value, ExchangeHeader)
    if is_header == has_header:
        what = "a second header" if is_header else "no header"
        raise UsageError(f'{place}: {what}: begin with {{"type":"ccgrep-exchange","version":1}}')
    if isinstance(value, ExchangeHeader) and value.version != VERSION:
        raise UsageError(f"{place}: version {value.version}, not {VERSION}: upgrade ccgrep")
    return value


def _check(session: ExchangeSession, place: str) -> None:
    for id in (session.id, session.parent) if session.parent else (session.id,):
        if not id or safe_id(id) != id:
            raise UsageError(f"{place}: invalid id '{id}': use up to 61 of A-Z a-z 0-9 . _ -")
    if find_any_source(session.source).title == session.source and session.source != "imported":
        raise UsageError(f"{place}: unknown source '{session.source}': see `ccgrep sources`")


def _make_entry(
    turn: ExchangeTurn, session: ExchangeSession, number: int, place: str, sink: Sink
) -> Entry:
    times = [parse_time(value) for value in (turn.started, turn.ended)]
    for value, time in zip((turn.started, turn.ended), times, strict=True):
        if value is not None and time is None:
            raise UsageError(f"{place}: invalid time '{value}': use ISO 8601 or milliseconds")
    made = Turn(turn.prompt, (), tuple(_make_steps(turn)))
    return Entry(
        sink(made),
        0,
        0,
        times[0],
        times[1] if times[1] is not None else times[0],
        turn.cwd or session.cwd,
        turn.branch or session.branch,
        messages=bool(turn.prompt) + len(made.messages()),
        tools=len(made.calls()),
        usage=tuple(
            Usage(
                usage_key("exchange", session.id, number, index),
                tokens.model,
                tokens.input,
                tokens.output,
                tokens.cache_read,
                tokens.cache_write,
            )
            for index, tokens in enumerate(turn.tokens)
        ),
        is_rolled_back=turn.is_undone,
    )


def _make_steps(turn: ExchangeTurn) -> Iterator[Step]:
    """Yield notes, and messages of consecutive parts by the same model."""
    parts: list[Part] = []
    model = ""
    for part in turn.parts:
        is_other = isinstance(part, NotePart) or part.model != model
        if parts and is_other:
            yield Message(tuple(parts), model)
            parts = []
        if isinstance(part, NotePart):
            yield Note(part.kind, part.text)
            continue
        model = part.model
        parts.append(_make_part(part))
    if parts:
        yield Message(tuple(parts), model)


def _make_part(part: TextPart | ThinkingPart | CallPart) -> Part:
    if isinstance(part, TextPart):
        return Text(part.text)
    if isinstance(part, ThinkingPart):
        return Thinking(part.text)
    result = None if part.output is None else ToolResult(part.output, part.is_error)
    return ToolCall(part.name, part.input, result)


def _make_reading(session: ExchangeSession, entries: list[Entry], prompt: str) -> SessionReading:
    title, is_titled = choose_title([session.title], prompt)
    models = (usage.model for entry in entries for usage in entry.usage if usage.model)
    made = Session(
        session.id,
        session.source,
        kind="subagent" if session.parent else "main",
        parent=session.parent,
        agent=session.agent,
        project=find_project(session.cwd),
        cwd=session.cwd,
        branch=session.branch,
        title=title,
        title_origin="client" if is_titled else "prompt",
        models=tuple(dict.fromkeys(models)),
        versions=(session.version,) if session.version else (),
    )
    return SessionReading(add_totals(made, entries), tuple(entries))
