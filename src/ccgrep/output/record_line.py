"""Formats the record line, the grammar that other programs parse:

    SESSION:TURN:SCORE:SNIPPET

SESSION matches `[A-Za-z0-9._~-]+`, TURN is a number and SCORE has three decimals. SNIPPET is the
rest of the line and may contain anything. Lines of context have `-` in place of `:`.
"""

from __future__ import annotations

from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.output.style import Style
from ccgrep.search.searcher import FoundHit
from ccgrep.search.snippet import SnippetPart, best_window, make_snippet
from ccgrep.text import clip, columns, make_visible, redact_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WIDTH = 200


def format_score(score: float) -> str:
    """Return the score rounded down, so that only the best hit has 1.000."""
    return f"{int(score * 1000) / 1000:.3f}"


def format_record(
    id: str, turn: int, score: float, snippet: str, style: Style, separator: str = ":"
) -> str:
    fields = (style.magenta(id), style.green(str(turn)), format_score(score), snippet)
    return style.cyan(separator).join(fields)


def hit_snippet(found: FoundHit, width: int, style: Style) -> str:
    """Return one line around the match."""
    return join_parts(snippet_parts(found, width), width, style)


def snippet_parts(found: FoundHit, width: int) -> list[SnippetPart]:
    """Return the text around the densest match. The parts are not yet safe to print."""
    texts = [text for text in found.texts if text.text.strip()]
    if not texts:
        return []
    best = max(texts, key=lambda text: best_window(text.spans, width)[1])
    return make_snippet(best.text, best.spans, width)


def plain_snippet(text: str, width: int) -> str:
    """Return the start of a text in one line."""
    return join_parts(make_snippet(text, (), 2 * width), width, Style())


def join_parts(parts: Iterable[SnippetPart], width: int, style: Style) -> str:
    """Return the parts as one line of at most `width` columns that is safe to print."""
    texts: list[str] = []
    left = width
    parts = iter(parts)
    for part in parts:
        text = make_visible(_collapse_space(part.text))
        if not texts:
            text = text.lstrip()
        if not text:
            continue
        used = columns(text)
        is_cut = used > left or (used == left and any(rest.text.strip() for rest in parts))
        if is_cut:
            text = clip(f"{text}…", left)  # longer than the room, so clip ends it with an ellipsis
        texts.append(style.red(text) if part.is_match else text)
        if is_cut:
            return "".join(texts)
        left -= used
    return "".join(texts).rstrip()


def match_lines(found: FoundHit) -> Iterator[str]:
    """Yield each match of a hit on a line of its own."""
    for matched in found.texts:
        spans = [(span.start, span.end) for span in matched.spans if matched.kind != "title"]
        text, spans = redact_spans(matched.text, spans)
        # Matches inside one secret have the same span after redaction.
        yield from (make_visible(_collapse_space(text[at:end])) for at, end in dict.fromkeys(spans))


def _collapse_space(text: str) -> str:
    if text.isprintable() and "  " not in text:
        return text  # Printable text has no white space but the blank.
    inside = " ".join(text.split())
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{inside}{' ' * (after and bool(inside))}"
