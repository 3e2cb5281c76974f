"""`--budget` limits the printed characters, and reports what was left out and how to get it."""

import json

import pytest

from tests.helpers.homes import Home


@pytest.fixture
def zoo(home: Home) -> Home:
    file = home.claude()
    for number in range(10):
        file.turn(f"zebra number {number}", "stripes\n" * 40, "make", "ok")
    file.write()
    home.index()
    return home


@pytest.mark.parametrize("budget", [0, 100, 300])
@pytest.mark.parametrize(
    "options", [(), ("-C", "1"), ("-l",), ("-c",), ("--jsonl",), ("-0",), ("-o",), ("-L",)]
)
def test_search_prints_only_whole_records_within_the_budget(
    zoo: Home, options: tuple[str, ...], budget: int
) -> None:
    whole = zoo.run("zebra", *options)
    part = zoo.run("zebra", *options, "--budget", str(budget))
    assert part.returncode == whole.returncode
    assert len(part.stdout) <= budget
    assert whole.stdout.startswith(part.stdout)
    end = "\0" if "-0" in options else "\n"
    assert part.stdout == "" or part.stdout.endswith(end)
    left = len(whole.stdout) - len(part.stdout)
    assert (f"left out {left:,} characters" in part.stderr) == (left > 0)
    if left:
        again = zoo.run("zebra", *options, "--budget", str(budget + left))
        assert again.stdout == whole.stdout
        assert f"use --budget {budget + left} to print everything" in part.stderr


def test_search_json_has_as_many_results_as_fit(zoo: Home) -> None:
    whole = zoo.run("zebra", "--json")
    part = zoo.run("zebra", "--json", "--budget", "3000")
    assert len(part.stdout) <= 3000
    answer = json.loads(part.stdout)
    assert 0 < len(answer["results"]) < 10
    assert answer["left_out"] == 10 - len(answer["results"])
    assert answer["results"] == json.loads(whole.stdout)["results"][: len(answer["results"])]
    small = zoo.run("zebra", "--json", "--budget", "20")
    assert (small.returncode, small.stdout) == (2, "")
    assert "--budget 20 is too small" in small.stderr


@pytest.mark.parametrize("budget", [0, 1, 100, 1500, 100_000])
def test_show_cuts_its_text_and_prints_how_to_continue(zoo: Home, budget: int) -> None:
    id = zoo.claude().id
    whole = zoo.run("show", id)
    part = zoo.run("show", id, "--budget", str(budget))
    assert (whole.returncode, part.returncode) == (0, 0)
    assert len(part.stdout) <= budget
    assert whole.stdout.startswith(part.stdout.removesuffix("\n"))
    left = len(whole.stdout) - len(part.stdout)
    assert (f"left out {left:,} characters" in part.stderr) == (left > 0)
    if budget == 1500:
        assert f"from turn 2 on (`ccgrep show {id}:2 -A 7`): use --budget" in part.stderr
        rest = zoo.run("show", f"{id}:3", "-A", "6").stdout
        assert "zebra number 3" in rest
        assert "zebra number 9" in rest


def test_show_json_has_as_many_turns_as_fit(zoo: Home) -> None:
    id = zoo.claude().id
    part = zoo.run("show", id, "--json", "--budget", "4000")
    answer = json.loads(part.stdout)
    assert len(part.stdout) <= 4000
    assert 0 < len(answer["turns"]) < 10
    assert answer["left_out"] == 10 - len(answer["turns"])
    assert zoo.run("show", id, "--raw", "--budget", "10").returncode == 2
