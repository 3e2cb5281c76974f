"""How many instructions commands take, as a multiple of starting Python in the same run.

`python bench/instructions.py --accept` accepts the current figures.
"""

from collections.abc import Callable

import pytest

from bench import instructions
from tests.helpers import scale

NAMES = (*instructions.COMMANDS, instructions.APPENDED) if scale.IS_LONG else instructions.CHEAP
MOST = 1.15
"""The tolerated growth. Other builds of Python and libc take a few percent more or less."""

WHY_NOT = instructions.why_impossible() or (
    "" if instructions.read_accepted() else f"no accepted counts for {instructions.platform_key()}"
)


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_commands_take_no_more_instructions_than_were_accepted(
    figure: Callable[[str], None],
) -> None:
    now = instructions.count_instructions([instructions.PASS, *NAMES])
    lines = list(instructions.describe_growth(instructions.read_accepted(), now, MOST))
    assert not lines, "\n".join(lines)
    ratios = {name: now[name] / now[instructions.PASS] for name in NAMES}
    multiples = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    figure(f"instructions, as multiples of {instructions.PASS}: {multiples}")


def test_command_that_grew_is_named_with_both_ratios() -> None:
    was = {instructions.PASS: 100, "ccgrep": 300, "ccgrep list": 500}
    now = {instructions.PASS: 200, "ccgrep": 660, "ccgrep list": 1000, "ccgrep new": 1}
    expected = ["ccgrep grew from 3.000 to 3.300 times python -c pass"]
    assert list(instructions.describe_growth(was, now, 1.05)) == expected
    assert list(instructions.describe_growth(was, now, 1.11)) == []
