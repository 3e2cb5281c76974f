"""Formats what turns cost, for a terminal, for pipes and as JSON.

Money is whole until it is printed here. docs/scripting.md documents the columns.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ccgrep.output.formatting import format_usd, pluralize
from ccgrep.output.json_document import coverage_fields
from ccgrep.output.stats_charts import Bar, chart, format_tokens, short, usd_text
from ccgrep.output.stats_json import limit_rows, spent_fields, to_usd
from ccgrep.output.style import Style
from ccgrep.paths import last_name
from ccgrep.search.request import Coverage
from ccgrep.stats.prices import DATE
from ccgrep.stats.report import Dimension, Spent, TokenReport
from ccgrep.text import one_line

_CENT = 10**10


def charts(
    report: TokenReport, limit: int, width: int, style: Style, budget: int | None
) -> Iterator[str]:
    total, clients = report.total, report.clients
    yield f"Cost       ${format_usd(total.cost)} at the list prices of {DATE}"
    if budget is not None:
        yield f"Budget     {_budget_text(total.cost, budget)}"
    yield f"Tokens     {format_tokens(total.tokens)}"
    if clients.filled:
        yield f"Clients    counted ${format_usd(clients.filled)} of it, where tokens are unknown"
    if clients.sessions:
        word = "more" if clients.difference >= 0 else "less"
        yield (
            f"           and ${format_usd(abs(clients.difference))} {word} than this in "
            f"{pluralize(clients.sessions, 'session')}: ${format_usd(clients.counted)} instead of "
            f"${format_usd(clients.ours)}"
        )
    for spent in report.unpriced:
        name, tokens = one_line(spent.name) or "(unknown)", short(sum(spent.tokens[:4]))
        yield f"No price   {name}: {tokens} tokens are not in the cost"
    for dimension, rows in report.by.items():
        bars = [_bar(dimension, spent) for spent in limit_rows(dimension, rows, limit)]
        yield from chart(f"By {dimension} (dollars)", bars, width, style)


def _bar(dimension: Dimension, spent: Spent) -> Bar:
    tokens = f"{short(sum(spent.tokens[:4]))} tokens"
    where = f"{one_line(last_name(spent.project))}, " if spent.project else ""
    is_counted = dimension == "model" and not any(spent.tokens[:4])
    name = spent.name or ("counted by clients" if is_counted else "")
    # A bar must not be negative.
    return Bar(name, max(spent.cost // _CENT, 0), f"{where}{tokens}", usd_text(spent))


def _budget_text(cost: int, budget: int) -> str:
    share = cost * 1000 // budget
    left = budget - cost
    rest = f"${format_usd(left)} left" if left >= 0 else f"${format_usd(-left)} over"
    return f"${format_usd(cost)} of ${format_usd(budget)}, {share // 10}.{share % 10} %, {rest}"


def lines(report: TokenReport, limit: int, budget: int | None) -> Iterator[str]:
    """Yield KIND, NAME, dollars, and tokens."""
    total, clients = report.total, report.clients
    yield _line("total", total)
    if budget is not None:
        yield f"budget\t-\t{format_usd(budget)}\t{format_usd(budget - total.cost)}"
    if clients.filled or clients.sessions:
        amounts = (clients.filled, clients.counted, clients.ours)
        yield "\t".join(("clients", "-", *map(format_usd, amounts), str(clients.sessions)))
    for spent in report.unpriced:
        yield _line("unpriced", spent)
    for dimension, rows in report.by.items():
        yield from (_line(dimension, spent) for spent in limit_rows(dimension, rows, limit))


def _line(kind: str, spent: Spent) -> str:
    name = one_line(spent.name) or "-"
    usd = format_usd(spent.cost) if spent.is_priced else "-"
    return "\t".join((kind, name, usd, *map(str, spent.tokens)))


def cost_fields(
    report: TokenReport, coverage: Coverage, limit: int, budget: int | None
) -> dict[str, Any]:
    clients = report.clients
    fields: dict[str, Any] = {
        "coverage": coverage_fields(coverage),
        "prices_of": DATE,
        "total": spent_fields(report.total),
        "clients": {
            "filled_usd": to_usd(clients.filled),
            "counted_usd": to_usd(clients.counted),
            "ours_usd": to_usd(clients.ours),
            "difference_usd": to_usd(clients.difference),
            "sessions": clients.sessions,
        },
        "unpriced": _groups("model", report.unpriced),
    }
    if budget is not None:
        left = budget - report.total.cost
        fields["budget"] = {"usd": to_usd(budget), "left_usd": to_usd(left), "is_over": left < 0}
    for dimension, rows in report.by.items():
        fields[f"{dimension}s"] = _groups(dimension, limit_rows(dimension, rows, limit))
    return fields


def _groups(dimension: Dimension, rows: Sequence[Spent]) -> list[dict[str, Any]]:
    return [
        {
            dimension: spent.name or None,
            **({"project": spent.project or None} if dimension == "session" else {}),
            **spent_fields(spent),
        }
        for spent in rows
    ]
