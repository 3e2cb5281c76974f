"""Wrapped rows fit their width and keep the text, whatever it is."""

from hypothesis import given
from hypothesis import strategies as st

from ccgrep.output.wrap import best_rows, row_text, wrap
from ccgrep.search.snippet import SnippetPart
from ccgrep.text import columns, make_visible

texts = st.text(st.sampled_from("ab  \n\t検索é\u0301👍🏽-\x1b\u202e"), max_size=80)


@given(st.lists(st.tuples(texts, st.booleans()), max_size=5), st.integers(2, 30))
def test_rows_fit_and_have_all_characters_but_space(
    pieces: list[tuple[str, bool]], width: int
) -> None:
    parts = [SnippetPart(*piece) for piece in pieces]
    rows = wrap(parts, width)
    assert all(0 < columns(row_text(row)) <= width for row in rows)
    for is_match in (False, True):
        shown = "".join(p.text for row in rows for p in row if p.is_match == is_match)
        given = "".join(make_visible(p.text) for p in parts if p.is_match == is_match)
        assert "".join(shown.split()) == "".join(given.split())


def test_row_ends_between_words_or_within_long_and_cjk_ones() -> None:
    def rows(text: str) -> list[str]:
        return [row_text(row) for row in wrap([SnippetPart(text, False)], 10)]

    assert rows("one two three four") == ["one two", "three four"]
    assert rows("one two thr\r\n\r\n  four\r") == ["one two", "thr", "four"]
    assert rows("see abcdefghijklmnop") == ["see", "abcdefghij", "klmnop"]
    assert rows("全文検索が部分一致しない") == ["全文検索が", "部分一致し", "ない"]
    assert rows("fix 全文検索") == ["fix 全文検", "索"]


def test_rows_with_the_most_different_matches_are_the_best() -> None:
    def row(text: str, *matches: str) -> list[SnippetPart]:
        return [SnippetPart(text, False), *(SnippetPart(match, True) for match in matches)]

    rows = [row("a"), row("b", "x"), row("c", "x"), row("d"), row("e", "x", "y"), row("f")]
    assert best_rows(rows, 2) == slice(4, 6)
    assert best_rows(rows[:2], 3) == slice(0, 3)
    assert best_rows([], 3) == slice(0, 3)
