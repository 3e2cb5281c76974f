"""The results of a comparison, kept in `bench/results` as one JSON file per scale.

A figure is the median, the 95th percentile and the number of runs, in seconds or bytes.
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
_IDLE_TIMEOUT_S = 180

Unit = Literal["s", "B"]


class Axis(NamedTuple):
    """A quantity that is measured for every tool."""

    key: str
    title: str
    unit: Unit


AXES = (
    Axis("search", "search, rare word", "s"),
    Axis("first_byte", "search, first byte", "s"),
    Axis("common", "search, frequent word", "s"),
    Axis("cold", "search, cold caches", "s"),
    Axis("appended", "search after an append", "s"),
    Axis("no_op", "refresh, nothing new", "s"),
    Axis("build", "first build", "s"),
    Axis("build_memory", "peak memory, build", "B"),
    Axis("build_anonymous", "anonymous memory, build", "B"),
    Axis("search_memory", "peak memory, search", "B"),
    Axis("search_anonymous", "anonymous memory, search", "B"),
    Axis("disk", "disk", "B"),
)
KINDS = ("prompts", "answers", "thinking", "tool input", "tool output", "sub-agents", "Codex")
"""The kinds of text in which a tool may find a word."""
SEMANTIC_AXES = (
    Axis("search", "query", "s"),
    Axis("search_memory", "peak memory", "B"),
    Axis("search_anonymous", "anonymous memory", "B"),
    Axis("disk", "disk", "B"),
)


class Figure(Struct, frozen=True, array_like=True):
    p50: float
    p95: float
    runs: int


class Tool(Struct):
    """A tool's figures by the keys of `AXES`, and notes on why others are missing.

    `answers` describes what it prints. `covers` has the kinds of text in which it found a word.
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
    """What was searched. `size` counts bytes of transcripts, or vectors."""

    name: str
    size: int
    files: int = 0
    turns: int = 0


class Result(Struct):
    """The results of one scale."""

    scale: str
    date: str
    machine: Machine
    corpus: Corpus
    tools: list[Tool]
    is_complete: bool = False
    cold: str = ""  # how the caches were emptied
    load: float | None = None  # the load average before the first measurement


def make_figure(values: Sequence[float]) -> Figure:
    p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
    return Figure(float(f"{p50:.4g}"), float(f"{p95:.4g}"), len(values))


def describe_machine() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    system = f"{platform.system()} {platform.release()}"
    return Machine(_cpu_name(), os.cpu_count() or 1, pages, system, platform.python_version())


def _cpu_name() -> str:
    """Return the model name on Linux, and the architecture elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def wait_for_idle() -> float:
    """Return the load average, once what was measured before no longer contributes to it."""
    deadline = time.monotonic() + _IDLE_TIMEOUT_S
    while os.getloadavg()[0] > (os.cpu_count() or 1) / 4 and time.monotonic() < deadline:
        time.sleep(1)
    return round(os.getloadavg()[0], 1)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def save(result: Result, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.format(msgspec.json.encode(result), indent=1)
    temporary = directory / f".{result.scale}.json"
    temporary.write_bytes(encoded + b"\n")
    temporary.replace(directory / f"{result.scale}.json")


def read_result(path: Path) -> Result:
    return msgspec.json.decode(path.read_bytes(), type=Result)


def read_results(directory: Path = RESULTS) -> list[Result]:
    """Return the results of every scale, the smallest first."""
    results = [read_result(path) for path in directory.glob("*.json")]
    return sorted(results, key=lambda result: (result.corpus.size, result.scale))
