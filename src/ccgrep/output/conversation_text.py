"""Formats conversations as text, for a terminal or a pipe.

All text from transcripts passes `ccgrep.text` here, and is indented: whatever starts in the first
columns is ccgrep's own, so no transcript can forge the border of a turn. The Markdown and HTML
formats share the lines that describe a session.
"""

from collections.abc import Callable, Iterator

from ccgrep.model import Note, Session, Text, Thinking, ToolResult, Turn
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.commit_names import name_commit
from ccgrep.output.formatting import local_time, pluralize
from ccgrep.output.indented_text import hang, indent
from ccgrep.output.style import Style
from ccgrep.output.turn_parts import Include, blob_line, summary_line, turn_mark
from ccgrep.text import clip, escape, one_line

_MAX_LINES = 10
_MAX_LINE_COLUMNS = 300
LOST = "(this turn is lost: run `ccgrep fsck --repair`)"


def conversation_lines(
    conversation: Conversation,
    include: Include,
    style: Style,
    on_turn: Callable[[int], None] = lambda _: None,
    width: int | None = None,
) -> Iterator[str]:
    """Yield the conversation; call `on_turn` with each turn's number before its first line.

    Text from transcripts is indented. It is wrapped to `width` columns, if that is given.
    """
    if conversation.session is not None:
        yield from _session_lines(conversation.session, conversation.is_gone, style, width)
        if conversation.machine:
            yield f"Machine: {one_line(conversation.machine)}"
    for placed in conversation.turns:
        on_turn(placed.number)
        yield ""
        yield from _turn_lines(placed, include, style, width)


def _session_lines(
    session: Session, is_gone: bool, style: Style, width: int | None
) -> Iterator[str]:
    word = "Document" if session.kind == "document" else "Session"
    yield style.bold(f"[{local_time(session.started)}] {word} {session.id} ({session.source})")
    if session.title:
        yield from _label_lines("Title:", clip(one_line(session.title), 200), width)
    yield from _label_lines("Project:", one_line(session.project) or "-", width, paint=style.green)
    if session.parent:
        yield from _label_lines("Parent:", one_line(session.parent), width)
    if session.forked_from:
        yield from _label_lines("Forked from:", one_line(session.forked_from), width)
    yield session_facts(session)
    yield from session_notes(session, is_gone)


def _label_lines(
    label: str,
    text: str,
    width: int | None,
    paint_label: Callable[[str], str] = str,
    paint: Callable[[str], str] = str,
) -> Iterator[str]:
    first, *others = hang(label, text, width)
    yield f"{paint_label(label)} {paint(first) if first else ''}".rstrip()
    yield from (paint(row) if row else "" for row in others)


def session_notes(session: Session, is_gone: bool) -> Iterator[str]:
    """Yield a warning if the transcript of the session was deleted."""
    if session.is_prompt_only:
        yield "Only the prompts are left: the transcript was deleted before it was indexed."
    elif session.is_recovered:
        yield "Turns may be missing: the transcript was deleted before it was indexed."
    elif is_gone:
        what = "document" if session.kind == "document" else "transcript"
        yield f"The {what} was deleted: this is ccgrep's copy."


def resume_line(session: Session) -> str:
    """Return the command that continues a session, or shows a document."""
    verb = "show" if session.kind == "document" else "resume"
    return f"ccgrep {verb} {session.id}"


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


def _turn_lines(
    placed: PlacedTurn, include: Include, style: Style, width: int | None
) -> Iterator[str]:
    entry = placed.entry
    head = f"--- {placed.number} @{entry.turn.hex()[:10]} {local_time(entry.started)}"
    yield style.dim(head + turn_mark(placed))
    if placed.turn is None:
        yield LOST
    else:
        yield from _content_lines(placed.turn, include, style, width)
    for made in placed.commits:
        text = f"{name_commit(made)} ({made.evidence.describe()})"
        yield from _label_lines("commit:", text, width, style.magenta)


def _content_lines(turn: Turn, include: Include, style: Style, width: int | None) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield from _label_lines("user:", escape(turn.prompt), width, style.cyan)
        yield from (f"  {blob_line(blob)}" for blob in turn.attached)
    for part in include.parts(turn):
        if isinstance(part, Note):
            text = clip(one_line(part.text), 160)
            yield from _label_lines(f"  ({part.kind})", text, width, style.dim, style.dim)
        elif isinstance(part, Text):
            yield from _label_lines("assistant:", escape(part.text.strip()), width, style.green)
        elif isinstance(part, Thinking):
            yield from _label_lines(
                "thinking:", escape(part.text.strip()), width, style.dim, style.dim
            )
        else:
            name, _, summary = one_line(summary_line(part)).partition(" ")
            yield from _label_lines(f"  {name}", summary, width)
            if part.result is not None:
                yield from _output_lines(part.result, include.full, style, width)


def _output_lines(
    result: ToolResult, is_full: bool, style: Style, width: int | None
) -> Iterator[str]:
    """Yield the first lines of an output, or all of it."""
    lines = escape(result.text.rstrip("\n")).split("\n") if result.text.strip() else []
    shown = lines if is_full else [clip(line, _MAX_LINE_COLUMNS) for line in lines[:_MAX_LINES]]
    if shown:
        yield from map(style.dim, indent("\n".join(shown), width))
    if left := len(lines) - len(shown):
        yield f"  … {pluralize(left, 'more line')}: use --full"
    elif shown != lines:
        yield "  … longer lines: use --full"
    yield from (f"  {blob_line(blob)}" for blob in result.blobs)
