"""Conversations as Markdown that reads well as text too.

What was said stands in quotations, line by line, and what tools were given and gave in fences
longer than any that they contain: no text can pass for another turn or another speaker.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ccgrep.model import Blob, Message, Note, Session, Text, Thinking, ToolCall, Turn
from ccgrep.ops.sessions import Shown, ShownTurn
from ccgrep.output import tools
from ccgrep.output.human import LOST, blob_line, local_time, session_facts, session_notes
from ccgrep.text import clip, escape, one_line, redacted

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
_TICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,20}")


class With(NamedTuple):
    """What is wanted besides what was said."""

    tools: bool = False
    thinking: bool = False


def document(conversations: Iterable[Shown], wanted: With) -> Iterator[str]:
    """Conversations one below the other."""
    for position, shown in enumerate(conversations):
        if position:
            yield from ("", "---", "")
        yield from _conversation(shown, wanted)


def file_name(shown: Shown) -> str:
    """A name for a conversation's file that tells what it is; the same for the same REF."""
    if shown.session is None:
        return f"turn-{shown.places[0].entry.turn.hex()[:16]}.md"
    session = shown.session
    day = local_time(session.started).partition(" ")[0]
    words = "-".join(re.findall("[a-z0-9]+", redacted(session.title).lower()))[:50].strip("-")
    turn = "" if shown.turn is None else f"-turn-{shown.turn}"
    return "-".join(filter(None, (day, words, session.id))) + f"{turn}.md"


def _conversation(shown: Shown, wanted: With) -> Iterator[str]:
    if shown.session is not None:
        yield from _head(shown.session, shown.is_gone)
    for place in shown.places:
        yield ""
        yield from _place(place, wanted)


def _head(session: Session, is_gone: bool) -> Iterator[str]:
    yield f"# {_inline(clip(one_line(session.title), 200)) or session.id}"
    yield ""
    yield f"- Session: {_inline(session.id)} ({_inline(session.source)})"
    yield f"- Project: {_inline(session.project) or '?'}"
    yield f"- Begun: {local_time(session.started)}"
    yield f"- {_inline(session_facts(session))}"
    yield from (f"- {note}" for note in session_notes(session, is_gone))


def _place(place: ShownTurn, wanted: With) -> Iterator[str]:
    entry = place.entry
    marks = " (rolled back)" if entry.is_rolled_back else ""
    yield f"## Turn {place.number}{marks}"
    yield ""
    yield f"{local_time(entry.started)} · `@{entry.turn.hex()[:10]}`"
    if place.turn is None:
        yield from ("", LOST)
    else:
        yield from _turn(place.turn, wanted)


def _turn(turn: Turn, wanted: With) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield from _said("User", turn.prompt, turn.attached)
    for step in turn.steps:
        if isinstance(step, Note):
            yield from ("", f"*({step.kind})* {_inline(clip(one_line(step.text), 160))}")
        else:
            yield from _message(step, wanted)


def _message(message: Message, wanted: With) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield from _said("Assistant", part.text)
        elif isinstance(part, Thinking):
            if wanted.thinking:
                yield from _said("Thinking", part.text)
        elif wanted.tools:
            yield from _call(part)


def _said(who: str, text: str, blobs: Iterable[Blob] = ()) -> Iterator[str]:
    lines = escape(text.strip("\n")).split("\n")
    yield from ("", f"**{who}:**", "")
    yield from (f"> {line}".rstrip() for line in lines)
    yield from (f"> {_inline(blob_line(blob))}" for blob in blobs)


def _call(call: ToolCall) -> Iterator[str]:
    yield from ("", f"**Tool:** {_inline(clip(one_line(tools.line(call)), 200))}")
    given = tools.given(call)
    yield from _fence(given.text, given.language)
    if call.result is not None:
        yield from _fence(call.result.text)
        yield from (_inline(blob_line(blob)) for blob in call.result.blobs)


def _fence(text: str, language: str = "") -> Iterator[str]:
    shown = escape(text).strip("\n")
    if not shown.strip():
        return
    ticks = max((len(run) for run in _TICKS.findall(shown)), default=2) + 1
    name = language.rpartition(".")[2]  # of a file what its name ends in
    name = name if _LANGUAGE.fullmatch(name) else ""
    yield from ("", f"{'`' * ticks}{name}", shown, "`" * ticks)


def _inline(text: str) -> str:
    """Text in one line, none of which is taken for Markdown."""
    return _PUNCTUATION.sub(r"\\\1", one_line(text))
