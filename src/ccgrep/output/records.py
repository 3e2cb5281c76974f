"""The record line, the one grammar that other programs read:

    SESSION:TURN:SCORE:SNIPPET

SESSION has only `[A-Za-z0-9._~-]`, TURN is a number, SCORE has three decimals, and SNIPPET is
the rest of the line, whatever it contains. Lines of context have `-` for `:`.
"""

import re
from collections.abc import Iterable, Iterator

from ccgrep.ops.search import FoundHit
from ccgrep.output.style import Style
from ccgrep.search.snippet import Marks, Piece, around, best_start
from ccgrep.text import clip, columns, escape

WIDTH = 200
_SPACE = re.compile(r"\s+")


def record(id: str, turn: int, score: float, snippet: str, style: Style, mark: str = ":") -> str:
    between = style.cyan(mark)
    # A score is rounded down: 1.000 is the best hit alone.
    fields = (style.magenta(id), style.green(str(turn)), f"{int(score * 1000) / 1000:.3f}")
    return between.join((*fields, snippet))


def snippet(found: FoundHit, marks: Marks, width: int, style: Style) -> str:
    """One line around the match, in the text that has most of it."""
    texts = [text for _, text in found.texts] or [found.stored.prompt]
    marked = [(text, marks.spans(text)) for text in texts]
    if not any(spans for _, spans in marked) and found.stored.title:
        marked = [(found.stored.title, marks.spans(found.stored.title)), *marked]
    text, spans = max(marked, key=lambda one: best_start(one[1], width)[1])
    if not text.strip():
        text, spans = next(((t, s) for t, s in marked if t.strip()), (text, spans))
    return line(around(text, spans, width), width, style)


def plain_snippet(text: str, width: int) -> str:
    """The beginning of a text in one line."""
    return line([Piece(text[: 4 * width], False)], width, Style())


def line(pieces: Iterable[Piece], width: int, style: Style) -> str:
    """Pieces as one line of at most `width` columns, safe to print."""
    parts: list[str] = []
    left = width
    is_start = True
    for piece in pieces:
        text = escape(_SPACE.sub(" ", piece.text))
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


def matches(found: FoundHit, marks: Marks) -> Iterator[str]:
    """Every match of a hit alone, as one line each."""
    for _, text in found.texts:
        for span in marks.spans(text):
            yield escape(_SPACE.sub(" ", text[span.start : span.end]))
