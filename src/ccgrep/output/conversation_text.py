"""Formats conversations as text, for a terminal or a pipe.

All text from transcripts passes `ccgrep.text` here. The Markdown and HTML formats share the
lines that describe a session.
"""

from collections.abc import Callable, Iterator

from ccgrep.model import Blob, Note, Session, Text, Thinking, Turn
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.formatting import byte_size, local_time
from ccgrep.output.style import Style
from ccgrep.output.turn_parts import Include, summary_line, turn_mark
from ccgrep.text import clip, escape, one_line

LOST = "(this turn is lost: run `ccgrep fsck --repair`)"


def conversation_lines(
    conversation: Conversation,
    include: Include,
    style: Style,
    on_turn: Callable[[int], None] = lambda _: None,
) -> Iterator[str]:
    """Yield the conversation; call `on_turn` with each turn's number before its first line."""
    if conversation.session is not None:
        yield from _session_lines(conversation.session, conversation.is_gone, style)
        if conversation.machine:
            yield f"Machine: {one_line(conversation.machine)}"
    for placed in conversation.turns:
        on_turn(placed.number)
        yield ""
        yield from _turn_lines(placed, include, style)


def _session_lines(session: Session, is_gone: bool, style: Style) -> Iterator[str]:
    word = "Document" if session.kind == "document" else "Session"
    yield style.bold(f"[{local_time(session.started)}] {word} {session.id} ({session.source})")
    if session.title:
        yield f"Title: {clip(one_line(session.title), 200)}"
    yield f"Project: {style.green(one_line(session.project) or '-')}"
    if session.parent:
        yield f"Parent: {one_line(session.parent)}"
    if session.forked_from:
        yield f"Forked from: {one_line(session.forked_from)}"
    yield session_facts(session)
    yield from session_notes(session, is_gone)


def session_notes(session: Session, is_gone: bool) -> Iterator[str]:
    """Yield a warning if the transcript of the session was deleted."""
    if session.is_prompt_only:
        yield "Only the prompts are left: the transcript was deleted before it was indexed."
    elif session.is_recovered:
        yield "Turns may be missing: the transcript was deleted before it was indexed."
    elif is_gone:
        what = "document" if session.kind == "document" else "transcript"
        yield f"The {what} was deleted: this is ccgrep's copy."


def session_facts(session: Session) -> str:
    facts = f"Duration: {_duration(session.duration_s)} | Messages: {session.messages}"
    return f"{facts} | Tools: {session.tools}"


def _duration(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86400}d {seconds % 86400 // 3600}h"


def _turn_lines(placed: PlacedTurn, include: Include, style: Style) -> Iterator[str]:
    entry = placed.entry
    head = f"--- {placed.number} @{entry.turn.hex()[:10]} {local_time(entry.started)}"
    yield style.dim(head + turn_mark(placed))
    if placed.turn is None:
        yield LOST
    else:
        yield from _content_lines(placed.turn, include, style)


def _content_lines(turn: Turn, include: Include, style: Style) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield f"{style.cyan('user:')} {escape(turn.prompt)}".rstrip()
        yield from (f"  {blob_line(blob)}" for blob in turn.attached)
    for part in include.parts(turn):
        if isinstance(part, Note):
            yield style.dim(f"  ({part.kind}) {clip(one_line(part.text), 160)}")
        elif isinstance(part, Text):
            yield f"{style.green('assistant:')} {escape(part.text.strip())}"
        elif isinstance(part, Thinking):
            yield style.dim(f"thinking: {escape(part.text.strip())}")
        else:
            yield f"  {one_line(summary_line(part))}"
            if part.result is not None:
                yield from (f"  {blob_line(blob)}" for blob in part.result.blobs)


def blob_line(blob: Blob) -> str:
    """Return a line such as `[image: png, 84 KB, @86fa2311d1]`, with the REF of the bytes."""
    kind = one_line(blob.media_type).replace("/", ": ", 1) or "payload"
    return f"[{kind}, {byte_size(blob.size)}, @{blob.sha256[:10]}]"
