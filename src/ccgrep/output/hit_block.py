"""Formats hits as blocks of lines on a terminal.

A block is compact: a few rows around the match, wrapped to the width of the terminal. `--long`
shows more of each message.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ccgrep.output.formatting import agent_name, long_age, pluralize
from ccgrep.output.record_line import join_parts
from ccgrep.output.style import Style
from ccgrep.output.wrap import Row, best_rows, row_text, wrap
from ccgrep.paths import last_name
from ccgrep.search.searcher import FoundHit
from ccgrep.search.snippet import MatchedText, SnippetPart, make_snippet
from ccgrep.text import clip, columns, make_visible, one_line, redact

_LONG_CHARS = 400  # of a message in a long block
_NEIGHBOUR_CHARS = 160
_PROMPT_ROWS, _OTHER_ROWS = 2, 3  # of a message in a compact block
_MAX_ROWS = 5  # of messages and neighbours: three blocks fit into half a screen of 48 lines
_MIN_COLUMNS = 20
_MIN_TITLE_COLUMNS = 8


class Page(NamedTuple):
    """The terminal that shows the blocks, and the time there."""

    width: int
    now_ms: int
    style: Style


class Block(NamedTuple):
    """A hit with what its block shows: also the answer before it and the prompt after it."""

    rank: int
    found: FoundHit
    title: MatchedText
    before: str = ""
    after: str = ""

    @property
    def agent(self) -> str:
        return agent_name(self.found.stored.source)

    @property
    def ref(self) -> str:
        return f"{self.found.short_id}:{self.found.hit.place.turn}"

    @property
    def also_in(self) -> str:
        return ", ".join(place.session[:8] for place in self.found.hit.also_in[:5])

    def messages(self) -> list[tuple[str, MatchedText]]:
        """Return the prompt, the answer, and other texts with a match, each with its label."""
        labels = {"user": "You", "assistant": self.agent}
        texts = self.found.texts
        if not any(text.kind == "user" for text in texts):  # only some texts were searched
            texts = [MatchedText("user", self.found.stored.prompt, []), *texts]
        return [
            (labels.get(text.kind, text.kind), text)
            for text in texts
            if (text.kind in labels or (text.spans and text.kind != "title")) and text.text.strip()
        ]


def compact_lines(block: Block, page: Page) -> Iterator[str]:
    """Yield a hit in at most seven lines, with one for each neighbour."""
    style, width = page.style, page.width
    yield _head_line(block, page)
    if block.before.strip():
        yield style.dim(clip(f"  {block.agent}: {one_line(block.before)}", width))
    hidden_chars = 0
    limits = _share_rows(block, width)
    for (label, text), most in zip(block.messages(), limits, strict=True):
        rows, hidden = _rows_around_match(text, most, width - _indent(label))
        hidden_chars += hidden
        for number, row in enumerate(rows):
            start = f"  {_colour(label, text.kind, style)} " if not number else " " * _indent(label)
            yield start + _format_parts(row, style)
    if block.after.strip():
        yield style.dim(clip(f"  You: {one_line(block.after)}", width))
    yield from _ref_lines(block, hidden_chars, page)


def _share_rows(block: Block, width: int) -> list[int]:
    """Return the most rows of each message: fewer for those without a match and for the prompt."""
    messages = block.messages()
    has_match = any(text.spans for _, text in messages)
    rows = []
    for label, text in messages:
        most = _PROMPT_ROWS if text.kind == "user" else _OTHER_ROWS
        most -= has_match and not text.spans
        rows.append(len(_rows_around_match(text, most, width - _indent(label))[0]))
    left = _MAX_ROWS - bool(block.before.strip()) - bool(block.after.strip())
    for number in sorted(range(len(rows)), key=lambda number: bool(messages[number][1].spans)):
        rows[number] = max(rows[number] - max(sum(rows) - left, 0), 1)
    return rows


def _indent(label: str) -> int:
    return len(f"  {label}: ")


def _rows_around_match(matched: MatchedText, most: int, width: int) -> tuple[list[Row], int]:
    """Return at most `most` rows, and the number of characters that they leave out."""
    width = max(width, _MIN_COLUMNS) - 2  # A last row may get an ellipsis.
    text = matched.text if matched.spans else matched.text.strip()
    # Rows that end between words hold about seven eighths of their width.
    parts = make_snippet(text, matched.spans, most * width * 7 // 8)
    rows = wrap(parts, width)
    shown = best_rows(rows, most)
    kept = rows[shown]
    whole = redact(text)
    is_cut = not whole.endswith(_join_text(parts))
    if shown.start == 0 and len(rows) <= most and _join_text(parts) == whole:
        return kept, 0
    shown_chars = sum(len(row_text(row).strip("…")) for row in kept)
    if shown.start:
        kept[0] = [SnippetPart("…", False), *kept[0]]
    if shown.stop < len(rows) or is_cut:
        last = kept.pop() if kept else []
        kept.append([*last, SnippetPart(" …" if row_text(last)[-1:].isascii() else "…", False)])
    return kept, max(len(whole) - shown_chars, 0)


def _ref_lines(block: Block, hidden_chars: int, page: Page) -> Iterator[str]:
    """Yield the command that shows the turn. Other places follow if there is room for them."""
    line = f"  → ccgrep show {block.ref}"
    truncated = f"  [truncated - {hidden_chars} more chars]" if hidden_chars else ""
    also_in = f"  also in {block.also_in}" if block.also_in else ""
    if columns(line + truncated) > page.width:
        yield page.style.dim(truncated)
        truncated = ""
    notes = f"{truncated}{also_in}"
    if columns(line + notes) > page.width:
        notes = truncated
    yield line + (page.style.dim(notes) if notes else "")


def long_lines(block: Block, page: Page) -> Iterator[str]:
    """Yield a hit with more of its messages, as they are, and blank lines between them."""
    style = page.style
    yield _head_line(block, page)
    yield ""
    if block.before.strip():
        yield style.dim(f"  {block.agent}: {clip(one_line(block.before), _NEIGHBOUR_CHARS)}")
        yield ""
    for label, text in block.messages():
        yield from _long_message_lines(_colour(label, text.kind, style), text, style)
    if block.after.strip():
        yield style.dim(f"  You: {clip(one_line(block.after), _NEIGHBOUR_CHARS)}")
        yield ""
    if block.also_in:
        yield style.dim(f"  also in {block.also_in}")
    yield f"  → ccgrep show {block.ref}"


def _long_message_lines(label: str, matched: MatchedText, style: Style) -> Iterator[str]:
    parts = make_snippet(matched.text, matched.spans, _LONG_CHARS // 2)
    text = _format_parts([part._replace(text=make_visible(part.text)) for part in parts], style)
    lines = text.strip().splitlines() or ["…"]  # The part in view may be blank.
    yield f"  {label} {lines[0]}"
    yield from (f"  {line}" for line in lines[1:])
    hidden_chars = len(redact(matched.text)) - len(_join_text(parts))
    if hidden_chars > 0:
        yield style.dim(f"  [truncated - {hidden_chars} more chars]")
    yield ""


def _head_line(block: Block, page: Page) -> str:
    style, hit = page.style, block.found.hit
    project = one_line(last_name(block.found.stored.project)) or "-"
    facts = f"{long_age(hit.started, page.now_ms)} | {hit.score:.0%}"
    head = f"[{block.rank}] Project: {project} | {facts} | "
    left = page.width - columns(head)
    title = block.title.text
    parts = make_snippet(title, block.title.spans, 2 * len(title))  # from its beginning
    title = join_parts(parts, left, style) if left >= _MIN_TITLE_COLUMNS else ""
    shown = f"{style.bold_cyan(f'[{block.rank}]')} Project: {style.green(project)} | "
    shown += style.dim(facts)
    return f"{shown} | {title}" if title else shown


def _colour(label: str, kind: str, style: Style) -> str:
    colours = {"user": style.cyan, "assistant": style.green}
    return colours.get(kind, style.dim)(f"{label}:")


def _format_parts(parts: Row, style: Style) -> str:
    """Return parts that are safe to print as text."""
    return "".join(style.red(part.text) if part.is_match else part.text for part in parts)


def _join_text(parts: Row) -> str:
    """Return the text of a snippet without the ellipsis at its start."""
    return row_text(parts[1:] if parts and parts[0].text == "…" else parts)


def summary_line(shown: int, total: int | None, seconds: float, style: Style) -> str:
    """Return how many hits there are; a total of None is more than are shown."""
    if total == shown:
        count, time = f"Found {pluralize(shown, 'result')}", f" in {seconds:.2f}s"
    else:
        of = f"{shown} of {total:,}" if total is not None else f"the best {shown}"
        count, time = f"{of}; -n 0 for all", f" ({seconds:.2f}s)"
    return f"{style.dim('───')} {count}{style.dim(time)}"
