"""Formats conversations as one HTML page without network access, scripts or fonts.

The Content-Security-Policy allows the style of the page, by its hash, images in the page, and
nothing else. This module writes elements and attributes. `safe_html` renders all text from
transcripts.
"""

import base64
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from ccgrep.model import Blob, Note, Session, Text, Thinking, ToolCall, Turn
from ccgrep.ops.show import Conversation, PlacedTurn
from ccgrep.output.conversation_text import LOST, resume_line, session_facts, session_notes
from ccgrep.output.formatting import agent_name, local_time
from ccgrep.output.safe_html import (
    highlighting_css,
    render_code,
    render_line,
    render_markdown,
)
from ccgrep.output.turn_parts import Include, blob_line, readable_input, summary_line, turn_mark
from ccgrep.steps import OnStep, count_steps, ignore_steps
from ccgrep.text import clip, one_line

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_MAX_TURNS_WITHOUT_CONTENTS = 3
_TITLE_COLUMNS = 200  # The stylesheet shows one line of it.
_STYLESHEET = os.path.join(os.path.dirname(__file__), "conversation.css")


ReadBlob = Callable[[str], bytes | None]
"""Returns the bytes with a SHA-256, or None if they are not stored."""


def html_lines(
    conversations: Sequence[Conversation],
    include: Include,
    read: ReadBlob = lambda _: None,
    on_step: OnStep = ignore_steps,
    home: str = "",
) -> Iterator[str]:
    """Yield the page. `home` is the page of a site to which it links."""
    titles = [_title(conversation) for conversation in conversations]
    yield from page_head(titles[0] if len(titles) == 1 else f"{len(titles)} conversations")
    yield "<body><main>"
    if home:
        yield f'<p><a href="{home}">All sessions</a></p>'
    if len(conversations) > 1:
        yield from _contents("Conversations", ((f"s{at}", t) for at, t in enumerate(titles)))
    for at, conversation in enumerate(conversations):
        yield f'<article id="s{at}">'
        yield from _conversation(conversation, f"s{at}", include, read, on_step)
        yield "</article>"
    yield "</main></body></html>"


def _title(conversation: Conversation) -> str:
    if conversation.session is None:
        return f"@{conversation.turns[0].entry.turn.hex()[:10]}"
    return clip(one_line(conversation.session.title), _TITLE_COLUMNS) or conversation.session.id


def page_head(title: str, allows_scripts: bool = False) -> Iterator[str]:
    """Yield the head of a page, which loads nothing; or scripts beside it, if it may."""
    with open(_STYLESHEET, encoding="utf-8") as file:
        own = file.read()
    dark = f"@media (prefers-color-scheme: dark) {{\n{highlighting_css('github-dark')}\n}}"
    style = "\n".join(["", own, highlighting_css("default"), dark])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    if allows_scripts:
        policy += "; script-src 'self' file:"
    yield '<!doctype html><html><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{render_line(title)}</title>"
    yield f"<style>{style}</style></head>"


def _contents(name: str, items: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"<details><summary>{name}</summary><ul>"
    for id, text in items:
        yield f'<li><a href="#{id}">{render_line(clip(one_line(text), 100))}</a></li>'
    yield "</ul></details>"


def _conversation(
    conversation: Conversation, id: str, include: Include, read: ReadBlob, on_step: OnStep
) -> Iterator[str]:
    agent = "Agent"
    if conversation.session is not None:
        agent = agent_name(conversation.session.source)
        yield from _session_head(conversation.session, conversation.is_gone, _title(conversation))
    if len(conversation.turns) > _MAX_TURNS_WITHOUT_CONTENTS:
        prompts = ((p.number, p.turn.prompt if p.turn else "") for p in conversation.turns)
        items = ((f"{id}-t{number}", f"{number}: {text}") for number, text in prompts)
        yield from _contents("Turns", items)
    turns = conversation.turns
    for placed in count_steps(turns, "turns written", len(turns), on_step):
        yield from _turn(placed, f"{id}-t{placed.number}", agent, include, read)


def _session_head(session: Session, is_gone: bool, title: str) -> Iterator[str]:
    yield f"<h1>{render_line(title)}</h1>"
    facts = (session.project, local_time(session.started), session_facts(session))
    yield f'<p class="facts">{render_line(" · ".join(filter(None, facts)))}</p>'
    yield f'<p class="facts"><code>{render_line(resume_line(session))}</code></p>'
    notes = session_notes(session, is_gone)
    yield from (f'<p class="facts">{render_line(note)}</p>' for note in notes)


def _turn(
    placed: PlacedTurn, id: str, agent: str, include: Include, read: ReadBlob
) -> Iterator[str]:
    entry = placed.entry
    when = f"{local_time(entry.started)} · @{entry.turn.hex()[:10]}{turn_mark(placed)}"
    yield f'<section id="{id}"><h2><a href="#{id}">Turn {placed.number}</a> · {when}</h2>'
    if placed.turn is None:
        yield f'<p class="note">{render_line(LOST)}</p>'
    else:
        yield from _content(placed.turn, agent, include, read)
    yield "</section>"


def _content(turn: Turn, agent: str, include: Include, read: ReadBlob) -> Iterator[str]:
    if turn.prompt or turn.attached:
        yield '<p class="who you">You</p>'
        yield f'<div class="typed" dir="auto">{render_markdown(turn.prompt)}</div>'
        yield from _blobs(turn.attached, read)
    is_agent_named = False
    for part in include.parts(turn):
        if isinstance(part, Note):
            text = clip(one_line(part.text), 300)
            yield f'<p class="note">({part.kind}) {render_line(text)}</p>'
        elif isinstance(part, ToolCall) or part.text.strip():
            if not is_agent_named:
                is_agent_named = True
                yield f'<p class="who agent">{agent}</p>'
            yield from _part(part, read)


def _part(part: Text | Thinking | ToolCall, read: ReadBlob) -> Iterator[str]:
    if isinstance(part, Text):
        yield f'<div class="said" dir="auto">{render_markdown(part.text)}</div>'
    elif isinstance(part, Thinking):
        yield f"<details><summary>Thinking</summary>{render_code(part.text)}</details>"
    else:
        yield from _tool_call(part, read)


def _tool_call(call: ToolCall, read: ReadBlob) -> Iterator[str]:
    given = readable_input(call)
    summary = render_line(clip(one_line(summary_line(call)), 160))
    yield f"<details><summary>{summary}</summary>{render_code(given.text, given.language)}"
    if call.result is not None:
        yield render_code(call.result.text) if call.result.text.strip() else ""
        yield from _blobs(call.result.blobs, read)
    yield "</details>"


def _blobs(blobs: Iterable[Blob], read: ReadBlob) -> Iterator[str]:
    for blob in blobs:
        content = read(blob.sha256) or b""
        if media_type := _image_type(content):
            data = base64.b64encode(content).decode()
            yield f'<p><img alt="" src="data:{media_type};base64,{data}"></p>'
        yield f'<p class="blob">{render_line(blob_line(blob))}</p>'


def _image_type(content: bytes) -> str:
    """Return the type of an image by its first bytes, or an empty string for anything else."""
    types = (media_type for start, media_type in _IMAGES.items() if content.startswith(start))
    return next(types, "")
