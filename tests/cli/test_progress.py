"""Work that takes longer than 0.3 seconds draws a progress bar on standard error."""

import pytest

from ccgrep.cli import progress
from ccgrep.ingest.report import Progress
from tests.helpers.clock import ManualClock
from tests.helpers.homes import Home
from tests.helpers.terminal import run_on_terminal

AT_ONCE = "from ccgrep.cli import progress; progress._DELAY_S = progress._REDRAW_S = -1"
"""Shows each step of the work, whatever the machine's speed."""


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


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("fsck", "objects checked"),
        ("fsck", "sessions checked"),
        ("fsck --repair", "objects checked"),
        ("gc", "sessions read"),
        ("forget first", "sessions compared"),
        ("forget first", "objects copied"),
        ("export first -o a.html", "turns written"),
        ("export first -o a.md", "turns written"),
        ("export first -o a.json", "sessions read"),
        ("secrets", "turns scanned"),
    ],
)
def test_long_work_shows_a_bar_on_a_terminal_and_erases_it(
    home: Home, command: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.directory)
    for name in ("first", "second"):
        file = home.claude(name=name)
        file.turn("a question", "an answer")
        file.write()
    home.index()
    output, code = run_on_terminal(home, *command.split(), setup=AT_ONCE)
    assert code == (1 if command == "secrets" else 0), output
    before, bar, after = output.rpartition("\r\x1b[K")
    assert label in before
    assert bar
    assert "█" not in after
    assert "░" not in after
    assert label not in home.run(*command.split()).stderr


def test_export_to_the_terminal_has_no_bar(home: Home) -> None:
    file = home.claude(name="first")
    file.turn("a question", "an answer")
    file.write()
    home.index()
    output, _ = run_on_terminal(home, "export", "first", setup=AT_ONCE)
    assert "turns written" not in output
