"""A block shows any text without failing."""

from ccgrep.fulltext.reader import StoredTurn
from ccgrep.output.hit_block import Neighbours, block_lines
from ccgrep.output.style import Style
from ccgrep.search.request import Hit, Place
from ccgrep.search.searcher import FoundHit
from ccgrep.search.snippet import MatchedText


def test_text_that_starts_with_much_white_space_is_shown_as_truncated() -> None:
    texts = [MatchedText("user", "zebra", []), MatchedText("assistant", "\n" * 1000 + "word", [])]
    hit = Hit(Place("1" * 36, 0), score=1.0, started=0, kind="main")
    found = FoundHit(hit, "11111111", StoredTurn("", "", "", "zebra", ""), texts)
    lines = list(block_lines(1, found, "", Neighbours(), 0, 80, Style()))
    assert lines == [
        "[1] Project: - | unknown time | 100%",
        "",
        "  You: zebra",
        "",
        "  Claude: …",
        "  [truncated - 604 more chars]",
        "",
        "  → ccgrep show 11111111:0",
        "",
    ]
