"""History that an agent writes again, as `/compact` does, adds only references.

Its bytes are stored: they are references to the turns, too.
"""

from collections.abc import Callable
from typing import Any

from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

TIMES = 10
TURNS = scale.of(60, 300)
MOST_GROWTH = 0.25  # ten times as many bytes


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
    turns = count_turns(home)
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
    new_turns = count_turns(home) - turns
    assert (new_turns, added, hits(home) - documents) == (0, 0, 0)
    assert growth < MOST_GROWTH
    assert_same_as_fresh(home)
    figure(
        f"replayed history: {TIMES} times {TURNS} turns, turns +{new_turns}, "
        f"documents +{added}, store {growth:+.1%} (< {MOST_GROWTH:.0%}), = fresh"
    )


def count_turns(home: Home) -> int:
    """Return the number of turns that the store holds as objects."""
    frames = (frame for pack in home.store.packs() for _, frame in pack.scan())
    return len({frame.id for frame in frames if frame.kind == "turn"})


def hits(home: Home) -> int:
    return len(home.run("prompt", "-n0", "--no-refresh").stdout.splitlines())
