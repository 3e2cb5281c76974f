"""History that an agent writes again, as `/compact` does, adds only references."""

from collections.abc import Callable
from typing import Any

from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

TIMES = 10
TURNS = scale.of(60, 300)
MOST_GROWTH = 0.02


def store_bytes(home: Home) -> int:
    return sum(path.stat().st_size for path in home.store_dir.rglob("*") if path.is_file())


def test_history_appended_again_adds_no_object_or_document(
    home: Home, figure: Callable[[str], None]
) -> None:
    file = home.claude()
    for number in range(TURNS):
        words = " ".join(f"w{number * n % 9973}" for n in range(150))
        file.turn(f"prompt {number} {words[:80]}", f"answer {words}", "make", words[::-1])
    file.write()
    home.index()
    home.run("gc")
    before, documents = store_bytes(home), hits(home)
    objects = home.json("status")["objects"]
    history: list[dict[str, Any] | bytes] = list(file.records)
    added = 0
    for _ in range(TIMES):
        file.records.extend(history)
        file.append()
        report = home.index()
        added += report.new_objects + report.documents
    home.run("gc")
    growth = store_bytes(home) / before - 1
    assert len(home.turns(file.id)) == TURNS
    new_objects = home.json("status")["objects"] - objects
    assert (new_objects, added, hits(home) - documents) == (0, 0, 0)
    assert growth < MOST_GROWTH
    assert_same_as_fresh(home)
    figure(
        f"replayed history: {TIMES} times {TURNS} turns, objects +{new_objects}, "
        f"documents +{added}, store {growth:+.1%} (< 2 %), = fresh"
    )


def hits(home: Home) -> int:
    return len(home.run("prompt", "-n0", "--no-refresh").stdout.splitlines())
