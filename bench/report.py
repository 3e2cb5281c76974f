"""Makes tables and plots of results, and puts them where the documentation has a place for them.

    python -m bench.report     writes docs/performance.md, docs/performance.svg, README.md anew

Pure but for reading and writing: the same results give the same bytes. A place for figures is
what stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.plot import Panel, Series, amount, draw
from bench.results import AXES, KINDS, MEANING_AXES, OURS, Axis, Figure, Result, Tool, read_results

ROOT = Path(__file__).parents[1]
PAGE, PLOT, README = "docs/performance.md", "docs/performance.svg", "README.md"
_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_IN_README = ("search", "appended", "build", "build_memory", "disk")
_PLOTTED = ("search", "build", "build_memory", "disk")
_BY_KEY = {axis.key: axis for axis in AXES}

Row = list[str]


def main() -> None:
    for path, text in files(read_results()).items():
        (ROOT / path).write_text(text, encoding="utf-8")


def files(results: Sequence[Result]) -> dict[str, str]:
    """What the documentation is with these results."""
    pages = {path: (ROOT / path).read_text("utf-8") for path in (PAGE, README)}
    filled = {path: fill(text, results) for path, text in pages.items()}
    return {**filled, PLOT: growth(_by_size(results))}


def fill(text: str, results: Sequence[Result]) -> str:
    """A page with its places filled in."""
    made: dict[str, Callable[[Sequence[Result]], str]] = {
        "machine": _machine,
        "ratios": lambda found: _sections(found, ratios),
        "figures": lambda found: _sections(found, absolutes),
        "tools": _tools,
        "meaning": _meaning,
        "short": _short,
    }
    return _PLACE.sub(lambda found: f"{found[1]}\n{made[found[2]](results)}\n{found[3]}", text)


def ratios(result: Result, axes: Sequence[Axis] = AXES) -> list[Row]:
    """Ours as they are; those of others as multiples of ours."""
    ours = next((tool for tool in result.tools if tool.name.split()[0] == OURS), None)
    axes = _measured(result, axes)
    rows = [["", *(axis.title for axis in axes)]]
    for tool in result.tools:
        cells = [_ratio(tool, ours, axis) for axis in axes]
        if any(cells):
            rows.append([tool.name, *(cell or "–" for cell in cells)])
    return rows


def absolutes(result: Result, axes: Sequence[Axis] = AXES) -> list[Row]:
    axes = _measured(result, axes)
    rows = [["", *(axis.title for axis in axes)]]
    for tool in result.tools:
        if tool.figures:
            found = [tool.figures.get(axis.key) for axis in axes]
            shown = zip(found, axes, strict=True)
            rows.append([tool.name, *(_cell(one, axis) if one else "–" for one, axis in shown)])
    return rows


def _measured(result: Result, axes: Sequence[Axis]) -> list[Axis]:
    """Return the axes that have a figure: older results have no anonymous memory."""
    return [axis for axis in axes if any(axis.key in tool.figures for tool in result.tools)]


def as_text(result: Result) -> str:
    """The ratios of one scale for a terminal."""
    axes = MEANING_AXES if result.corpus.name == "vectors" else AXES
    rows = ratios(result, axes)
    rows = [list(row) for row in zip(*rows, strict=True)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    notes = [f"{tool.name}: {note}" for tool in result.tools for note in tool.notes]
    return "\n".join([_heading(result), *lines, *notes])


def growth(results: Sequence[Result]) -> str:
    """How figures grow with the size of the transcripts."""
    names = list(dict.fromkeys(tool.name for result in results for tool in result.tools))
    panels = [
        Panel(_BY_KEY[key].title, _BY_KEY[key].unit, _series(results, names, key))
        for key in _PLOTTED
    ]
    sizes = [amount(result.corpus.size, "B") for result in results]
    described = f"Logarithmic, median, {', '.join(sizes)} of transcripts; lower is better."
    return draw("How ccgrep and others grow with the transcripts", described, panels, sizes)


def _series(results: Sequence[Result], names: Sequence[str], key: str) -> list[Series]:
    return [Series(name, at, _points(results, name, key)) for at, name in enumerate(names)]


def _points(results: Sequence[Result], name: str, key: str) -> list[tuple[float, float]]:
    return [
        (result.corpus.size, tool.figures[key].p50)
        for result in results
        for tool in result.tools
        if tool.name == name and key in tool.figures
    ]


def _by_size(results: Sequence[Result]) -> list[Result]:
    """The scales of which one is more of the other; a million small turns are another shape."""
    return [result for result in results if re.fullmatch(r"[\d.]+", result.scale)]


def _ratio(tool: Tool, ours: Tool | None, axis: Axis) -> str:
    found = tool.figures.get(axis.key)
    if found is None:
        return ""
    own = ours.figures.get(axis.key) if ours is not None and ours is not tool else None
    if own is None or not own.p50:
        return amount(found.p50, axis.unit)
    value = found.p50 / own.p50
    return f"× {value:,.0f}" if value >= 10 else f"× {value:.2g}"


def _cell(one: Figure, axis: Axis) -> str:
    if one.runs == 1:
        return amount(one.p50, axis.unit)
    return f"{amount(one.p50, axis.unit)}, {amount(one.p95, axis.unit)} ({one.runs})"


def _markdown(rows: Sequence[Row]) -> str:
    head, *rest = rows
    lines = [head, ["---", *("---:" for _ in head[1:])], *(_bold(row) for row in rest)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _bold(row: Row) -> Row:
    return [f"**{cell}**" for cell in row] if row[0].split()[0] == OURS else row


def _heading(result: Result) -> str:
    corpus = result.corpus
    if corpus.name == "vectors":
        return f"{corpus.size:,} vectors"
    size = amount(corpus.size, "B")
    turns = f", {corpus.turns:,} turns" if corpus.turns else ""
    return f"{size} of transcripts: {corpus.files:,} files{turns}"


def _sections(results: Sequence[Result], table: Callable[[Result], list[Row]]) -> str:
    shown = [result for result in results if result.corpus.name != "vectors"]
    parts = [f"### {_heading(result)}\n\n{_markdown(table(result))}\n" for result in shown]
    return "\n".join(parts)


def _meaning(results: Sequence[Result]) -> str:
    parts = []
    for result in results:
        if result.corpus.name == "vectors":
            short, exact = ratios(result, MEANING_AXES), absolutes(result, MEANING_AXES)
            rows = [[*one, other[1]] for one, other in zip(short, exact, strict=True)]
            rows[0][-1] = "query: median, 95 % (runs)"
            parts.append(f"### {_heading(result)}\n\n{_markdown(rows)}\n")
    return "\n".join(parts)


def _machine(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        one = result.machine
        cold = f" Cold: {result.cold}." if result.cold else ""
        lines.append(
            f"- {_heading(result)}: {result.date}, {one.cpu}, {one.cores} cores, "
            f"{amount(one.memory_bytes, 'B')} of memory, {one.system}, Python {one.python}; "
            f"{_busy(result)}.{cold}"
        )
    return "\n".join(lines) + "\n"


def _busy(result: Result) -> str:
    """Whether others used the machine, too: then times are longer, and ratios less sure."""
    if result.load is None:
        return "load not recorded"
    is_quiet = result.load <= result.machine.cores / 2
    return f"load {result.load:g} when it began" + ("" if is_quiet else ", a **busy machine**")


def _tools(results: Sequence[Result]) -> str:
    rows = [["tool", "version", "answers with", *KINDS, "what went wrong"]]
    shown = [result for result in results if result.corpus.name != "vectors"]
    latest = {tool.name: tool for result in shown for tool in result.tools}
    for name, tool in latest.items():
        notes = [
            f"{_heading(result).partition(':')[0]}: {note}"
            for result in shown
            for one in result.tools
            for note in one.notes
            if one.name == name
        ]
        found = ["✓" if kind in tool.covers else "" for kind in KINDS]
        trouble = "; ".join(_plain(note) for note in notes)
        rows.append([name, tool.version or "–", tool.answers, *found, trouble])
    lines = [rows[0], ["---", "---", "---", *(":---:" for _ in KINDS), "---"], *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def _plain(note: str) -> str:
    """A note in one line that a table can hold."""
    return " ".join(note.replace("|", "\\|").replace("<", "&lt;").split())[:160]


def _short(results: Sequence[Result]) -> str:
    """The scale next to a gigabyte, for the README: what somebody has who uses agents daily."""
    shown = _by_size(results)
    if not shown:
        return ""
    result = min(shown, key=lambda one: abs(one.corpus.size - 10**9))
    axes = [_BY_KEY[key] for key in _IN_README]
    one = result.machine
    return (
        f"{_heading(result)}; {one.cpu}, {one.cores} cores, {_busy(result)}, {result.date}. "
        f"Ours as measured, others as multiples of it.\n\n{_markdown(ratios(result, axes))}\n"
    )


if __name__ == "__main__":
    main()
