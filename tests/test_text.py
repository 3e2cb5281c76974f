"""No control or invisible character gets from untrusted text to output."""

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
    """Return random code points, half of them from `ODD`."""
    chars = [chr(code) for code in chance.choices(CODES, k=length // 2)]
    chars += chance.choices(ODD, k=length - len(chars))
    chance.shuffle(chars)
    return "".join(chars)


def is_odd(code: int) -> bool:
    """Return whether it is a control, a mark, a separator or a noncharacter."""
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(chr(code)) in (
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
        "Mn",
    )


def test_escape_leaves_no_unsafe_code_point_alone_or_between_letters(
    figure: Callable[[str], None],
) -> None:
    tried = [chr(code) for code in CODES if scale.IS_LONG or is_odd(code)]
    for char in tried:
        for text in (char, f"a{char}b", f"\U0001f468{char}\U0001f469"):
            assert not acting(escape(text), "\n\t"), text.encode("unicode-escape")
    figure(f"text.escape: {len(tried)} code points in 3 places, all escaped")


def utf16(text: str) -> bytes:
    """Return bytes that are equal for a pair of surrogates and its character, as in JSON."""
    return text.encode("utf-16-le", "surrogatepass")


def test_no_unsafe_character_of_random_text_gets_through(figure: Callable[[str], None]) -> None:
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
    figure(f"text.escape: {number} random code points, all escaped")


def test_escape_and_clean_are_idempotent_and_keep_benign_text() -> None:
    chance = random.Random(4)
    for text in (*ATTACKS.values(), *BENIGN, *(random_text(chance, 50) for _ in range(200))):
        assert escape(escape(text)) == escape(text)
        assert clean(clean(text)) == clean(text)
    assert [text for text in BENIGN if escape(text) != text or clean(text) != text] == []
