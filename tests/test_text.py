"""The door from untrusted text to output lets nothing through that acts."""

import json
import random
import sys
import unicodedata
from collections.abc import Callable

from ccgrep.text import clean, escape, json_escape, one_line
from tests.helpers import scale
from tests.helpers.attacks import ATTACKS, BENIGN, acting

CODES = [*range(sys.maxunicode + 1)]
ODD = "".join(ATTACKS.values()) + "".join(BENIGN)


def random_text(chance: random.Random, length: int) -> str:
    """Every code point as likely as any other, beside those that act or join more often."""
    chars = [chr(code) for code in chance.choices(CODES, k=length // 2)]
    chars += chance.choices(ODD, k=length - len(chars))
    chance.shuffle(chars)
    return "".join(chars)


def is_odd(code: int) -> bool:
    """Whether a character may act or hide: controls, marks, separators, and what is none."""
    is_none = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_none or unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Mn")


def test_every_code_point_alone_and_between_letters(figure: Callable[[str], None]) -> None:
    tried = [chr(code) for code in CODES if scale.IS_LONG or is_odd(code)]
    for char in tried:
        for text in (char, f"a{char}b", f"\U0001f468{char}\U0001f469"):
            assert not acting(escape(text), "\n\t"), text.encode("unicode-escape")
    figure(f"text.escape: {len(tried)} code points in 3 places, 0 leak")


def utf16(text: str) -> bytes:
    """Two halves of a pair that happen to meet are one character in JSON."""
    return text.encode("utf-16-le", "surrogatepass")


def test_nothing_that_acts_comes_through(figure: Callable[[str], None]) -> None:
    chance = random.Random(3)
    number = scale.of(30_000, 1_000_000)
    for _ in range(number // 1000):
        text = random_text(chance, 1000)
        assert acting(escape(text), "\n\t") == []
        assert acting(clean(text), "\n\t") == []
        assert acting(one_line(text), "") == []
        document = json_escape(json.dumps(text, ensure_ascii=False))
        assert acting(document, "") == []
        assert utf16(json.loads(document)) == utf16(text)
    figure(f"text.escape: {number} random code points, 0 leak")


def test_escaped_text_stays_as_it_is() -> None:
    chance = random.Random(4)
    for text in (*ATTACKS.values(), *BENIGN, *(random_text(chance, 50) for _ in range(200))):
        assert escape(escape(text)) == escape(text)
        assert clean(clean(text)) == clean(text)
    assert [text for text in BENIGN if escape(text) != text or clean(text) != text] == []
