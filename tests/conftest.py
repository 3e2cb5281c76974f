"""Fixtures; the environment of whoever runs the tests plays no part."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes the line that a suite says of itself; all of them are printed at the end of the run."""

    def say(line: str) -> None:
        request.node.user_properties.append(("figure", line))

    return say


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed")
    lines = [
        said for report in reports for name, said in report.user_properties if name == "figure"
    ]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(sorted(lines)))
