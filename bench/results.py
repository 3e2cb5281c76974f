"""What a comparison found, as it is kept: one JSON file a scale, in `bench/results`.

A figure is the median, the 95th percentile and the number of runs; what is measured once has one
run. Seconds and bytes, nothing else.
"""

import os
import platform
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from bench.measure import percentile

RESULTS = Path(__file__).parent / "results"
OURS = "ccgrep"
_REST_S = 180

Unit = Literal["s", "B"]


class Axis(NamedTuple):
    """What is measured of every tool."""

    key: str
    title: str
    unit: Unit


AXES = (
    Axis("search", "search, a word said once", "s"),
    Axis("first_byte", "its first byte", "s"),
    Axis("common", "search, a frequent word", "s"),
    Axis("cold", "search, nothing cached", "s"),
    Axis("appended", "search after a turn was appended", "s"),
    Axis("no_op", "refresh, nothing changed", "s"),
    Axis("build", "first build", "s"),
    Axis("build_memory", "peak memory, build", "B"),
    Axis("build_anonymous", "of it anonymous", "B"),
    Axis("search_memory", "peak memory, search", "B"),
    Axis("search_anonymous", "of it anonymous", "B"),
    Axis("disk", "disk", "B"),
)
KINDS = ("prompts", "answers", "thinking", "tool input", "tool output", "sub-agents", "Codex")
"""Where a word may be."""
MEANING_AXES = (
    Axis("search", "query", "s"),
    Axis("search_memory", "peak memory", "B"),
    Axis("search_anonymous", "of it anonymous", "B"),
    Axis("disk", "disk", "B"),
)


class Figure(Struct, frozen=True, array_like=True):
    p50: float
    p95: float
    runs: int


class Tool(Struct):
    """One tool's figures, by the keys of `AXES`; and what kept it from having others.

    `answers` is what it prints, `covers` in which kinds of text it was seen to find a word.
    """

    name: str
    version: str
    answers: str
    covers: list[str] = []
    figures: dict[str, Figure] = {}
    notes: list[str] = []


class Machine(Struct, frozen=True):
    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str


class Corpus(Struct, frozen=True):
    """What was searched. `size` is what a plot has on its axis: bytes, or vectors."""

    name: str
    size: int
    files: int = 0
    turns: int = 0


class Result(Struct):
    """One scale."""

    scale: str
    date: str
    machine: Machine
    corpus: Corpus
    tools: list[Tool]
    is_complete: bool = False
    cold: str = ""  # how it was made sure that nothing is cached
    load: float | None = None  # how many processes wanted to run when it began


def figure(values: Sequence[float]) -> Figure:
    p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
    return Figure(float(f"{p50:.4g}"), float(f"{p95:.4g}"), len(values))


def machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    system = f"{platform.system()} {platform.release()}"
    return Machine(_cpu(), os.cpu_count() or 1, pages, system, platform.python_version())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def load_at_rest() -> float:
    """How many processes want to run. What was measured just before still counts among them for a
    while, which is waited for."""
    deadline = time.monotonic() + _REST_S
    while os.getloadavg()[0] > (os.cpu_count() or 1) / 4 and time.monotonic() < deadline:
        time.sleep(1)
    return round(os.getloadavg()[0], 1)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def save(result: Result, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.format(msgspec.json.encode(result), indent=1)
    fresh = directory / f".{result.scale}.json"
    fresh.write_bytes(encoded + b"\n")
    fresh.replace(directory / f"{result.scale}.json")


def read_result(path: Path) -> Result:
    return msgspec.json.decode(path.read_bytes(), type=Result)


def read_results(directory: Path = RESULTS) -> list[Result]:
    """Every scale, the smallest first."""
    found = [read_result(path) for path in directory.glob("*.json")]
    return sorted(found, key=lambda result: (result.corpus.size, result.scale))
