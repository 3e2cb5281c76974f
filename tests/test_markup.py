"""Markdown as text in one line."""

import pytest

from ccgrep.markup import strip_markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**bold** and **結論**は", "bold and 結論は"),
        ("see [cart.ts:4](/home/sam/src/cart.ts#L4)", "see cart.ts:4"),
        ("glob `src/**/*.py` or **/*.c", "glob src/**/*.py or **/*.c"),
        ("2 ** 3, a**b", "2 ** 3, a**b"),
        ("# Head\n```sql\nselect\n```\n---\n| a |\n|:--|\n- b", "Head\n\nselect\n\n\n| a |\n\n- b"),
        ("ls --all\n--help", "ls --all\n--help"),
    ],
)
def test_marks_are_left_out_but_those_of_lists(text: str, plain: str) -> None:
    assert strip_markup(text) == plain
