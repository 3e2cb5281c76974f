"""Fills the tables and plots of the documentation from results.

    python -m bench.report     updates docs/performance.md, docs/performance.svg and README.md

The same results give the same bytes. A table goes between `<!-- figures: NAME -->` and
`<!-- end of figures -->`.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.plot import Panel, Series, draw, format_amount
from bench.results import AXES, KINDS, OURS, SEMANTIC_AXES, Axis, Figure, Result, Tool, read_results

ROOT = Path(__file__).parents[1]
PAGE, PLOT, README = "docs/performance.md", "docs/performance.svg", "README.md"
_TABLE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_IN_README = ("search", "appended", "build", "build_memory", "disk")
_PLOTTED = ("search", "build", "build_memory", "disk")
_BY_KEY = {axis.key: axis for axis in AXES}

Row = list[str]


def main() -> None:
    for path, text in make_documents(read_results()).items():
        (ROOT / path).write_text(text, encoding="utf-8")


def make_documents(results: Sequence[Result]) -> dict[str, str]:
    """Return the text of each document with these results filled in."""
    pages = {path: (ROOT / path).read_text("utf-8") for path in (PAGE, README)}
    filled = {path: fill_tables(text, results) for path, text in pages.items()}
    return {**filled, PLOT: draw_growth(_of_generated_sizes(results))}


def fill_tables(text: str, results: Sequence[Result]) -> str:
    """Fill in the tables of a page."""
    tables: dict[str, Callable[[Sequence[Result]], str]] = {
        "machine": _list_machines,
        "ratios": lambda results: _sections(results, ratio_rows),
        "figures": lambda results: _sections(results, figure_rows),
        "tools": _tools_table,
        "meaning": _semantic_sections,
        "short": _readme_table,
    }
    return _TABLE.sub(lambda match: f"{match[1]}\n{tables[match[2]](results)}\n{match[3]}", text)


def ratio_rows(result: Result, axes: Sequence[Axis] = AXES) -> list[Row]:
    """Return our figures, and those of other tools as multiples of ours."""
    ours = next((tool for tool in result.tools if tool.name.split()[0] == OURS), None)
    axes = _measured(result, axes)
    rows = [["", *(axis.title for axis in axes)]]
    for tool in result.tools:
        cells = [_format_ratio(tool, ours, axis) for axis in axes]
        if any(cells):
            rows.append([tool.name, *(cell or "–" for cell in cells)])
    return rows


def figure_rows(result: Result, axes: Sequence[Axis] = AXES) -> list[Row]:
    axes = _measured(result, axes)
    rows = [["", *(axis.title for axis in axes)]]
    for tool in result.tools:
        if tool.figures:
            cells = [_format_figure(tool.figures.get(axis.key), axis) for axis in axes]
            rows.append([tool.name, *cells])
    return rows


def _measured(result: Result, axes: Sequence[Axis]) -> list[Axis]:
    """Return the axes that have a figure: older results have no anonymous memory."""
    return [axis for axis in axes if any(axis.key in tool.figures for tool in result.tools)]


def format_ratios(result: Result) -> str:
    """Return the ratios of one scale for a terminal."""
    axes = SEMANTIC_AXES if result.corpus.name == "vectors" else AXES
    rows = ratio_rows(result, axes)
    rows = [list(row) for row in zip(*rows, strict=True)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    notes = [f"{tool.name}: {note}" for tool in result.tools for note in tool.notes]
    return "\n".join([_heading(result), *lines, *notes])


def draw_growth(results: Sequence[Result]) -> str:
    """Plot how figures grow with the size of the transcripts."""
    names = list(dict.fromkeys(tool.name for result in results for tool in result.tools))
    panels = [
        Panel(_BY_KEY[key].title, _BY_KEY[key].unit, _make_series(results, names, key))
        for key in _PLOTTED
    ]
    sizes = [format_amount(result.corpus.size, "B") for result in results]
    description = f"Logarithmic, median, {', '.join(sizes)} of transcripts; lower is better."
    return draw("How ccgrep and others grow with the transcripts", description, panels, sizes)


def _make_series(results: Sequence[Result], names: Sequence[str], key: str) -> list[Series]:
    return [Series(name, at, _points(results, name, key)) for at, name in enumerate(names)]


def _points(results: Sequence[Result], name: str, key: str) -> list[tuple[float, float]]:
    return [
        (result.corpus.size, tool.figures[key].p50)
        for result in results
        for tool in result.tools
        if tool.name == name and key in tool.figures
    ]


def _of_generated_sizes(results: Sequence[Result]) -> list[Result]:
    """Return the scales that differ in size only, without the one of a million small turns."""
    return [result for result in results if re.fullmatch(r"[\d.]+", result.scale)]


def _format_ratio(tool: Tool, ours: Tool | None, axis: Axis) -> str:
    figure = tool.figures.get(axis.key)
    if figure is None:
        return ""
    own = ours.figures.get(axis.key) if ours is not None and ours is not tool else None
    if own is None or not own.p50:
        return format_amount(figure.p50, axis.unit)
    value = figure.p50 / own.p50
    return f"× {value:,.0f}" if value >= 10 else f"× {value:.2g}"


def _format_figure(figure: Figure | None, axis: Axis) -> str:
    if figure is None:
        return "–"
    median = format_amount(figure.p50, axis.unit)
    if figure.runs == 1:
        return median
    return f"{median}, {format_amount(figure.p95, axis.unit)} ({figure.runs})"


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
    size = format_amount(corpus.size, "B")
    turns = f", {corpus.turns:,} turns" if corpus.turns else ""
    return f"{size} of transcripts: {corpus.files:,} files{turns}"


def _sections(results: Sequence[Result], table: Callable[[Result], list[Row]]) -> str:
    of_transcripts = [result for result in results if result.corpus.name != "vectors"]
    parts = [f"### {_heading(result)}\n\n{_markdown(table(result))}\n" for result in of_transcripts]
    return "\n".join(parts)


def _semantic_sections(results: Sequence[Result]) -> str:
    parts = []
    for result in results:
        if result.corpus.name == "vectors":
            ratios, figures = ratio_rows(result, SEMANTIC_AXES), figure_rows(result, SEMANTIC_AXES)
            rows = [[*ratio, figure[1]] for ratio, figure in zip(ratios, figures, strict=True)]
            rows[0][-1] = "query: median, 95 % (runs)"
            parts.append(f"### {_heading(result)}\n\n{_markdown(rows)}\n")
    return "\n".join(parts)


def _list_machines(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        machine = result.machine
        cold = f" Cold: {result.cold}." if result.cold else ""
        memory = format_amount(machine.memory_bytes, "B")
        lines.append(
            f"- {_heading(result)}: {result.date}, {machine.cpu}, {machine.cores} cores, "
            f"{memory} of memory, {machine.system}, Python {machine.python}; "
            f"{_describe_load(result)}.{cold}"
        )
    return "\n".join(lines) + "\n"


def _describe_load(result: Result) -> str:
    """Describe other load on the machine, which makes ratios less certain."""
    if result.load is None:
        return "load not recorded"
    is_quiet = result.load <= result.machine.cores / 2
    return f"load {result.load:g} at the start" + ("" if is_quiet else ", a **busy machine**")


def _tools_table(results: Sequence[Result]) -> str:
    rows = [["tool", "version", "answers with", *KINDS, "notes"]]
    of_transcripts = [result for result in results if result.corpus.name != "vectors"]
    latest = {tool.name: tool for result in of_transcripts for tool in result.tools}
    for name, tool in latest.items():
        notes = [
            f"{_heading(result).partition(':')[0]}: {note}"
            for result in of_transcripts
            for other in result.tools
            for note in other.notes
            if other.name == name
        ]
        covered = ["✓" if kind in tool.covers else "" for kind in KINDS]
        note_text = "; ".join(_escape_note(note) for note in notes)
        rows.append([name, tool.version or "–", tool.answers, *covered, note_text])
    lines = [rows[0], ["---", "---", "---", *(":---:" for _ in KINDS), "---"], *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def _escape_note(note: str) -> str:
    """Return a note as one line that fits into a table."""
    return " ".join(note.replace("|", "\\|").replace("<", "&lt;").split())[:160]


def _readme_table(results: Sequence[Result]) -> str:
    """Return the scale next to a gigabyte, which daily users of agents have."""
    candidates = _of_generated_sizes(results)
    if not candidates:
        return ""
    result = min(candidates, key=lambda each: abs(each.corpus.size - 10**9))
    axes = [_BY_KEY[key] for key in _IN_README]
    machine = f"{result.machine.cpu}, {result.machine.cores} cores"
    return (
        f"{_heading(result)}; {machine}, {_describe_load(result)}, {result.date}. "
        f"The other rows are multiples of ccgrep's: × 4 takes four times as much, × 0.5 half.\n\n"
        f"{_markdown(ratio_rows(result, axes))}\n"
    )


if __name__ == "__main__":
    main()
