"""Runs a command and watches it: wall time, and the peak memory of its whole process tree."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_S = 0.02


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_bytes: int
    output: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Runs `command` to its end; raises when it fails."""
    started = time.monotonic()
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    peak = 0
    is_done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_done.wait(_SAMPLE_S):
            peak = max(peak, _tree_bytes(child.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, errors = child.communicate()
    seconds = time.monotonic() - started
    is_done.set()
    watcher.join()
    if child.returncode:
        raise RuntimeError(f"{command} failed: {errors}")
    return Run(seconds, peak, output + errors)


def best(command: Sequence[str], environment: Mapping[str, str] | None, times: int) -> Run:
    """The fastest of several runs: what the machine can do when it is not disturbed."""
    return min((run(command, environment) for _ in range(times)), key=lambda r: r.seconds)


def resident_bytes(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _tree_bytes(pid: int) -> int:
    """Resident bytes of a process and its descendants; shared pages count each time."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        own = resident_bytes(pid)
        below = [int(child) for child in children.read_text().split()]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0
    return own + sum(map(_tree_bytes, below))
