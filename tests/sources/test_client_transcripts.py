"""Transcripts that the real clients wrote for tests/clients, shortened by its `distill`."""

from pathlib import Path

import pytest

from tests.clients import archive
from tests.clients.compare import compare
from tests.helpers.homes import Home


class ClientHome(Home):
    """A home with Claude Code's temporary directory in it."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "CLAUDE_CODE_TMPDIR": str(self.directory / "tmp")}


@pytest.mark.parametrize("name", archive.read_outcomes())
def test_ccgrep_reports_what_was_scripted(name: str, tmp_path: Path) -> None:
    outcome = archive.read_outcomes()[name]
    home = ClientHome(tmp_path)
    archive.unpack(outcome, home.directory)
    home.index()
    assert compare(outcome, home.json) == []
    assert home.json("status")["unknown_types"] == {}
