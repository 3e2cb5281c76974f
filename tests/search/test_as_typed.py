"""A phrase as typed is found in a long output as in a short one."""

import random

import pytest

from ccgrep.search.as_typed import has_any
from tests.helpers import scale

PIECES = (
    "src main Main MAIN mai srcs src2 PR #12 #123 (x) foo() C:\\Users K k é e\u0301 ï Ｍain ﬁx "
    "fix \u00a0 \u3000 \t \n … — ж 认证 \ud800 \u0301 İ"
).split(" ")
PHRASES = ["src main", "PR #12", "foo()", "C:\\Users main", "k fix", "main", "main é", "认证"]


@pytest.mark.parametrize("seed", range(scale.of(2, 50)))
def test_a_phrase_is_found_in_a_long_text_as_in_a_short_one(seed: int) -> None:
    generator = random.Random(seed)
    found = 0
    for _ in range(1000):
        pieces = generator.choices(PIECES, k=5)
        text = "".join(piece + generator.choice(["", " ", "/", "\n", "  "]) for piece in pieces)
        phrase = generator.choice(PHRASES)
        filler = "lorem ipsum\n" * 200
        is_in_short = has_any([f"lorem\n{text}\nlorem"], [phrase])
        assert has_any([f"{filler}{text}\n{filler}"], [phrase]) == is_in_short, (text, phrase)
        found += is_in_short
    assert found > 20
