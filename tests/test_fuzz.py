"""The fuzz targets hold on their seeds, on mutations of them, and on inputs that once failed."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.targets import TARGETS
from tests.helpers import scale

FOUND = sorted((Path(__file__).parents[1] / "fuzz" / "found").glob("*/*"))


def mutate(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """Return `data` with a few bytes changed, cut, doubled, or copied from `other`."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        size = chance.randrange(1, 2 + len(made) // 8)
        part = chance.choice(
            [b"", chance.randbytes(size % 9), bytes(made[:size]), other[at : at + size], b'"{\0\n']
        )
        made[at : at + chance.choice([0, 1, size])] = part
    return bytes(made)


@pytest.mark.parametrize("name", TARGETS)
def test_target_holds_on_seeds_and_mutations(name: str, figure: Callable[[str], None]) -> None:
    target, chance = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    assert seeds
    mutations = scale.of(200, 5000)
    for data in seeds:
        target.run(data)
    for _ in range(mutations):
        target.run(mutate(chance, chance.choice(seeds), chance.choice(seeds)))
    figure(f"fuzz {name}: holds on {len(seeds)} seeds and {mutations} mutations")


def test_inputs_that_once_failed_are_kept() -> None:
    assert len(FOUND) >= 3


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_target_holds_on_input_that_once_failed(path: Path) -> None:
    TARGETS[path.parent.name].run(path.read_bytes())
