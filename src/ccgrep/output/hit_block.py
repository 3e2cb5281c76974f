"""Formats a hit as a block of lines on a terminal."""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.output.formatting import long_age, pluralize
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.search.searcher import FoundHit
from ccgrep.search.snippet import MatchedText, SnippetPart, make_snippet
from ccgrep.text import clip, columns, make_visible, one_line, redact

_MESSAGE_CHARS = 400
_NEIGHBOUR_CHARS = 160
_RULE_COLUMNS = 49
_MIN_TITLE_COLUMNS = 8


class Neighbours(NamedTuple):
    """The answer before a hit and the prompt after it."""

    before: str = ""
    after: str = ""


def block_lines(
    rank: int,
    found: FoundHit,
    title: str,
    neighbours: Neighbours,
    now_ms: int,
    width: int,
    style: Style,
) -> Iterator[str]:
    """Yield a hit with its neighbours."""
    hit = found.hit
    project = one_line(last_name(found.stored.project)) or "-"
    facts = f"{long_age(hit.started, now_ms)} | {hit.score:.0%}"
    head = f"{style.bold_cyan(f'[{rank}]')} Project: {style.green(project)} | {style.dim(facts)}"
    left = width - columns(f"[{rank}] Project: {project} | {facts} | ")
    if title and left >= _MIN_TITLE_COLUMNS:
        head += f" | {clip(one_line(title), left)}"
    yield head
    yield ""
    if neighbours.before:
        yield style.dim(f"  Claude: {clip(one_line(neighbours.before), _NEIGHBOUR_CHARS)}")
        yield ""
    labels = {"user": style.cyan("You:"), "assistant": style.green("Claude:")}
    for text in found.texts:
        if text.kind in labels:
            yield from _message_lines(labels[text.kind], text, style)
        elif text.spans and text.kind != "title":
            yield from _message_lines(style.dim(f"{text.kind}:"), text, style)
    if neighbours.after:
        yield style.dim(f"  You: {clip(one_line(neighbours.after), _NEIGHBOUR_CHARS)}")
        yield ""
    if hit.also_in:
        yield style.dim(f"  also in {', '.join(p.session[:8] for p in hit.also_in[:5])}")
    yield f"  → ccgrep show {found.short_id}:{hit.place.turn}"
    yield ""


def _message_lines(label: str, matched: MatchedText, style: Style) -> Iterator[str]:
    if not matched.text.strip():
        return
    parts = make_snippet(matched.text, matched.spans, _MESSAGE_CHARS // 2)
    text = "".join(_format_part(part, style) for part in parts).strip()
    lines = text.splitlines() or ["…"]  # The part in view may be blank.
    yield f"  {label} {lines[0]}"
    yield from (f"  {line}" for line in lines[1:])
    shown_chars = sum(len(part.text) for part in parts if part.text != "…")
    hidden_chars = len(redact(matched.text)) - shown_chars
    if hidden_chars > 0:
        yield style.dim(f"  [truncated - {hidden_chars} more chars]")
    yield ""


def _format_part(part: SnippetPart, style: Style) -> str:
    text = make_visible(part.text)
    return style.red(text) if part.is_match else text


def summary_lines(hits: int, seconds: float, style: Style) -> Iterator[str]:
    yield style.dim("─" * _RULE_COLUMNS)
    yield f"Found {pluralize(hits, 'result')} in {seconds:.2f}s"
