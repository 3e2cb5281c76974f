"""Fixtures; the environment of whoever runs the tests plays no part."""

from pathlib import Path

import pytest

from tests.homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")
