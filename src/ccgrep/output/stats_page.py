"""Formats statistics as one HTML page: inline SVG, no scripts, no network, no fonts.

The Content-Security-Policy allows the style of the page, by its hash, and nothing else. Every text
from transcripts is escaped here.
"""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from html import escape

from ccgrep.output.calendar import layout
from ccgrep.output.formatting import format_usd, local_time, pluralize
from ccgrep.output.stats_charts import short
from ccgrep.output.svg_charts import Column, bars, calendar, columns
from ccgrep.paths import last_name
from ccgrep.stats.prices import DATE
from ccgrep.stats.report import Group, Overview, Spent, TokenReport, Tokens, ToolUse
from ccgrep.text import clip, one_line

_STYLESHEET = os.path.join(os.path.dirname(__file__), "stats.css")
_MAX_ROWS = 12
_MAX_WEEKS = 104
_YEAR_WEEKS = 53
_CENT = 10**10


def page_lines(report: Overview, tokens: TokenReport, title: str) -> Iterator[str]:
    """Yield the page. `tokens` has projects, models and weeks."""
    yield from _head(title)
    yield "<body><main>"
    yield f"<header><h1>{_text(title)}</h1><p>{_period(report)}</p></header>"
    yield from _tiles(report, tokens)
    days = {group.name: group.turns for group in report.days if group.name}
    yield from _section("Activity", "turns a day", calendar(layout(days, _YEAR_WEEKS)))
    weeks = _weeks({spent.name: spent for spent in tokens.by["week"] if spent.name})
    tokens_a_week = [
        _week_column(s, sum(s.tokens[:4]), f"{short(sum(s.tokens[:4]))} tokens") for s in weeks
    ]
    yield from _section("Tokens", "a week, cache included", columns(tokens_a_week, short))
    costs = [_week_column(s, max(s.cost // _CENT, 0), _money(s.cost)) for s in weeks]
    yield from _section("Cost", f"a week, list prices of {DATE}", columns(costs, _dollars))
    yield '<div class="pair">'
    by_model = [
        spent if spent.name or any(spent.tokens[:4]) else spent._replace(name="counted by clients")
        for spent in tokens.by["model"]
    ]
    models = _spent_rows(by_model)
    yield from _section("Models", "cost and tokens", bars(models))
    yield from _section("Projects by cost", "", bars(_spent_rows(tokens.by["project"])))
    yield from _section("Projects by turns", "", bars(_group_rows(report.projects)))
    yield from _section("Tools", "calls", bars(_tool_rows(report.tools)))
    yield "</div>"
    if tokens.unpriced:
        models_without = ", ".join(
            f"{_text(spent.name) or '(unknown)'} ({short(sum(spent.tokens[:4]))} tokens)"
            for spent in tokens.unpriced
        )
        yield f"<p>Without a price, and not in the cost: {models_without}.</p>"
    yield "</main></body></html>"


def _head(title: str) -> Iterator[str]:
    with open(_STYLESHEET, encoding="utf-8") as file:
        style = file.read()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title><style>{style}</style></head>"


def _period(report: Overview) -> str:
    if report.first is None:
        return "no turns"
    return _text(f"{local_time(report.first)[:10]} to {local_time(report.last)[:10]}")


def _tiles(report: Overview, tokens: TokenReport) -> Iterator[str]:
    yield '<dl class="tiles">'
    for name, value in (
        ("sessions", f"{report.sessions:,}"),
        ("turns", f"{report.turns:,}"),
        ("tool calls", short(report.calls)),
        ("tokens", short(sum(report.tokens[:4]))),
        ("at list prices", _money(tokens.total.cost)),
    ):
        yield f"<div><dt>{name}</dt><dd>{value}</dd></div>"
    yield "</dl>"


def _section(title: str, note: str, lines: Iterator[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        small = f" <small>{_text(note)}</small>" if note else ""
        yield f"<section><h2>{_text(title)}{small}</h2>"
        yield from body
        yield "</section>"


def _weeks(known: Mapping[str, Spent]) -> list[Spent]:
    """Return every week from the first to the last one, also those without tokens."""
    if not known:
        return []
    monday, last = _monday(min(known)), _monday(max(known))
    monday = max(monday, last - timedelta(weeks=_MAX_WEEKS - 1))
    found = []
    while monday <= last:
        year, week, _ = monday.isocalendar()
        name = f"{year}-W{week:02d}"
        found.append(known.get(name, Spent(name, Tokens(), 0)))
        monday += timedelta(weeks=1)
    return found


def _week_column(week: Spent, value: int, text: str) -> Column:
    """Return a column that is named by the first day of a week."""
    monday = _monday(week.name).isoformat()
    return Column(monday, value, f"week of {monday}: {text}")


def _monday(week: str) -> date:
    year, _, number = week.partition("-W")
    return date.fromisocalendar(int(year), int(number), 1)


def _spent_rows(rows: Sequence[Spent]) -> list[Column]:
    return [
        Column(
            _name(spent.name),
            max(spent.cost // _CENT, 0),
            f"{_money(spent.cost) if spent.is_priced else 'no price'}, "
            f"{short(sum(spent.tokens[:4]))} tokens",
        )
        for spent in rows[:_MAX_ROWS]
    ]


def _group_rows(rows: Sequence[Group]) -> list[Column]:
    return [
        Column(
            _name(group.name),
            group.turns,
            f"{pluralize(group.turns, 'turn')}, {pluralize(group.sessions, 'session')}",
        )
        for group in rows[:_MAX_ROWS]
    ]


def _tool_rows(rows: Sequence[ToolUse]) -> list[Column]:
    return [
        Column(_name(use.tool), use.calls, pluralize(use.calls, "call")) for use in rows[:_MAX_ROWS]
    ]


def _name(name: str) -> str:
    shown = one_line(last_name(name) if name.startswith("/") else name)
    return clip(shown, 60) or "(unknown)"


def _money(cost: int) -> str:
    """Return an amount with cents, or in whole dollars from a thousand on."""
    whole, _, cents = format_usd(cost).partition(".")
    return f"${int(whole):,}" if abs(int(whole)) >= 1000 else f"${whole}.{cents}"


def _dollars(cents: int) -> str:
    return f"${cents // 100:,}" if cents >= 1000 else f"${cents // 100}.{cents % 100:02d}"


def _text(text: str) -> str:
    return escape(one_line(text))
