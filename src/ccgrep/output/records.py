"""The record line, the one grammar that other programs read:

    SESSION:TURN:SCORE:SNIPPET

SESSION has only `[A-Za-z0-9._~-]`, TURN is a number, SCORE has three decimals, and SNIPPET is
the rest of the line, whatever it contains. Lines of context have `-` for `:`.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.ops.search import FoundHit
from ccgrep.output.style import Style
from ccgrep.search.snippet import Piece, around, best_start
from ccgrep.text import clip, columns, redact, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WIDTH = 200


def shown_score(score: float) -> str:
    """A score is rounded down: 1.000 is the best hit alone."""
    return f"{int(score * 1000) / 1000:.3f}"


def record(id: str, turn: int, score: float, snippet: str, style: Style, mark: str = ":") -> str:
    between = style.cyan(mark)
    fields = (style.magenta(id), style.green(str(turn)), shown_score(score))
    return between.join((*fields, snippet))


def snippet(found: FoundHit, width: int, style: Style) -> str:
    """One line around the match, in the text that has most of it."""
    return line(pieces_of(found, width), width, style)


def pieces_of(found: FoundHit, width: int) -> list[Piece]:
    """What stands around the match, not yet safe to print."""
    texts = [one for one in found.texts if one.text.strip()]
    if not texts:
        return []
    best = max(texts, key=lambda one: best_start(one.spans, width)[1])
    return around(best.text, best.spans, width)


def plain_snippet(text: str, width: int) -> str:
    """The beginning of a text in one line."""
    return line(around(text, (), 2 * width), width, Style())


def line(pieces: Iterable[Piece], width: int, style: Style) -> str:
    """Pieces as one line of at most `width` columns, safe to print."""
    parts: list[str] = []
    left = width
    is_start = True
    for piece in pieces:
        text = visible(_single_spaced(piece.text))
        if is_start:
            text = text.lstrip()
        if not text:
            continue
        is_start = False
        used = columns(text)
        if used > left:
            parts.append(style.red(clip(text, left)) if piece.is_match else clip(text, left))
            return "".join(parts)
        parts.append(style.red(text) if piece.is_match else text)
        left -= used
        if left == 0:
            break
    return "".join(parts).rstrip()


def matches(found: FoundHit) -> Iterator[str]:
    """Every match of a hit alone, as one line each."""
    for one in found.texts:
        spans = [(span.start, span.end) for span in one.spans if one.kind != "title"]
        text, spans = redact(one.text, spans)
        # Several in one secret are one.
        yield from (visible(_single_spaced(text[at:end])) for at, end in dict.fromkeys(spans))


def _single_spaced(text: str) -> str:
    if text.isprintable() and "  " not in text:
        return text  # What is printable has no other space.
    inside = " ".join(text.split())
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{inside}{' ' * (after and bool(inside))}"
