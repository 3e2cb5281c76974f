"""Runs commands and watches them: wall time, first byte, the peak memory of the process tree.

What is compared takes turns, so that what else the machine does hits all alike.
"""

import math
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

T = TypeVar("T")

_SAMPLE_S = 0.02
_LEAST_RUNS = 3


class FailedError(RuntimeError):
    """A command ended badly, or not in time."""


class Memory(NamedTuple):
    """Bytes. The kernel can reclaim pages of mapped files at any time: they are not anonymous."""

    resident: int
    anonymous: int

    def __str__(self) -> str:
        return f"{self.anonymous / 1e6:.0f} MB ({self.resident / 1e6:.0f} resident)"


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: Memory  # of all its processes together
    output: str
    first_s: float = 0.0


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    codes: Collection[int] = (0,),
) -> Run:
    """Runs `command` to its end; raises when it fails, or takes longer than it may."""
    with tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        child = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        with _Watch(child.pid) as watch:
            try:
                first_s, output = _read(child, started, timeout_s)
            except subprocess.TimeoutExpired:
                raise FailedError(f"took more than {timeout_s:.0f} s") from None
            finally:
                seconds = time.monotonic() - started
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        said = _text(errors)
    if child.returncode not in codes:
        raise FailedError(f"{' '.join(command)} failed: {said.strip()[-500:]}")
    text = output.decode("utf-8", "replace") + said
    return Run(seconds, watch.peak, text, first_s)


def _read(
    child: subprocess.Popen[bytes], started: float, timeout_s: float | None
) -> tuple[float, bytes]:
    """When the first byte came, and all of them."""
    assert child.stdout is not None
    select.select([child.stdout], [], [], timeout_s)
    first_s = time.monotonic() - started
    left = None if timeout_s is None else max(timeout_s - first_s, 0)
    return first_s, child.communicate(timeout=left)[0]


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


class _Watch:
    """Samples the memory of a process tree."""

    def __init__(self, pid: int) -> None:
        self.peak = Memory(0, 0)
        self._pid = pid
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> "_Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._is_done.wait(_SAMPLE_S):
            self.peak = Memory(*map(max, zip(self.peak, tree_memory(self._pid), strict=True)))


def best(command: Sequence[str], environment: Mapping[str, str] | None, times: int) -> Run:
    """The fastest of several runs: what the machine can do when it is not disturbed."""
    return min((run(command, environment) for _ in range(times)), key=lambda r: r.seconds)


def interleaved(
    cases: Mapping[str, Callable[[], T | None]], runs: int, budget_s: float = math.inf
) -> dict[str, list[T]]:
    """Each in turn, once for warmth and then `runs` times.

    One that gives nothing gets no further turn, nor one that has had its `budget_s`.
    """
    found: dict[str, list[T]] = {name: [] for name in cases}
    spent = dict.fromkeys(cases, 0.0)
    going = dict(cases)
    for number in range(runs + 1):
        for name, case in list(going.items()):
            begun = time.monotonic()
            one = case()
            spent[name] += time.monotonic() - begun
            if one is not None and number:
                found[name].append(one)
            is_enough = spent[name] >= budget_s and len(found[name]) >= _LEAST_RUNS
            if one is None or is_enough:
                del going[name]
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The least of `values` that so large a share of them does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def memory(pid: int) -> Memory:
    """Return the memory of a process in bytes; Linux only. Raises OSError if it has ended."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file)
    sizes = (int(fields.get(name, "0 kB").split()[0]) * 1024 for name in ("VmRSS", "RssAnon"))
    return Memory(*sizes)


def tree_memory(pid: int) -> Memory:
    """Return the memory of a process and its descendants; shared pages count several times."""
    try:
        own = memory(pid)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return Memory(0, 0)
    trees = [own, *(tree_memory(int(child)) for child in children)]
    return Memory(*map(sum, zip(*trees, strict=True)))
