"""How many cases a test tries: a sample by default, all of them in `sh scripts/long`."""

import os

IS_LONG = os.environ.get("CCGREP_TESTS") == "long"


def of(sample: int, everything: int) -> int:
    """Return `everything` in the long run, otherwise `sample`."""
    return everything if IS_LONG else sample


def some(cases: range, sample: int) -> list[int]:
    """Return all cases in the long run, otherwise about `sample` evenly spread ones.

    The sample includes the first and the last case.
    """
    step = 1 if IS_LONG else max(1, len(cases) // sample)
    return sorted({*cases[::step], *cases[-1:]})
