"""How much memory and time a command takes, with every process that it starts."""

import resource
import subprocess
import sys
import threading
from typing import NamedTuple

from tests.helpers.homes import Home


class Peak(NamedTuple):
    done: subprocess.CompletedProcess[str]
    megabytes: float
    seconds: float  # of processors, which others on the machine do not change


def run_measured(home: Home, *arguments: str, timeout_s: float = 3600) -> Peak:
    """Runs the command; the peak is the sum of what its living processes had at most."""
    before = _seconds()
    child = subprocess.Popen(
        [sys.executable, "-m", "ccgrep", *arguments],
        env=home.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = 0
    is_over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.02):
            peak = max(peak, sum(map(_high_water, _family(child.pid))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        out, err = child.communicate(timeout=timeout_s)
    finally:
        is_over.set()
        watcher.join()
    done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
    return Peak(done, peak / 1024, _seconds() - before)


def _seconds() -> float:
    """The time that children who have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(one) for one in file.read().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _high_water(pid: int) -> int:
    """The most that a process had in memory so far, in kilobytes."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            lines = [line for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(lines[0].split()[1]) if lines else 0
