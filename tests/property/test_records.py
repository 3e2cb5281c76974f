"""One hit is one line, whatever the turn holds, and the line leads back to the turn."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ccgrep.cli import main
from tests import scale
from tests.attacks import ATTACKS, BENIGN, acting
from tests.homes import Home

RECORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{7,63}:[0-9]+:[01]\.[0-9]{3}:.*")
TURNS = 100
EXAMPLES = scale.of(5, 200)
_seen = {"turns": 0, "lines": 0, "shown": 0}

pieces = st.one_of(
    st.text(max_size=20),
    st.sampled_from([text for name, text in ATTACKS.items() if "surrogate" not in name]),
    st.sampled_from(BENIGN),
    st.sampled_from(["\n", "\r\n", "\0", "::", ":0:1.000:", "\u2028", "\x85", "\v", "\f", "--\n"]),
)
texts = st.lists(pieces, max_size=6).map("".join)


def ran(home: Home, *arguments: str, typed: str = "") -> str:
    """What the command prints, in this process."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    given = io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8")
    with (
        patch.dict(os.environ, home.environment),
        patch.object(sys, "stdin", given),
        contextlib.redirect_stdout(out),
    ):
        assert main(list(arguments)) == 0
    out.seek(0)
    return out.read()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
)
@given(st.lists(texts, min_size=TURNS, max_size=TURNS))
def test_a_hit_is_one_line_that_leads_to_its_turn(said: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory) / "home")
        file = home.claude()
        for number, text in enumerate(said):
            file.turn(f"recordword n{number}n {text}", text or "nothing", "echo", text)
        file.write()
        home.index()
        lines = ran(home, "recordword", "-n0", "--no-refresh").split("\n")
        assert lines.pop() == ""
        assert [line for line in lines if not RECORD.fullmatch(line)] == []
        assert len(lines) == TURNS
        assert acting("\n".join(lines)) == []
        assert ran(home, "recordword", "-n0", "-0", "--no-refresh").split("\0")[:-1] == lines
        refs = [":".join(line.split(":")[:2]) for line in lines]
        shown = ran(home, "show", "-", "--json", typed="\n".join(refs)).splitlines()
        for ref, turn in zip(refs, shown, strict=True):
            assert f"recordword n{ref.split(':')[1]}n" in turn
            _seen["shown"] += 1
        _seen["turns"] += TURNS
        _seen["lines"] += len(lines)


def test_every_turn_was_one_line(figure: Callable[[str], None]) -> None:
    if not _seen["turns"]:
        pytest.skip("says what the test before it saw")
    assert _seen["lines"] == _seen["turns"]
    figure(
        f"records: {_seen['turns']} hostile turns, {_seen['lines']} lines that are records, "
        f"{_seen['shown']} followed to their turn"
    )


@pytest.mark.parametrize("end", ["\n", "\0"], ids=["lines", "NUL"])
def test_records_go_through_fzf_as_they_are(home: Home, end: str) -> None:
    if shutil.which("fzf") is None:
        pytest.skip("fzf is not installed")
    file = home.claude()
    for number in range(100):
        text = [*ATTACKS.values(), *BENIGN][number % (len(ATTACKS) + len(BENIGN))]
        file.turn(f"recordword {number} {text.encode('utf-8', 'replace').decode()}", "yes")
    file.write()
    options = ["-0"] if end == "\0" else []
    made = home.run("recordword", "-n0", *options).stdout
    assert made.count(end) == 100
    fzf = ["fzf", "--filter", "", "--delimiter", ":", "--nth", "4.."]
    fzf += ["--read0", "--print0"] if end == "\0" else []
    chosen = subprocess.run(fzf, input=made.encode(), capture_output=True, check=True)
    assert chosen.stdout.decode() == made
