"""What the generators of Claude Code and Codex transcripts share: families, time, ids and lines.

A family is the unit of work. Its random numbers depend on the seed and its own index only, so any
process can write it at any time.
"""

import base64
import itertools
import os
import random
import string
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.text import TextWriter

Record = dict[str, object]

_NEWEST = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
_WINDOW_S = 90 * 86_400
_BASE62 = string.digits + string.ascii_letters


class Summary(msgspec.Struct, frozen=True):
    """Counts of what was written. `turns` counts distinct turns."""

    files: int
    bytes: int
    turns: int


class Family(msgspec.Struct, frozen=True):
    """A main session or rollout, with the files that belong to it."""

    source: str
    index: int
    project: int
    age: float  # from 0, the newest, to 1
    turns: int
    max_bytes: int
    is_small: bool
    agent_bytes: tuple[int, ...] = ()
    is_forked: bool = False

    @property
    def start(self) -> float:
        return _NEWEST - self.age * _WINDOW_S

    def rng(self, seed: int) -> random.Random:
        return random.Random(f"{seed}:{self.source}:{self.index}")

    def turn_ends(self, rng: random.Random) -> Iterator[int]:
        """Yield the intended size of the file after each turn."""
        return itertools.accumulate(split(self.max_bytes, random_weights(rng, self.turns, 0.8)))


def add_up(summaries: Iterable[Summary]) -> Summary:
    files, sizes, turns = zip(*map(msgspec.structs.astuple, summaries), strict=True)
    return Summary(sum(files), sum(sizes), sum(turns))


def split(whole: int, weights: Sequence[float]) -> list[int]:
    """Divide a whole number in proportion to the weights. The parts add up to it."""
    scale = whole / (sum(weights) or 1.0)
    bounds = [round(scale * upto) for upto in itertools.accumulate(weights)]
    return [upper - lower for lower, upper in zip([0, *bounds], bounds, strict=False)]


def random_weights(rng: random.Random, count: int, sigma: float) -> list[float]:
    return [rng.lognormvariate(0, sigma) for _ in range(count)]


class Transcript:
    """The lines of a transcript. `now` is the time of the next one."""

    def __init__(self, path: Path, writer: TextWriter, now: float) -> None:
        self.path = path
        self.writer = writer
        self.rng = writer.rng
        self.now = now
        self.lines: list[bytes] = []
        self.size = 0
        self.turns = 0

    def wait(self, least_s: float, most_s: float) -> None:
        self.now = min(self.now + self.rng.uniform(least_s, most_s), _NEWEST)

    def stamp(self) -> str:
        text = datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds")
        return text[:-6] + "Z"

    def token(self, prefix: str, length: int = 22) -> str:
        return prefix + "".join(self.rng.choices(_BASE62, k=length))

    def noise(self, size: int) -> str:
        """Return random base64, as in signatures, images and encrypted reasoning."""
        return base64.b64encode(self.rng.randbytes(max(3, size * 3 // 4))).decode()

    def add_line(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line) + 1

    def add(self, **record: object) -> None:
        self.add_line(msgspec.json.encode(record))

    def save(self) -> Summary:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"\n".join(self.lines) + b"\n")
        os.utime(self.path, (self.now, self.now))
        return Summary(1, self.size, self.turns)
