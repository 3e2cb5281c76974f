"""Tables, plots and documents follow from the results, and measuring works as described."""

import os
import re
import select
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import budget, measure, plot, report
from bench.results import Corpus, Figure, Machine, Result, Tool, make_figure, read_results, save

ROOT = Path(__file__).parents[2]
MACHINE = Machine("a processor", 2, 8_000_000_000, "Linux 6", "3.11")
FLOATS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


def make_result(scale: str = "1", size: int = 10**9, **figures: float) -> Result:
    ours = Tool("ccgrep", "1", "turns", figures={"search": Figure(0.05, 0.06, 50)})
    other = {key: Figure(value, value, 3) for key, value in figures.items()}
    tools = [ours, Tool("grep", "3.8", "files", ["prompts"], other, ["a | note\n<b>"])]
    return Result(scale, "2026-11-16", MACHINE, Corpus("transcripts", size, 10, 20), tools)


@pytest.mark.parametrize("path", [report.PAGE, report.PLOT, report.README])
def test_documents_match_the_results(path: str) -> None:
    expected = report.make_documents(read_results())[path]
    hint = f"{path} does not match bench/results: run python -m bench.report"
    assert (ROOT / path).read_text(encoding="utf-8") == expected, hint


def test_documents_have_every_table() -> None:
    text = "".join((ROOT / path).read_text("utf-8") for path in (report.PAGE, report.README))
    tables = set(re.findall(r"<!-- figures: (\w+) -->", text))
    assert tables == {"machine", "ratios", "meaning", "tools", "figures", "short"}


def test_filling_tables_again_changes_nothing() -> None:
    once = report.fill_tables(
        "a\n<!-- figures: short -->\n<!-- end of figures -->\nb", [make_result(search=1)]
    )
    assert "× 20" in once
    assert report.fill_tables(once, [make_result(search=1)]) == once


def test_ratios_relate_to_ccgrep_and_missing_figures_are_dashes() -> None:
    head, ours, grep = report.ratio_rows(make_result(search=0.5, build=2.0))
    assert head[1:] == ["search, rare word", "first build"]
    assert grep[1:] == ["× 10", "2 s"]
    assert ours[1:] == ["50 ms", "–"]


@pytest.mark.parametrize(
    ("load", "text"),
    [(None, "load not recorded"), (0.4, "load 0.4 at the start."), (9, "a **busy machine**.")],
)
def test_busy_machine_is_marked(load: float | None, text: str) -> None:
    result = make_result(search=1)
    result.load = load
    line = report.fill_tables("<!-- figures: machine -->\n<!-- end of figures -->", [result])
    assert text in line
    assert ("busy" in line) == (load == 9)


def test_notes_are_escaped_for_tables() -> None:
    table = report.fill_tables(
        "<!-- figures: tools -->\n<!-- end of figures -->", [make_result(search=1)]
    )
    assert r"a \| note &lt;b>" in table


def test_saved_results_can_be_read(tmp_path: Path) -> None:
    for scale, size in (("10", 10**10), ("1", 10**9)):
        save(make_result(scale, size, search=1.5), tmp_path)
    assert read_results(tmp_path) == [
        make_result("1", search=1.5),
        make_result("10", 10**10, search=1.5),
    ]


@given(FLOATS, st.floats(0.01, 1))
def test_percentile_is_the_least_value_to_cover_its_share(
    values: list[float], share: float
) -> None:
    result = measure.percentile(values, share)
    assert result in values
    assert sum(value <= result for value in values) >= share * len(values) - 1e-6
    assert sum(value < result for value in values) < share * len(values)


def test_figure_has_median_and_95th_percentile() -> None:
    assert make_figure([float(number) for number in range(1, 101)]) == Figure(50, 95, 100)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0521, "s", "52.1 ms"), (0.9999, "s", "1 s"), (59.9, "s", "59.9 s"), (600, "s", "10 min"),
        (1e-6, "s", "1 µs"), (85_400_000, "B", "85.4 MB"), (1e9, "B", "1 GB"), (0, "B", "0 B"),
        (999, "B", "999 B"),
    ],
)  # fmt: skip
def test_amounts_have_at_most_three_digits(value: float, unit: str, text: str) -> None:
    assert plot.format_amount(value, unit) == text


