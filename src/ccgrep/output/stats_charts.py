"""What was used, how often, on a terminal: aligned columns with small bars."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ccgrep.output.formatting import local_time, pluralize
from ccgrep.output.stats_json import rate, shown_of
from ccgrep.output.style import Style
from ccgrep.stats.report import BashUse, Group, Overview, TokenReport, Tokens, ToolUse
from ccgrep.stats.suggest import HIGH_USES, MEDIUM_USES, Suggestions
from ccgrep.text import clip, columns, one_line

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_MIN_NAME = 12


class Bar(NamedTuple):
    """A line of a chart: what, how much, and words behind it."""

    name: str
    value: int
    note: str = ""


def chart(title: str, bars: Sequence[Bar], width: int, style: Style) -> Iterator[str]:
    """A title, and a bar for each line in proportion to the largest."""
    if not bars:
        return
    yield ""
    yield style.bold(title)
    names = [one_line(bar.name) or "(unknown)" for bar in bars]
    values = [short(bar.value) for bar in bars]
    value_width = max(map(len, values))
    room = width - _BAR_WIDTH - value_width - 6
    note_width = min(max(columns(bar.note) for bar in bars), max(room - _MIN_NAME, 2) - 2)
    name_width = min(max(map(columns, names)), max(room - note_width - 2, _MIN_NAME))
    most = max(*(bar.value for bar in bars), 1)
    for bar, name, value in zip(bars, names, values, strict=True):
        shown = _tail(name, name_width)
        shown += " " * (name_width - columns(shown))
        drawn = f"{_blocks(bar.value / most):<{_BAR_WIDTH}}"
        note = f"  {style.dim(clip(bar.note, note_width))}" if bar.note and note_width else ""
        yield f"  {shown}  {style.cyan(drawn)}  {value:>{value_width}}{note}".rstrip()


def _tail(name: str, width: int) -> str:
    """The end of a path says more than its beginning."""
    if columns(name) <= width or not name.startswith("/"):
        return clip(name, width)
    kept = name
    while columns(kept) > width - 1:
        kept = kept[1:]
    return "…" + kept


def _blocks(share: float) -> str:
    eighths = max(round(share * _BAR_WIDTH * 8), 1) if share > 0 else 0
    whole, part = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[part] if part else "")


def short(number: int) -> str:
    """A number in at most five characters or so: `12.3k`."""
    if number < 10_000:
        return f"{number:,}"
    value = float(number)
    for unit in ("k", "M", "G", "T"):
        value /= 1000
        if value < 999.95 or unit == "T":
            break
    return f"{value:.1f}{unit}"


def _spent(tokens: Tokens) -> str:
    return (
        f"{short(tokens.input)} in, {short(tokens.output)} out, "
        f"{short(tokens.cache_read)} cached, {short(tokens.cache_write)} to the cache"
    )


def overview(found: Overview, limit: int, width: int, style: Style) -> Iterator[str]:
    most = limit or None
    copies = f" (and {pluralize(found.copies, 'copy', 'copies')})" if found.copies else ""
    yield f"Sessions   {found.sessions:,}"
    yield f"Turns      {found.turns:,}{copies}, {pluralize(found.messages, 'message')}"
    failed = f", {found.errors:,} failed" if found.errors else ""
    yield f"Tools      {pluralize(found.calls, 'call')}{failed}"
    yield f"Tokens     {_spent(found.tokens)}"
    if found.first is not None:
        yield f"Time       {local_time(found.first)} to {local_time(found.last)}"
    yield from chart("Sources (turns)", _groups(found.sources), width, style)
    yield from chart("Busiest projects (turns)", _groups(found.projects[:most]), width, style)
    yield from chart("Busiest days (turns)", _groups(found.days[:most]), width, style)
    yield from chart("Tools (calls)", [_tool(use) for use in found.tools[:most]], width, style)


def _groups(groups: Sequence[Group]) -> list[Bar]:
    return [
        Bar(group.name, group.turns, f"{pluralize(group.sessions, 'session')}") for group in groups
    ]


def _tool(use: ToolUse) -> Bar:
    return Bar(use.tool, use.calls, _failed(use.calls, use.errors))


def _failed(calls: int, errors: int) -> str:
    return f"{rate(calls, errors):.1%} failed" if errors else ""


def tools(
    found: tuple[ToolUse, ...], limit: int, by_project: bool, width: int, style: Style
) -> Iterator[str]:
    shown = found[: limit or None]
    if not by_project:
        yield from chart("Tools (calls)", [_tool(use) for use in shown], width, style)
        return
    for use in shown:
        rows = use.projects[: limit or None]
        bars = [Bar(project, calls, _failed(calls, errors)) for project, calls, errors in rows]
        yield from chart(f"{one_line(use.tool)} (calls)", bars, width, style)


def bash(found: tuple[BashUse, ...], limit: int, width: int, style: Style) -> Iterator[str]:
    bars = []
    for use in found[: limit or None]:
        notes = [
            f"{number:,} {word}"
            for number, word in ((use.compound, "compound"), (use.privileged, "sudo"))
            if number
        ]
        notes += [text] if (text := _failed(use.uses, use.errors)) else []
        bars.append(Bar(f"{use.base} {use.sub}".strip(), use.uses, ", ".join(notes)))
    yield from chart("Commands (uses)", bars, width, style)


def tokens(found: TokenReport, limit: int, width: int, style: Style) -> Iterator[str]:
    yield f"Tokens     {_spent(found.total)}"
    yield f"Messages   {found.total.messages:,}"
    for dimension, rows in found.by.items():
        shown = shown_of(dimension, rows, limit)
        bars = [Bar(name, sum(spent[:4]), f"{short(spent.output)} out") for name, spent in shown]
        yield from chart(f"By {dimension} (all tokens)", bars, width, style)


_LEVELS = (
    ("high", f"High confidence (>={HIGH_USES} uses, no dangerous patterns):"),
    ("medium", f"Medium confidence (>={MEDIUM_USES} uses):"),
    ("low", "Review carefully (few uses, or with pipes and other commands):"),
)


def suggestions(found: Suggestions, limit: int, style: Style) -> Iterator[str]:
    """As recall prints them."""
    yield style.bold("Suggested Bash Permissions")
    yield "=========================="
    if not found.suggestions:
        yield ""
        yield "Nothing that is known to be safe was used."
    for level, title in _LEVELS:
        rows = [(one.pattern, one.uses, "") for one in found.suggestions if one.confidence == level]
        yield from _rules(title, rows, style)
    skipped = [(one.pattern, one.uses, one.reason) for one in found.skipped]
    shown = skipped[: limit or None]
    yield from _rules("Not suggested (can destroy, write, or run other programs):", shown, style)
    if len(skipped) > len(shown):
        yield f"  … and {len(skipped) - len(shown):,} more; -n 0 lists all"
    if found.allowed:
        yield ""
        yield style.dim("→ ccgrep stats bash --suggest --settings")


def _rules(title: str, rows: Sequence[tuple[str, int, str]], style: Style) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield style.bold(title)
    names = [clip(one_line(name), 40) for name, _, _ in rows]
    width = max(map(columns, names))
    for name, (_, uses, reason) in zip(names, rows, strict=True):
        pad = " " * (width - columns(name))
        skipped = style.dim(f" [SKIPPED] {reason}") if reason else ""
        yield f"  - {name}{pad}  ({pluralize(uses, 'use')}){skipped}"
