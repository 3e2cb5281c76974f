"""Work that takes longer than 0.3 seconds draws a progress bar on standard error."""

import pytest

from ccgrep.cli import progress
from ccgrep.ingest.report import Progress
from tests.helpers.clock import ManualClock


def test_bar_appears_after_a_moment_and_is_erased(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = ManualClock()
    monkeypatch.setattr(progress, "time", clock)
    bar = progress.shared_bar.__wrapped__()
    clock.sleep(0.29)
    bar(Progress("a", 1, 4, 100, 400))
    bar.count(1, 4, "counting")
    bar.close()
    assert capsys.readouterr().err == ""
    clock.sleep(0.02)
    bar(Progress("a", 2, 4, 200, 400))
    assert " 50%  2/4 files" in capsys.readouterr().err
    bar.close()
    assert capsys.readouterr().err == "\r\x1b[K"
