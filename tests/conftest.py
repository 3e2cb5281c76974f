"""Shared fixtures, the Hypothesis profiles and the figures printed at the end of a run."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from ccgrep.semantic import ENVIRONMENT
from tests.helpers import scale
from tests.helpers.homes import Home

# A shell starts background jobs with SIGINT ignored, which commands under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Before any test imports numpy: threads of OpenBLAS spin when other processes have the cores.
os.environ.update(ENVIRONMENT)

# The short run tries the same examples each time, so a failure is never chance.
settings.register_profile("short", derandomize=True, database=None, deadline=None, max_examples=25)
settings.register_profile("long", print_blob=True, deadline=None)
settings.load_profile("long" if scale.IS_LONG else "short")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that records a line for the end of the run."""

    def record(line: str) -> None:
        request.node.user_properties.append(("figure", line))

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed")
    lines = [line for report in reports for key, line in report.user_properties if key == "figure"]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(sorted(lines)))
