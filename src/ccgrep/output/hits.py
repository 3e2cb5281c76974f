"""Hits as blocks on a terminal."""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.ops.search import FoundHit
from ccgrep.output.style import Style
from ccgrep.search.snippet import Marked, Piece, around
from ccgrep.text import clip, columns, one_line, redacted, visible

_SHOWN_CHARS = 400
_NEIGHBOUR_CHARS = 160
_RULE = 49
_LEAST_TITLE = 8
_AGES = ((365 * 86400, "year"), (30 * 86400, "month"), (7 * 86400, "week"), (86400, "day"),
         (3600, "hour"), (60, "minute"))  # fmt: skip


class Neighbours(NamedTuple):
    """What was said just before and just after a hit."""

    before: str = ""
    after: str = ""


def ago(time_ms: int, now_ms: int) -> str:
    """How long ago, in words."""
    if not time_ms:
        return "unknown time"
    seconds = max(now_ms - time_ms, 0) // 1000
    for size, unit in _AGES:
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def block(
    rank: int,
    found: FoundHit,
    title: str,
    neighbours: Neighbours,
    now_ms: int,
    width: int,
    style: Style,
) -> Iterator[str]:
    """A hit with what was said around it."""
    hit = found.hit
    project = one_line(found.stored.project.rstrip("/").rpartition("/")[2]) or "-"
    facts = f"{ago(hit.started, now_ms)} | {hit.score:.0%}"
    head = f"{style.bold_cyan(f'[{rank}]')} Project: {style.green(project)} | {style.dim(facts)}"
    left = width - columns(f"[{rank}] Project: {project} | {facts} | ")
    if title and left >= _LEAST_TITLE:
        head += f" | {clip(one_line(title), left)}"
    yield head
    yield ""
    if neighbours.before:
        yield style.dim(f"  Claude: {clip(one_line(neighbours.before), _NEIGHBOUR_CHARS)}")
        yield ""
    labels = {"user": style.cyan("You:"), "assistant": style.green("Claude:")}
    for one in found.texts:
        if one.kind in labels:
            yield from _message(labels[one.kind], one, style)
        elif one.spans and one.kind != "title":
            yield from _message(style.dim(f"{one.kind}:"), one, style)
    if neighbours.after:
        yield style.dim(f"  You: {clip(one_line(neighbours.after), _NEIGHBOUR_CHARS)}")
        yield ""
    if hit.also_in:
        yield style.dim(f"  also in {', '.join(p.session[:8] for p in hit.also_in[:5])}")
    yield f"  → ccgrep show {found.short_id}:{hit.place.turn}"
    yield ""


def _message(label: str, marked: Marked, style: Style) -> Iterator[str]:
    if not marked.text.strip():
        return
    pieces = around(marked.text, marked.spans, _SHOWN_CHARS // 2)
    shown = "".join(_shown(piece, style) for piece in pieces).strip()
    lines = shown.splitlines()
    yield f"  {label} {lines[0]}"
    yield from (f"  {line}" for line in lines[1:])
    more = len(redacted(marked.text)) - sum(
        len(piece.text) for piece in pieces if piece.text != "…"
    )
    if more > 0:
        yield style.dim(f"  [truncated - {more} more chars]")
    yield ""


def _shown(piece: Piece, style: Style) -> str:
    text = visible(piece.text)
    return style.red(text) if piece.is_match else text


def closing(shown: int, seconds: float, style: Style) -> Iterator[str]:
    yield style.dim("─" * _RULE)
    yield f"Found {shown:,} result{'' if shown == 1 else 's'} in {seconds:.2f}s"
