"""Formats reports of `ccgrep stats` for a terminal: aligned columns with small bars."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ccgrep.output.calendar import heat_map
from ccgrep.output.formatting import format_usd, local_time, pluralize
from ccgrep.output.stats_json import limit_rows, rate
from ccgrep.output.style import Style
from ccgrep.stats.report import BashUse, Group, Overview, Spent, TokenReport, Tokens, ToolUse
from ccgrep.stats.suggest import HIGH_USES, MEDIUM_USES, Reviewed, Suggestions
from ccgrep.text import clip, columns, one_line

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_MIN_NAME = 12


class Bar(NamedTuple):
    """A line of a chart. `note` is printed after the value."""

    name: str
    value: int
    note: str = ""
    text: str = ""  # instead of the value


def chart(title: str, bars: Sequence[Bar], width: int, style: Style) -> Iterator[str]:
    """Yield a title, and a line for each bar, scaled to the largest value."""
    if not bars:
        return
    yield ""
    yield style.bold(title)
    names = [one_line(bar.name) or "(unknown)" for bar in bars]
    values = [bar.text or short(bar.value) for bar in bars]
    value_width = max(map(len, values))
    room = width - _BAR_WIDTH - value_width - 6
    note_width = min(max(columns(bar.note) for bar in bars), max(room - _MIN_NAME, 2) - 2)
    name_width = min(max(map(columns, names)), max(room - note_width - 2, _MIN_NAME))
    most = max(*(bar.value for bar in bars), 1)
    for bar, name, value in zip(bars, names, values, strict=True):
        label = _clip_path(name, name_width)
        label += " " * (name_width - columns(label))
        blocks = f"{_blocks(bar.value / most):<{_BAR_WIDTH}}"
        note = f"  {style.dim(clip(bar.note, note_width))}" if bar.note and note_width else ""
        yield f"  {label}  {style.cyan(blocks)}  {value:>{value_width}}{note}".rstrip()


def _clip_path(name: str, width: int) -> str:
    """Clip a path at its start, because its end tells more, and other names at their end."""
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
    """Abbreviate a number from 10,000 on: `12.3k`."""
    if number < 10_000:
        return f"{number:,}"
    value = float(number)
    for unit in ("k", "M", "G", "T"):
        value /= 1000
        if value < 999.95 or unit == "T":
            break
    return f"{value:.1f}{unit}"


def format_tokens(tokens: Tokens) -> str:
    return (
        f"{short(tokens.input)} in, {short(tokens.output)} out, "
        f"{short(tokens.cache_read)} cached, {short(tokens.cache_write)} to the cache"
    )


def overview(report: Overview, limit: int, width: int, style: Style) -> Iterator[str]:
    most = limit or None
    copies = f" (and {pluralize(report.copies, 'copy', 'copies')})" if report.copies else ""
    yield f"Sessions   {report.sessions:,}"
    yield f"Turns      {report.turns:,}{copies}, {pluralize(report.messages, 'message')}"
    failed = f", {report.errors:,} failed" if report.errors else ""
    yield f"Tools      {pluralize(report.calls, 'call')}{failed}"
    yield f"Tokens     {format_tokens(report.tokens)}"
    if report.first is not None:
        yield f"Time       {local_time(report.first)} to {local_time(report.last)}"
    days = {group.name: group.turns for group in report.days}
    yield from heat_map("Activity (turns a day)", days, width, style)
    yield from chart("Sources (turns)", _groups(report.sources), width, style)
    yield from chart("Busiest projects (turns)", _groups(report.projects[:most]), width, style)
    yield from chart("Busiest days (turns)", _groups(report.days[:most]), width, style)
    yield from chart("Tools (calls)", [_tool(use) for use in report.tools[:most]], width, style)


def _groups(groups: Sequence[Group]) -> list[Bar]:
    return [Bar(group.name, group.turns, pluralize(group.sessions, "session")) for group in groups]


def _tool(use: ToolUse) -> Bar:
    return Bar(use.tool, use.calls, _failure_rate(use.calls, use.errors))


def _failure_rate(calls: int, errors: int) -> str:
    return f"{rate(calls, errors):.1%} failed" if errors else ""


def tools(
    uses: tuple[ToolUse, ...], limit: int, by_project: bool, width: int, style: Style
) -> Iterator[str]:
    visible = uses[: limit or None]
    if not by_project:
        yield from chart("Tools (calls)", [_tool(use) for use in visible], width, style)
        return
    for use in visible:
        rows = use.projects[: limit or None]
        bars = [
            Bar(project, calls, _failure_rate(calls, errors)) for project, calls, errors in rows
        ]
        yield from chart(f"{one_line(use.tool)} (calls)", bars, width, style)


def bash(uses: tuple[BashUse, ...], limit: int, width: int, style: Style) -> Iterator[str]:
    bars = []
    for use in uses[: limit or None]:
        notes = [
            f"{number:,} {word}"
            for number, word in ((use.compound, "compound"), (use.privileged, "sudo"))
            if number
        ]
        notes += [text] if (text := _failure_rate(use.uses, use.errors)) else []
        bars.append(Bar(f"{use.base} {use.sub}".strip(), use.uses, ", ".join(notes)))
    yield from chart("Commands (uses)", bars, width, style)


def usd_text(spent: Spent) -> str:
    return f"${format_usd(spent.cost)}" if spent.is_priced else "no price"


def tokens(report: TokenReport, limit: int, width: int, style: Style) -> Iterator[str]:
    yield f"Tokens     {format_tokens(report.total.tokens)}"
    yield f"Messages   {report.total.tokens.messages:,}"
    yield f"Cost       ${format_usd(report.total.cost)} at list prices: see `ccgrep stats cost`"
    for dimension, rows in report.by.items():
        visible = limit_rows(dimension, rows, limit)
        bars = [
            Bar(
                spent.name,
                sum(spent.tokens[:4]),
                f"{short(spent.tokens.output)} out, {usd_text(spent)}",
            )
            for spent in visible
        ]
        yield from chart(f"By {dimension} (all tokens)", bars, width, style)


_LEVELS = (
    ("high", f"High confidence (>={HIGH_USES} uses, no dangerous patterns):"),
    ("medium", f"Medium confidence (>={MEDIUM_USES} uses):"),
    ("low", "Review carefully (few uses, or with pipes and other commands):"),
)


_REVIEW = "Review carefully (exact commands that run the project's own code or tools):"


def suggestions(
    report: Suggestions, reviewed: Sequence[Reviewed], limit: int, style: Style
) -> Iterator[str]:
    """Yield the suggestions in the layout of recall."""
    yield style.bold("Suggested Bash Permissions")
    yield "=========================="
    if not report.suggestions:
        yield ""
        yield "No command in use is known to be safe."
    for level, title in _LEVELS:
        rules = [rule for rule in report.suggestions if rule.confidence == level]
        yield from _rules(title, [(rule.pattern, rule.uses, "") for rule in rules], style)
    yield from _rules(_REVIEW, [(each.command, each.uses, each.reason) for each in reviewed], style)
    visible = report.skipped[: limit or None]
    skipped = [(pattern, uses, f"[SKIPPED] {reason}") for pattern, uses, reason in visible]
    yield from _rules("Not suggested (can destroy, write, or run other programs):", skipped, style)
    if len(report.skipped) > len(visible):
        yield f"  … and {len(report.skipped) - len(visible):,} more: -n 0 lists all"
    if report.allowed:
        yield ""
        yield style.dim("→ ccgrep stats bash --suggest --settings")
    if reviewed:
        yield style.dim("→ ccgrep stats bash --suggest --settings --include-reviewed")


def _rules(title: str, rows: Sequence[tuple[str, int, str]], style: Style) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield style.bold(title)
    names = [clip(one_line(name), 40) for name, _, _ in rows]
    width = max(map(columns, names))
    for name, (_, uses, reason) in zip(names, rows, strict=True):
        pad = " " * (width - columns(name))
        note = style.dim(f" {reason}") if reason else ""
        yield f"  - {name}{pad}  ({pluralize(uses, 'use')}){note}"
