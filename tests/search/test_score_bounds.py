"""The order in which an exact search reads candidates, and when it can stop."""

import pytest

from ccgrep.fulltext.reader import NO_ADDRESS
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.search.exact_search import bound_scores
from ccgrep.search.rank import rank
from ccgrep.search.regex import Matcher
from ccgrep.search.request import Request
from ccgrep.search.score_bounds import ScoreBounds


def document(key: int, score: float = 1.0, turn: int = 0) -> DocumentHit:
    return DocumentHit(score, NO_ADDRESS, 1, 0, key, turn, 0, 0)


def test_turns_come_in_the_order_of_their_lowered_bounds() -> None:
    factors = {1: 0.5, 2: 0.0, 3: 0.9, 4: 0.7}
    asked: list[int] = []

    def lower(key: int) -> float:
        asked.append(key)
        return factors[key]

    documents = [document(1), document(2), document(3, turn=1), document(3, turn=2), document(4)]
    bounds = ScoreBounds(documents, 0, lower)
    assert [(one.object_key, one.turn) for one in bounds.ordered()] == [
        (3, 1), (3, 2), (4, 0), (1, 0),
    ]  # fmt: skip
    assert sorted(asked) == [1, 2, 3, 4]
    assert bounds.is_empty


def test_bounds_that_cannot_matter_are_not_lowered() -> None:
    bounds = ScoreBounds([document(1), document(2, 0.4), document(3, 0.3)], 0, {1: 0.8}.__getitem__)
    first = next(bounds.ordered())
    assert first.object_key == 1
    assert bounds.exclude_rest(rank([first._replace(score=0.8)], 0))
    assert not bounds.exclude_rest(rank([first._replace(score=0.4)], 0))


def test_search_does_not_stop_between_the_places_of_a_turn() -> None:
    bounds = ScoreBounds([document(1), document(1, turn=1)], 0)
    ordered = bounds.ordered()
    kept = rank([next(ordered)], 0)
    assert not bounds.exclude_rest(kept)
    next(ordered)
    assert bounds.exclude_rest(kept)


@pytest.mark.parametrize(
    ("pattern", "content", "is_first"),
    [
        ("zebra", b"zebra zebra zebra", False),
        ("zebra", b"ze\x1b[1mbra", True),  # A search ignores colors.
        ("zebra", None, True),
        ("42", b"\xcd\x01", True),  # Numbers are stored in binary.
    ],
)
def test_stored_bytes_bound_the_score(pattern: str, content: bytes | None, is_first: bool) -> None:
    """The other turn has nine matches."""
    request = Request((pattern,), "literal", types=("tool",), limit=1)
    matcher = Matcher(request.patterns, True, False, False)
    documents = [document(1), document(2)]
    contents = {1: content, 2: pattern.encode() * 9}
    ordered = bound_scores(documents, 0, matcher, request, contents.__getitem__).ordered()
    assert (next(ordered).object_key == 1) == is_first
