"""Clocks that make tests independent of the time: one for commands, one that a test advances."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

_CODE = """
import time
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + {shift_s}
time.time_ns = lambda: _time_ns() + {shift_s} * 10**9
"""


def shift_clock(environment: Mapping[str, str], directory: Path, shift_s: int) -> dict[str, str]:
    """Return an environment in which Python's clock is ahead by `shift_s` seconds."""
    directory.mkdir(exist_ok=True)
    (directory / "sitecustomize.py").write_text(_CODE.format(shift_s=shift_s), encoding="utf-8")
    path = os.pathsep.join([str(directory), environment["PYTHONPATH"]])
    return {**environment, "PYTHONPATH": path}


def set_clock(environment: Mapping[str, str], directory: Path, now_s: int) -> dict[str, str]:
    """Return an environment in which it is `now_s` now."""
    return shift_clock(environment, directory, now_s - int(time.time()))


class ManualClock:
    """Stands in for the module `time`. Only `sleep` advances it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
