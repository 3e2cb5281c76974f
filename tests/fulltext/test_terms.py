"""The fast implementations of folding and splitting agree with simple ones."""

import re
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from ccgrep.fulltext.expand import expand, mixed_words
from ccgrep.fulltext.terms import camel_parts, camel_starts, fold
from tests.helpers import scale


def fold_simply(text: str) -> str:
    without_accents = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", without_accents)


@given(st.text(st.sampled_from("aK<. ") | st.characters(min_codepoint=0x80)))
@example("e\u0301 <\u0338 か\u3099k\u212a ﬁｎe")
def test_folding_agrees_with_unicode_normalization(text: str) -> None:
    assert fold(text) == fold_simply(text)


def test_every_character_between_letters_is_folded_as_by_normalization() -> None:
    for code in range(0x80, sys.maxunicode + 1, scale.of(7, 1)):
        if not 0xD800 <= code < 0xE000:
            text = f"a{chr(code)}b"
            assert fold(text) == fold_simply(text), hex(code)


def test_words_of_cjk_and_camel_case_are_appended_to_the_text() -> None:
    text = "café 数据库 done… 検索x parseHtml — und 数据"
    words = ["数 据 库 数据 据库", "検 索 検索", "数 据 数据", "parse Html"]
    assert expand(text) == "\n".join(["cafe   done...  x parseHtml — und  ", *words])


@given(
    st.text(st.sampled_from("aabBzZ129..  _é-\n/"))
    | st.text(st.sampled_from("abc  "), min_size=300)
)
@example("v3.12aB 3.11 parseHTML2Text x" + " a" * 100 + " aB " + " A1" * 100)
def test_mixed_words_are_found_at_every_position(text: str) -> None:
    word = r"(?<![A-Za-z0-9])(?>[a-z]+|[A-Z][a-z]+|[A-Z]+|[0-9]+)[A-Za-z0-9]+(?:\.[0-9]+)*"
    assert mixed_words(text) == set(re.findall(word, text))


@given(st.text(st.sampled_from("abXY12"), min_size=1, max_size=70))
def test_camel_starts_are_those_of_camel_parts(word: str) -> None:
    parts = camel_parts(word) or [word]
    assert camel_starts(word) == [len("".join(parts[:at])) for at in range(len(parts))]
