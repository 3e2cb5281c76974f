"""How much is tried: a sample on every change, everything in the long run (`sh scripts/long`)."""

import os

IS_LONG = os.environ.get("CCGREP_TESTS") == "long"


def of(sample: int, everything: int) -> int:
    """A number of cases or seconds."""
    return everything if IS_LONG else sample


def some(cases: range, sample: int) -> list[int]:
    """All of them in the long run, otherwise about `sample`, evenly spread, with first and last."""
    step = 1 if IS_LONG else max(1, len(cases) // sample)
    return sorted({*cases[::step], *cases[-1:]})
