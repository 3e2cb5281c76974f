"""Draws one SVG of panels: lines on logarithmic axes, labelled at their ends.

It has no side effects: series in, text out. Colours follow the reader's light or dark mode.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 500, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 176, 34, 34
_LABEL_GAP = 13.5
_COLOURS = (
    "#d1495b", "#3b7dd8", "#2f9e6e", "#b7791f", "#8e63ce", "#0f8b9d",
    "#c2569b", "#7a8b2a", "#a0603a", "#5f6f94", "#6b8f71", "#9a7aa0",
)  # fmt: skip
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 13px; }
.tick { fill: #59636e; font-size: 11px; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.first { stroke-width: 3.5; font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .tick { fill: #9198a1; }
  .grid { stroke: #3d444d; }
}
"""


class Series(NamedTuple):
    """A line. `colour` is an index into the colours."""

    name: str
    colour: int
    points: list[tuple[float, float]]


class Panel(NamedTuple):
    title: str
    unit: str
    series: list[Series]


class _Scale(NamedTuple):
    """A logarithmic axis from `low` to `high`, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        span = math.log(self.high / self.low) or 1.0
        return self.start + (self.end - self.start) * math.log(value / self.low) / span


def draw(title: str, description: str, panels: Sequence[Panel], sizes: Sequence[str]) -> str:
    """Draw the panels, two per row. `sizes` are the labels of the x axis."""
    rows = math.ceil(len(panels) / 2)
    width, height = 2 * _WIDTH, rows * _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(description)}</desc>',
        f"<style>{_STYLE}</style>",
    ]
    for number, panel in enumerate(panels):
        x, y = number % 2 * _WIDTH, number // 2 * _HEIGHT
        parts.append(f'<g transform="translate({x} {y})">')
        parts += _draw_panel(panel, sizes)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _draw_panel(panel: Panel, sizes: Sequence[str]) -> list[str]:
    lines = [series for series in panel.series if series.points]
    parts = [f'<text class="title" x="{_LEFT}" y="18">{escape(panel.title)}</text>']
    if not lines:
        return parts
    xs = sorted({x for series in lines for x, _ in series.points})
    ys = [y for series in lines for _, y in series.points]
    across = _Scale(xs[0], xs[-1], _LEFT, _WIDTH - _RIGHT)
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    up = _Scale(low, max(high, low * 10), _HEIGHT - _BOTTOM, _TOP)
    parts += _draw_axes(across, up, xs, sizes, panel.unit)
    labels = _spread([up.at(series.points[-1][1]) for series in lines])
    for series, label in zip(lines, labels, strict=True):
        parts += _draw_line(series, across, up, label)
    return parts


def _draw_axes(
    across: _Scale, up: _Scale, xs: Sequence[float], sizes: Sequence[str], unit: str
) -> list[str]:
    parts = []
    for power in range(round(math.log10(up.low)), round(math.log10(up.high)) + 1):
        y = up.at(10.0**power)
        parts.append(f'<path class="grid" d="M{across.start} {y:.1f}H{across.end}"/>')
        label = _format_tick(10.0**power, unit)
        parts.append(
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for x, label in zip(xs, sizes, strict=False):
        parts.append(
            f'<text class="tick" x="{across.at(x):.1f}" y="{_HEIGHT - 14}" '
            f'text-anchor="middle">{escape(label)}</text>'
        )
    return parts


def _draw_line(series: Series, across: _Scale, up: _Scale, label_y: float) -> list[str]:
    colour = _COLOURS[series.colour % len(_COLOURS)]
    rank = ' class="first"' if series.colour == 0 else ""
    points = [(across.at(x), up.at(y)) for x, y in series.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    label_x = across.end + 22
    return [
        f'<polyline{rank} points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>',
        *dots,
        f'<path d="M{x + 4:.1f} {y:.1f}L{label_x - 3:.1f} {label_y:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="0.8" stroke-dasharray="2 2"/>',
        f'<text{rank} x="{label_x:.1f}" y="{label_y + 4:.1f}" '
        f'style="fill: {colour}; stroke-width: 0">{escape(series.name)}</text>',
    ]


def _spread(heights: Sequence[float]) -> list[float]:
    """Move heights apart just enough that labels do not overlap."""
    order = sorted(range(len(heights)), key=lambda number: heights[number])
    placed = [heights[number] for number in order]
    lowest = _HEIGHT - _BOTTOM
    for number in range(1, len(placed)):
        placed[number] = max(placed[number], placed[number - 1] + _LABEL_GAP)
    if placed and placed[-1] > lowest:
        placed[-1] = lowest
        for number in range(len(placed) - 2, -1, -1):
            placed[number] = min(placed[number], placed[number + 1] - _LABEL_GAP)
    moved = dict(zip(order, placed, strict=True))
    return [moved[number] for number in range(len(heights))]


def _format_tick(value: float, unit: str) -> str:
    """Format a power of ten, with `1,000 s` rather than `16.7 min`."""
    return f"{value:,.0f} s" if unit == "s" and value >= 1 else format_amount(value, unit)


def format_amount(value: float, unit: str) -> str:
    """Format seconds or bytes with three digits at most."""
    steps = (
        ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
        if unit == "B"
        else ((60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))
    )
    size, name = next(((s, n) for s, n in steps if value >= s * 0.9995), steps[-1])
    scaled = value / size
    digits = max(0, 2 - math.floor(math.log10(scaled))) if scaled > 0 else 0
    text = f"{scaled:.{min(digits, 2)}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {name}"