@given(st.lists(st.lists(st.floats(1e-4, 1e4), max_size=3), min_size=1, max_size=12))
def test_plot_is_well_formed_and_no_labels_overlap(lines: list[list[float]]) -> None:
    series = [
        plot.Series(f"<{at}>", at, [(10.0**x, y) for x, y in enumerate(line, 1)])
        for at, line in enumerate(lines)
    ]
    svg = plot.draw("a & b", "c", [plot.Panel("t", "s", series)], ["one", "two", "three"])
    root = ET.fromstring(svg)
    assert [element.text for element in root[:2]] == ["a & b", "c"]
    texts = [each for each in root.iter("{http://www.w3.org/2000/svg}text") if each.text]
    heights = sorted(float(each.attrib["y"]) for each in texts if (each.text or "")[0] == "<")
    assert len(heights) == sum(bool(line) for line in lines)
    assert all(b - a >= 13 for a, b in pairwise(heights))


def test_plot_labels_each_line_in_each_panel() -> None:
    svg = report.draw_growth(
        [make_result("1", search=1, build=2), make_result("10", 10**10, search=9, build=20)]
    )
    assert svg.count(">grep</text>") == 2
    assert svg.count(">ccgrep</text>") == 1
    assert ">1 GB</text>" in svg
    assert ">10 GB</text>" in svg


# Measuring.


class Clock:
    """A clock that tests advance. `on_read` is called at each reading with its number."""

    def __init__(self, on_read: Callable[[int], None] = lambda _: None) -> None:
        self.now = 0.0
        self._readings = 0
        self._on_read = on_read

    def monotonic(self) -> float:
        self._readings += 1
        self._on_read(self._readings)
        return self.now


def test_first_byte_is_timed_before_the_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def on_read(number: int) -> None:
        clock.now += 1
        if number == 2:  # the first byte has arrived: let the command end
            fifo.write_text("go")

    clock = Clock(on_read)
    monkeypatch.setattr(measure, "time", clock)
    run = measure.run(["sh", "-c", f"echo x; cat {fifo} >/dev/null; echo y"], timeout_s=60)
    assert run.output == "x\ny\n"
    assert (run.first_s, run.seconds) == (1, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of processes from /proc")
def test_memory_is_sampled_at_least_once() -> None:
    memory = measure.tree_memory(os.getpid())
    assert memory.resident > memory.anonymous > 1_000_000
    with measure._MemorySampler(os.getpid()) as sampler:
        pass
    assert sampler.peak.resident > sampler.peak.anonymous > 1_000_000


def test_command_that_takes_too_long_fails() -> None:
    with pytest.raises(measure.FailedError, match="took more than 0 s"):
        measure.run(["sleep", "600"], timeout_s=0.01)


def test_timeout_kills_all_processes_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def time_out(child: subprocess.Popen[bytes], *_: object) -> NoReturn:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        raise subprocess.TimeoutExpired(child.args, 1)

    monkeypatch.setattr(measure, "_read_output", time_out)
    with pytest.raises(measure.FailedError, match="took more than 1 s"):
        measure.run(["sh", "-c", f"(exec 9>{fifo}; echo ready; sleep 600) & wait"], timeout_s=1)
    # The grandchild holds the other end of the FIFO until it dies.
    assert select.select([reader], [], [], 60)[0] == [reader]
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_failing_command_raises_its_error_output() -> None:
    with pytest.raises(measure.FailedError, match="no luck"):
        measure.run(["sh", "-c", "echo no luck >&2; exit 3"])
    assert measure.run(["sh", "-c", "exit 1"], codes=(0, 1)).output == ""


def test_cases_take_turns_until_their_budget_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    calls: list[str] = []

    def case(name: str, seconds: float, result: float | None = 1.0) -> float | None:
        calls.append(name)
        clock.now += seconds
        return result

    cases = {
        "quick": lambda: case("quick", 0),
        "slow": lambda: case("slow", 60),
        "broken": lambda: case("broken", 0, None),
    }
    results = measure.run_interleaved(cases, 6, budget_s=50)
    assert {name: len(values) for name, values in results.items()} == {
        "quick": 6,
        "slow": measure._MIN_RUNS,
        "broken": 0,
    }
    assert calls[:5] == ["quick", "slow", "broken", "quick", "slow"]
    assert calls.count("broken") == 1


def test_ratio_says_whether_the_limit_is_kept() -> None:
    assert str(budget.Ratio(1.5, 2, "python")).split() == "1.5 of at most 2 ok python".split()
    assert "FAILED" in str(budget.Ratio(2.5, 2))
    assert "FAILED" in str(budget.Ratio(0.5, 0.9, is_minimum=True))
    assert "FAILED" not in str(budget.Ratio(0.95, 0.9, is_minimum=True))


def test_unmeasured_memory_has_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    budget.print_memory("index", measure.Memory(0, 0), 400)
    assert capsys.readouterr().out.split() == "index not measured".split()
