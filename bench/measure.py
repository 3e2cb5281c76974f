"""Runs commands and measures wall time, time to first byte, and peak memory of the process tree.

Commands that are compared take turns, so other load on the machine affects all of them alike.
Memory comes from /proc, so it is measured on Linux only.
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
from typing import NamedTuple, TypeVar

T = TypeVar("T")

_SAMPLE_S = 0.02
_MIN_RUNS = 3


class FailedError(RuntimeError):
    """A command failed or took too long."""


class Memory(NamedTuple):
    """Memory in bytes, 0 if not measured. Anonymous memory excludes pages of mapped files, which
    the kernel can reclaim at any time."""

    resident: int
    anonymous: int

    def __str__(self) -> str:
        if not self.resident:
            return "not measured"
        return f"{self.anonymous / 1e6:.0f} MB ({self.resident / 1e6:.0f} resident)"


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: Memory  # of all processes together
    output: str
    first_s: float = 0.0


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    codes: Collection[int] = (0,),
) -> Run:
    """Run a command. Raise FailedError if its exit code is not in `codes`, or after `timeout_s`."""
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
        with _MemorySampler(child.pid) as sampler:
            try:
                first_s, output = _read_output(child, started, timeout_s)
            except subprocess.TimeoutExpired:
                raise FailedError(f"took more than {timeout_s:.0f} s") from None
            finally:
                seconds = time.monotonic() - started
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        errors.seek(0)
        error_text = errors.read().decode("utf-8", "replace")
    if child.returncode not in codes:
        raise FailedError(f"{' '.join(command)} failed: {error_text.strip()[-500:]}")
    text = output.decode("utf-8", "replace") + error_text
    return Run(seconds, sampler.peak, text, first_s)


def _read_output(
    child: subprocess.Popen[bytes], started: float, timeout_s: float | None
) -> tuple[float, bytes]:
    """Return the time to the first byte, and the whole output."""
    assert child.stdout is not None
    select.select([child.stdout], [], [], timeout_s)
    first_s = time.monotonic() - started
    left = None if timeout_s is None else max(timeout_s - first_s, 0)
    return first_s, child.communicate(timeout=left)[0]


class _MemorySampler:
    """Samples the memory of a process tree in a thread, at least once."""

    def __init__(self, pid: int) -> None:
        self.peak = Memory(0, 0)
        self._pid = pid
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> "_MemorySampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            self.peak = Memory(*map(max, zip(self.peak, tree_memory(self._pid), strict=True)))
            if self._is_done.wait(_SAMPLE_S):
                return


def run_best(command: Sequence[str], environment: Mapping[str, str] | None, times: int) -> Run:
    """Return the fastest of several runs, which other load on the machine disturbed least."""
    return min((run(command, environment) for _ in range(times)), key=lambda r: r.seconds)


def run_interleaved(
    cases: Mapping[str, Callable[[], T | None]], runs: int, budget_s: float = math.inf
) -> dict[str, list[T]]:
    """Run the cases in turn: once to warm up, and then `runs` times.

    A case that returns None is dropped, as is a case that has used up its `budget_s`.
    """
    results: dict[str, list[T]] = {name: [] for name in cases}
    seconds = dict.fromkeys(cases, 0.0)
    remaining = dict(cases)
    for number in range(runs + 1):
        for name, case in list(remaining.items()):
            started = time.monotonic()
            result = case()
            seconds[name] += time.monotonic() - started
            if result is not None and number:
                results[name].append(result)
            is_enough = seconds[name] >= budget_s and len(results[name]) >= _MIN_RUNS
            if result is None or is_enough:
                del remaining[name]
    return results


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least of `values` that at least this share of them does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def memory(pid: int) -> Memory:
    """Return the memory of a process. Raise OSError if it has ended, or without /proc."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file)
    sizes = (int(fields.get(name, "0 kB").split()[0]) * 1024 for name in ("VmRSS", "RssAnon"))
    return Memory(*sizes)


def tree_memory(pid: int) -> Memory:
    """Return the memory of a process and its descendants. Shared pages count several times."""
    try:
        own = memory(pid)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return Memory(0, 0)
    trees = [own, *(tree_memory(int(child)) for child in children)]
    return Memory(*map(sum, zip(*trees, strict=True)))
