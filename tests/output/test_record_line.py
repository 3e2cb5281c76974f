"""Every hit is one record line, whatever its turn contains, and `show` accepts its first fields."""

import contextlib
import io
import os
import re
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
from ccgrep.output.record_line import join_parts
from ccgrep.output.style import Style
from ccgrep.search.snippet import SnippetPart
from tests.helpers import scale
from tests.helpers.attacks import ATTACKS, BENIGN, acting
from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, need, put_on_path

RECORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}:[0-9]+:[01]\.[0-9]{3}:.*")
TURNS = 100
EXAMPLES = scale.of(3, 200)

pieces = st.one_of(
    st.text(max_size=20),
    st.sampled_from([text for name, text in ATTACKS.items() if "surrogate" not in name]),
    st.sampled_from(BENIGN),
    st.sampled_from(["\n", "\r\n", "\0", "::", ":0:1.000:", "\u2028", "\x85", "\v", "\f", "--\n"]),
)
texts = st.lists(pieces, max_size=6).map("".join)


def run_here(home: Home, *arguments: str, stdin: str = "") -> str:
    """Run the command in this process and return its output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    stdin_file = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with (
        patch.dict(os.environ, home.environment),
        patch.object(sys, "stdin", stdin_file),
        contextlib.redirect_stdout(out),
    ):
        assert main(list(arguments)) == 0
    out.seek(0)
    return out.read()


def test_hit_is_one_line_that_leads_to_its_turn(figure: Callable[[str], None]) -> None:
    followed = 0

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
    )
    @given(st.lists(texts, min_size=TURNS, max_size=TURNS))
    def follow(said: list[str]) -> None:
        nonlocal followed
        with tempfile.TemporaryDirectory() as directory:
            followed += assert_records_lead_to_turns(Home(Path(directory) / "home"), said)

    follow()
    assert followed >= TURNS * EXAMPLES
    figure(f"records: {followed} hostile turns, as many lines that are records and lead there")


def assert_records_lead_to_turns(home: Home, said: list[str]) -> int:
    file = home.claude()
    for number, text in enumerate(said):
        file.turn(f"recordword n{number}n {text}", text or "nothing", "echo", text)
    file.write()
    home.index()
    lines = run_here(home, "recordword", "-n0", "--no-refresh").split("\n")
    assert lines.pop() == ""
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert len(lines) == len(said)
    assert acting("\n".join(lines)) == []
    assert run_here(home, "recordword", "-n0", "-0", "--no-refresh").split("\0")[:-1] == lines
    refs = [":".join(line.split(":")[:2]) for line in lines]
    shown = run_here(home, "show", "-", "--json", stdin="\n".join(refs)).splitlines()
    for ref, turn in zip(refs, shown, strict=True):
        assert f"recordword n{ref.split(':')[1]}n" in turn
    return len(refs)


def test_cut_snippet_ends_with_an_ellipsis() -> None:
    def joined(width: int, *texts: str) -> str:
        return join_parts([SnippetPart(text, False) for text in texts], width, Style())

    assert joined(7, "one two", " three") == joined(7, "one", " two three") == "one tw…"
    assert joined(7, "one two", " \n ", "") == joined(7, "one", " two") == "one two"
    assert joined(8, "全文", "検索", "x") == "全文検…"


def write_hostile_turns(home: Home, turns: int) -> None:
    file = home.claude()
    probes = [*ATTACKS.values(), *BENIGN]
    for number in range(turns):
        text = probes[number % len(probes)].encode("utf-8", "replace").decode()
        file.turn(f"recordword n{number}n {text}", "yes")
    file.write()


@pytest.mark.parametrize("end", ["\n", "\0"], ids=["lines", "NUL"])
def test_fzf_passes_records_through_unchanged(home: Home, end: str) -> None:
    need("fzf")
    write_hostile_turns(home, 100)
    options = ["-0"] if end == "\0" else []
    records = home.run("recordword", "-n0", *options).stdout
    assert records.count(end) == 100
    fzf = ["fzf", "--filter", "", "--delimiter", ":", "--nth", "4.."]
    fzf += ["--read0", "--print0"] if end == "\0" else []
    chosen = subprocess.run(fzf, input=records.encode(), capture_output=True, check=True)
    assert chosen.stdout.decode() == records


def test_records_chosen_in_fzf_lead_to_their_turns(
    home: Home,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    figure: Callable[[str], None],
) -> None:
    need("fzf", "tmux")
    put_on_path(home)
    write_hostile_turns(home, 100)
    home.index()
    chosen = tmp_path / "chosen"
    terminal = Terminal(home, tmp_path_factory.mktemp("t"))  # A socket needs a short path.
    try:
        terminal.type(
            "ccgrep -n0 --no-refresh recordword | fzf --multi --delimiter : --nth 4.. "
            f"--bind ctrl-a:select-all > {chosen}"
        )
        terminal.press("Enter")
        terminal.wait(lambda screen: "100/100" in screen)
        terminal.press("C-a")
        terminal.wait(lambda screen: "100/100 (100)" in screen)
        terminal.press("Enter")
        terminal.wait(lambda _: chosen.read_text().count("\n") == 100)
    finally:
        terminal.close()
    records = chosen.read_text().splitlines()
    assert sorted(records) == sorted(home.run("recordword", "-n0").stdout.splitlines())
    refs = [":".join(record.split(":")[:2]) for record in records]
    shown = run_here(home, "show", "-", "--json", stdin="\n".join(refs)).splitlines()
    assert all(f"n{r.split(':')[1]}n" in turn for r, turn in zip(refs, shown, strict=True))
    figure(f"records through fzf in tmux: {len(records)} chosen, {len(shown)} shown")
