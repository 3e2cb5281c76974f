"""Text is folded in pieces, which is faster, and comes out as if it were folded as a whole."""

import re
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from ccgrep.index.terms import expand, fold


def whole(text: str) -> str:
    plain = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", plain)


@given(st.text(st.sampled_from("aK<. ") | st.characters(min_codepoint=0x80)))
@example("e\u0301 <\u0338 か\u3099k\u212a ﬁｎe")
def test_pieces_are_folded_like_the_whole(text: str) -> None:
    assert fold(text) == whole(text)


def test_every_character_is_folded_as_it_is_between_letters() -> None:
    for code in range(0x80, sys.maxunicode + 1, 1):
        if not 0xD800 <= code < 0xE000:
            text = f"a{chr(code)}b"
            assert fold(text) == whole(text), hex(code)


def test_words_of_runs_stand_behind_the_text() -> None:
    text = "café 数据库 done… 検索x parseHtml — und 数据"
    words = ["数 据 库 数据 据库", "検 索 検索", "数 据 数据", "parse Html"]
    assert expand(text) == "\n".join(["cafe   done...  x parseHtml — und  ", *words])
