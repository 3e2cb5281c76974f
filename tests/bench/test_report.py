"""Tables and plots are made of results alone, and the documents are what the results make."""

import re
import select
import sys
import threading
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import measure, plot, report
from bench.results import Corpus, Figure, Machine, Result, Tool, figure, read_results, save

ROOT = Path(__file__).parents[2]
MACHINE = Machine("a processor", 2, 8_000_000_000, "Linux 6", "3.11")
FLOATS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


def result(scale: str = "1", size: int = 10**9, **figures: float) -> Result:
    ours = Tool("ccgrep", "1", "turns", figures={"search": Figure(0.05, 0.06, 50)})
    other = {key: Figure(value, value, 3) for key, value in figures.items()}
    tools = [ours, Tool("grep", "3.8", "files", ["prompts"], other, ["a | note\n<b>"])]
    return Result(scale, "2026-11-16", MACHINE, Corpus("transcripts", size, 10, 20), tools)


@pytest.mark.parametrize("path", [report.PAGE, report.PLOT, report.README])
def test_documents_are_what_the_results_make(path: str) -> None:
    made = report.files(read_results())[path]
    hint = f"{path} is not what bench/results make: run python -m bench.report"
    assert (ROOT / path).read_text(encoding="utf-8") == made, hint


def test_documents_have_every_place_for_figures() -> None:
    text = "".join((ROOT / path).read_text("utf-8") for path in (report.PAGE, report.README))
    places = set(re.findall(r"<!-- figures: (\w+) -->", text))
    assert places == {"machine", "ratios", "meaning", "tools", "figures", "short"}


def test_filling_in_again_changes_nothing() -> None:
    once = report.fill("a\n<!-- figures: short -->\n<!-- end of figures -->\nb", [result(search=1)])
    assert "× 20" in once
    assert report.fill(once, [result(search=1)]) == once


def test_ratios_are_to_ours_and_what_is_missing_is_a_dash() -> None:
    head, ours, grep = report.ratios(result(search=0.5, build=2.0))
    assert head[1:] == ["search, a word said once", "first build"]
    assert grep[1:] == ["× 10", "2 s"]
    assert ours[1:] == ["50 ms", "–"]


@pytest.mark.parametrize(
    ("load", "said"),
    [(None, "load not recorded"), (0.4, "load 0.4 when it began."), (9, "a **busy machine**.")],
)
def test_machine_that_was_busy_is_called_so(load: float | None, said: str) -> None:
    one = result(search=1)
    one.load = load
    made = report.fill("<!-- figures: machine -->\n<!-- end of figures -->", [one])
    assert said in made
    assert ("busy" in made) == (load == 9)


def test_notes_stay_in_their_cell() -> None:
    made = report.fill("<!-- figures: tools -->\n<!-- end of figures -->", [result(search=1)])
    assert r"a \| note &lt;b>" in made


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    for scale, size in (("10", 10**10), ("1", 10**9)):
        save(result(scale, size, search=1.5), tmp_path)
    assert read_results(tmp_path) == [result("1", search=1.5), result("10", 10**10, search=1.5)]


@given(FLOATS, st.floats(0.01, 1))
def test_percentile_is_the_least_that_covers_its_share(values: list[float], share: float) -> None:
    found = measure.percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-6
    assert sum(value < found for value in values) < share * len(values)


def test_figure_is_median_and_95th_of_its_runs() -> None:
    assert figure([float(number) for number in range(1, 101)]) == Figure(50, 95, 100)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0521, "s", "52.1 ms"), (0.9999, "s", "1 s"), (59.9, "s", "59.9 s"), (600, "s", "10 min"),
        (1e-6, "s", "1 µs"), (85_400_000, "B", "85.4 MB"), (1e9, "B", "1 GB"), (0, "B", "0 B"),
        (999, "B", "999 B"),
    ],
)  # fmt: skip
def test_amounts_are_said_in_three_digits(value: float, unit: str, shown: str) -> None:
    assert plot.amount(value, unit) == shown


@given(st.lists(st.lists(st.floats(1e-4, 1e4), max_size=3), min_size=1, max_size=12))
def test_plot_is_well_formed_and_no_labels_overlap(lines: list[list[float]]) -> None:
    series = [
        plot.Series(f"<{at}>", at, [(10.0**x, y) for x, y in enumerate(line, 1)])
        for at, line in enumerate(lines)
    ]
    made = plot.draw("a & b", "c", [plot.Panel("t", "s", series)], ["one", "two", "three"])
    root = ET.fromstring(made)
    assert [one.text for one in root[:2]] == ["a & b", "c"]
    texts = [one for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text]
    heights = sorted(float(one.attrib["y"]) for one in texts if (one.text or "")[0] == "<")
    assert len(heights) == sum(bool(line) for line in lines)
    assert all(b - a >= 13 for a, b in pairwise(heights))


def test_plot_names_each_line_in_each_panel() -> None:
    made = report.growth([result("1", search=1, build=2), result("10", 10**10, search=9, build=20)])
    assert made.count(">grep</text>") == 2
    assert made.count(">ccgrep</text>") == 1
    assert ">1 GB</text>" in made
    assert ">10 GB</text>" in made


# Measuring.


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_first_byte_and_peak_are_measured_while_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends only after its first byte was seen and its memory was sampled."""
    mark, sampled = tmp_path / "mark", threading.Event()
    wait, sample = select.select, measure.tree_memory

    def sample_memory(pid: int) -> measure.Memory:
        memory = sample(pid)
        if memory.anonymous > 1_000_000:
            sampled.set()
        return memory

    def wait_for_byte(*arguments: Any) -> Any:
        ready = wait(*arguments)
        assert sampled.wait(60)
        mark.touch()
        return ready

    monkeypatch.setattr(measure, "tree_memory", sample_memory)
    monkeypatch.setattr(select, "select", wait_for_byte)
    script = (
        "import os, sys, time; print('x', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "print('y')"
    )
    run = measure.run([sys.executable, "-c", script, str(mark)])
    assert run.output == "x\ny\n"
    assert 0 < run.first_s < run.seconds
    assert run.peak.resident > run.peak.anonymous > 1_000_000


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "late"
    begun = time.monotonic()
    with pytest.raises(measure.FailedError, match="took more than 1 s"):
        measure.run(["sh", "-c", f"(sleep 2; touch {mark}) & sleep 60"], timeout_s=1)
    assert time.monotonic() - begun < 30
    time.sleep(1.5)
    assert not mark.exists()


def test_what_fails_is_an_error_with_what_it_said() -> None:
    with pytest.raises(measure.FailedError, match="no luck"):
        measure.run(["sh", "-c", "echo no luck >&2; exit 3"])
    assert measure.run(["sh", "-c", "exit 1"], codes=(0, 1)).output == ""


def test_tools_take_turns_until_their_time_is_up() -> None:
    calls: list[str] = []

    def case(name: str, seconds: float, answer: float | None = 1.0) -> float | None:
        calls.append(name)
        time.sleep(seconds)
        return answer

    cases = {
        "quick": lambda: case("quick", 0),
        "slow": lambda: case("slow", 0.06),
        "broken": lambda: case("broken", 0, None),
    }
    found = measure.interleaved(cases, 6, budget_s=0.05)
    assert {name: len(values) for name, values in found.items()} == {
        "quick": 6,
        "slow": 3,  # the least that says anything
        "broken": 0,
    }
    assert calls[:5] == ["quick", "slow", "broken", "quick", "slow"]
    assert calls.count("broken") == 1
