"""Formats conversations as Markdown that is also readable as plain text.

Messages are quoted line by line. Tool input and output is fenced with more backticks than it
contains. So no text can pass for another turn or another speaker.
"""

import re
from collections.abc import Iterable, Iterator

from ccgrep.model import Blob, Note, Session, Thinking, ToolCall, Turn
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.conversation_text import LOST, resume_line, session_facts, session_notes
from ccgrep.output.formatting import agent_name, local_time
from ccgrep.output.turn_parts import Include, blob_line, readable_input, summary_line, turn_mark
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.text import clip, escape, one_line, redact

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
_BACKTICKS = re.compile(r"`{3,}")
_BACKTICK_RUN = re.compile("`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,20}")


def markdown_lines(
    conversations: Iterable[Conversation], include: Include, on_step: OnStep = ignore_steps
) -> Iterator[str]:
    for position, conversation in enumerate(conversations):
        if position:
            yield from ("", "---", "")
        yield from _conversation(conversation, include, on_step)


def file_name(conversation: Conversation) -> str:
    """Return a file name with date, title and id; the same REF always has the same name."""
    if conversation.session is None:
        return f"turn-{conversation.turns[0].entry.turn.hex()[:16]}.md"
    session = conversation.session
    day = local_time(session.started).partition(" ")[0]
    words = "-".join(re.findall("[a-z0-9]+", redact(session.title).lower()))[:50].strip("-")
    turn = "" if conversation.named_turn is None else f"-turn-{conversation.named_turn}"
    return "-".join(filter(None, (day, words, session.id))) + f"{turn}.md"


def _conversation(conversation: Conversation, include: Include, on_step: OnStep) -> Iterator[str]:
    if conversation.session is not None:
        yield from _head(conversation.session, conversation.is_gone)
    turns = conversation.turns
    for placed in count_steps(turns, "turns written", len(turns), on_step):
        yield ""
        yield from _turn(placed, include)


def _head(session: Session, is_gone: bool) -> Iterator[str]:
    yield f"# {_inline(clip(one_line(session.title), 200)) or session.id}"
    yield ""
    yield f"- Session: {_code(session.id)} ({agent_name(session.source)})"
    yield f"- Project: {_code(session.project) if session.project else '?'}"
    yield f"- Started: {local_time(session.started)}"
    yield f"- {session_facts(session)}"
    yield f"- {'Show' if session.kind == 'document' else 'Resume'}: {_code(resume_line(session))}"
    yield from (f"- {note}" for note in session_notes(session, is_gone))


def _turn(placed: PlacedTurn, include: Include) -> Iterator[str]:
    entry = placed.entry
    yield f"## Turn {placed.number}{turn_mark(placed)}"
    yield ""
    yield f"{local_time(entry.started)} · `@{entry.turn.hex()[:10]}`"
    if placed.turn is None:
        yield from ("", LOST)
    else:
        yield from _content(placed.turn, include)


def _content(turn: Turn, include: Include) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield from _quote("User", turn.prompt, turn.attached)
    for part in include.parts(turn):
        if isinstance(part, Note):
            yield from ("", f"*({part.kind})* {_inline(clip(one_line(part.text), 160))}")
        elif isinstance(part, ToolCall):
            yield from _tool_call(part)
        else:
            yield from _quote("Thinking" if isinstance(part, Thinking) else "Assistant", part.text)


def _quote(speaker: str, text: str, blobs: Iterable[Blob] = ()) -> Iterator[str]:
    lines = escape(text.strip("\n")).split("\n")
    yield from ("", f"**{speaker}:**", "")
    yield from (f"> {line}".rstrip() for line in lines)
    yield from (f"> {_inline(blob_line(blob))}" for blob in blobs)


def _tool_call(call: ToolCall) -> Iterator[str]:
    yield from ("", f"**Tool:** {_inline(clip(one_line(summary_line(call)), 200))}")
    given = readable_input(call)
    yield from _fence(given.text, given.language)
    if call.result is not None:
        yield from _fence(call.result.text)
        yield from (_inline(blob_line(blob)) for blob in call.result.blobs)


def _fence(text: str, language: str = "") -> Iterator[str]:
    content = escape(text).strip("\n")
    if not content.strip():
        return
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(content)), default=2) + 1)
    name = language.rpartition(".")[2]  # the suffix, if `language` is a file name
    yield from ("", f"{fence}{name if _LANGUAGE.fullmatch(name) else ''}", content, fence)


def _code(text: str) -> str:
    """Return the text in one line as code, which needs no backslashes and can be copied."""
    line = one_line(text)
    fence = "`" * (max((len(run) for run in _BACKTICK_RUN.findall(line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _inline(text: str) -> str:
    """Return the text in one line with all Markdown punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", one_line(text))
