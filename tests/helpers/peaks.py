"""Measures the peak memory of a command and every process that it starts."""

import subprocess
import sys
import threading
from typing import NamedTuple

import pytest

from bench.measure import Memory, tree_memory
from tests.helpers.homes import Home

_SAMPLE_S = 0.01
_TWO_CORES = "import os; os.cpu_count = lambda: 2; from ccgrep.cli import entry; entry()"
"""Starts `ccgrep` with as many workers on any machine."""


class Peak(NamedTuple):
    done: subprocess.CompletedProcess[str]
    memory: Memory  # the highest sums over all its processes, each of its own moment

    @property
    def anonymous_mb(self) -> float:
        return self.memory.anonymous / 1024 / 1024

    def __str__(self) -> str:
        resident = self.memory.resident / 1024 / 1024
        return f"{self.anonymous_mb:.0f} MB anonymous ({resident:.0f} MB resident)"


def run_measured(home: Home, *arguments: str, timeout_s: float = 3600) -> Peak:
    """Run the command and sample its memory, which only Linux reports."""
    if sys.platform != "linux":
        pytest.skip("reads the memory of processes from /proc")
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", _TWO_CORES, *arguments],
        env=home.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = Memory(0, 0)
    is_over = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not is_over.wait(_SAMPLE_S):
            peak = Memory(*map(max, zip(peak, tree_memory(child.pid), strict=True)))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        out, err = child.communicate(timeout=timeout_s)
    finally:
        is_over.set()
        sampler.join()
    done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
    return Peak(done, peak)
