"""The targets of fuzz/ hold on their seeds, on some mutations of them, and on what was found."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.targets import TARGETS
from tests.helpers import scale

FOUND = Path(__file__).parents[1] / "fuzz" / "found"


def mutated(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` with a few bytes changed, cut, doubled, or taken from `other`."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        size = chance.randrange(1, 2 + len(made) // 8)
        piece = chance.choice(
            [b"", chance.randbytes(size % 9), bytes(made[:size]), other[at : at + size], b'"{\0\n']
        )
        made[at : at + chance.choice([0, 1, size])] = piece
    return bytes(made)


@pytest.mark.parametrize("name", TARGETS)
def test_target_holds_on_seeds_and_mutations(name: str, figure: Callable[[str], None]) -> None:
    target, chance = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    tried = [*seeds]
    for _ in range(scale.of(200, 5000)):
        tried.append(mutated(chance, chance.choice(seeds), chance.choice(seeds)))
    for data in tried:
        target.run(data)
    figure(f"fuzz {name}: {len(seeds)} seeds and {len(tried) - len(seeds)} mutations, 0 failures")


def test_what_fuzzing_found_is_mended() -> None:
    for path in sorted(FOUND.glob("*/*")):
        TARGETS[path.parent.name].run(path.read_bytes())
