"""A block shows a hit around its match, in few lines, whatever its text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccgrep.fulltext.reader import StoredTurn
from ccgrep.output.hit_block import Block, Page, compact_lines, long_lines, summary_line
from ccgrep.output.style import Style
from ccgrep.search.request import Hit, Place
from ccgrep.search.searcher import FoundHit
from ccgrep.search.snippet import MatchedText, Span
from ccgrep.text import columns

PAGE = Page(80, 0, Style())
LONG = "\n".join(f"line {number} of a long answer" for number in range(200))
texts = st.text(st.sampled_from("a b\n検\u0301\x1b👍"), max_size=400)


def make_block(
    prompt: str, answer: str, before: str = "", after: str = "", match: str = "\0", title: str = ""
) -> Block:
    matched = []
    for kind, text in (("user", prompt), ("assistant", answer)):
        at = text.find(match)
        matched.append(MatchedText(kind, text, [Span(at, at + len(match))] if at >= 0 else []))
    hit = Hit(Place("1" * 36, 0), score=1.0, started=0, kind="main")
    found = FoundHit(hit, "11111111", StoredTurn("", "", "", prompt, answer), matched)
    return Block(1, found, MatchedText("title", title, []), before, after)


def test_compact_block_shows_the_lines_of_the_match() -> None:
    answer = LONG.replace("line 150 of", "line 150 has the zebra of")
    block = make_block("where is it?\n\nI looked", answer, "before\nthat", "thanks", match="zebra")
    assert list(compact_lines(block, PAGE)) == [
        "[1] Project: - | unknown time | 100%",
        "  Claude: before that",
        "  You: where is it? …",
        "  Claude: …line 150 has the zebra of a long answer",
        "          line 151 of a long answer …",
        "  You: thanks",
        "  → ccgrep show 11111111:0  [truncated - 5049 more chars]",
    ]


def test_compact_block_without_neighbours_has_two_and_three_rows() -> None:
    block = make_block("word " * 100, "word " * 100)
    head, *rows, _, _ = compact_lines(block, PAGE._replace(width=40))
    assert head.startswith("[1]")
    assert rows == [
        "  You: word word word word word word",
        "       word word word word word word …",
        "  Claude: word word word word word",
        "          word word word word word",
        "          word word word word word …",
    ]


@given(texts, texts, texts, texts, st.sampled_from("a検\n\0"), st.integers(40, 200))
def test_compact_block_fits_into_seven_lines_of_the_width(
    prompt: str, answer: str, before: str, after: str, match: str, width: int
) -> None:
    block = make_block(prompt, answer, before, after, match, title=prompt)
    lines = list(compact_lines(block, PAGE._replace(width=width)))
    assert all(line and columns(line) <= width for line in lines)
    is_narrow = any(line.startswith("  [truncated") for line in lines)
    assert len(lines) <= 7 + is_narrow
    assert any("…" in line for line in lines) or not any("[truncated" in line for line in lines)


def test_blank_start_is_left_out_and_shown_as_truncated_in_a_long_block() -> None:
    block = make_block("zebra", "\n" * 1000 + "word")
    assert list(compact_lines(block, PAGE)) == [
        "[1] Project: - | unknown time | 100%",
        "  You: zebra",
        "  Claude: word",
        "  → ccgrep show 11111111:0",
    ]
    assert list(long_lines(block, PAGE)) == [
        "[1] Project: - | unknown time | 100%",
        "",
        "  You: zebra",
        "",
        "  Claude: …",
        "  [truncated - 604 more chars]",
        "",
        "  → ccgrep show 11111111:0",
    ]


@pytest.mark.parametrize(
    ("shown", "total", "expected"),
    [
        (3, 33, "─── 3 of 33; -n 0 for all (0.25s)"),
        (10, 5886, "─── 10 of 5,886; -n 0 for all (0.25s)"),
        (10, None, "─── the best 10; -n 0 for all (0.25s)"),
        (1, 1, "─── Found 1 result in 0.25s"),
    ],
)
def test_summary_says_how_to_get_all_hits(shown: int, total: int | None, expected: str) -> None:
    assert summary_line(shown, total, 0.25, Style()) == expected
