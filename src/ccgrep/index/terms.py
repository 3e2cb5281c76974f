"""What text is turned into before the index takes it apart into words. Pure.

The index splits at everything that is no letter or digit, folds case and stems; so
`auth_token`, `src/auth.ts` and `--no-verify` become their parts, and are found whole as a
phrase of them. Here comes what it cannot do: the parts of `camelCase` words, accents, and
Chinese, Japanese and Korean, of which every character and every pair of neighbours becomes
a word. What is added stands behind the text, so that phrases stay what they were.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

# Letters alone: radicals and the dots between words are signs, which the index does not take.
_CJK = (
    "[\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_PLAIN = "(?>[a-z]+|[A-Z][a-z]+|[A-Z]+|[0-9]+)"
"""A word, or the beginning of one that is not all of one kind. Atomic: there is no way back."""
# Plain words are left behind many at a time, which takes half the time of trying each place. What
# follows as `.12.7` belongs to `v3`, so that 3.12 is found.
_MIXED = (
    rf"(?:[a-z]++(?![A-Z0-9])[^A-Za-z0-9]*+|[^A-Za-z0-9]++|{_PLAIN}(?![A-Za-z0-9])){{0,64}}"
    rf"((?:{_PLAIN}[A-Za-z0-9]+(?:\.[0-9]+)*)?)[A-Za-z0-9]*+"
)
_PARTS = r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
_ACCENTS = "[\u0300-\u036f]"
_BEYOND_ASCII = "([^\x00-\x7f]+)"
_ASCII = bytes(range(128))
_SPACED = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_FEW_CHARACTERS = 32
_SHORT_CHARS = 16
_MAX_CAMEL_CHARS = 64  # longer ones are hashes, whose parts mean nothing
MAX_WORD_CHARS = 256
"""Runs of letters and digits as long as this, or longer, are not words but data."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Patterns are made when first needed: the large ones take milliseconds, and most queries
    need none of them."""
    return re.compile(pattern)


def fold(text: str) -> str:
    """`text` without accents and compatibility forms."""
    if text.isascii():
        return text
    return "".join(_folded(piece) for piece in _compiled(_BEYOND_ASCII).split(text))


def expand(text: str) -> str:
    """`text`, folded, and behind it the words under which parts of it are found."""
    added: list[str] = []
    if not text.isascii() and (alone := _folded_alone(text)) is not None:
        text = alone
    elif not text.isascii():
        pieces = _compiled(_BEYOND_ASCII).split(text)
        for n in range(1, len(pieces), 2):
            run = pieces[n]
            pieces[n], words = (_known_run if len(run) <= _SHORT_CHARS else _run)(run)
            added += words
        text = "".join(pieces)
    added += filter(None, map(_joined_parts, sorted(mixed_words(text))))
    return "\n".join((text, *added)) if added else text


def distinct(text: str) -> str:
    """The different words of `text`, for fields that do not know how often or where a word stands.

    Telling them apart here takes a third of what the index takes to stem those that come again;
    where nothing is stemmed, it takes more. Words are told from each other by ASCII alone; the
    index does the rest.
    """
    words = text.encode("utf-8", "replace").translate(_SPACED).split()
    return b" ".join(set(words)).decode()


def _folded_alone(text: str) -> str | None:
    """`text`, folded by one character after the other; nothing where that will not do, or where
    there are words of CJK in it.

    Most texts have but a few different accents and dashes. To find them by what encodes them, and
    replace each, takes a tenth of the time of looking at every character.
    """
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    characters = set(beyond.decode("utf-8", "surrogatepass"))
    if len(characters) > _FEW_CHARACTERS:
        return None
    for character in sorted(characters):
        folded = _alone(character)
        if folded is None:
            return None
        if folded != character:
            text = text.replace(character, folded)
    return text


@lru_cache(maxsize=4096)
def _alone(character: str) -> str | None:
    """What a character is folded to, whatever stands beside it; nothing for CJK, for marks, and for
    what is composed with its neighbours."""
    folded, words = _run(character)
    is_alone = all(
        unicodedata.category(one)[0] not in "MC" and not "\u1100" <= one <= "\u11ff"
        for one in character + folded
    )
    return folded if is_alone and not words else None


def mixed_words(text: str) -> set[str]:
    """The words that are in camelCase or have digits in them."""
    return set(_compiled(_MIXED).findall(text)) - {""}


def _run(run: str) -> tuple[str, list[str]]:
    """A run of characters beyond ASCII, folded and without CJK, and the words of that. ASCII around
    it changes nothing: no mark that is kept is composed with it."""
    folded = _folded(run)
    runs = cjk_runs(folded)
    return (without_cjk(folded) if runs else folded), [" ".join(cjk_words(one)) for one in runs]


_known_run = lru_cache(maxsize=16_384)(_run)
"""For dashes, arrows and single letters, which come again and again."""


def _folded(text: str) -> str:
    if text.isascii():
        return text
    return unicodedata.normalize(
        "NFKC", _compiled(_ACCENTS).sub("", unicodedata.normalize("NFKD", text))
    )


@lru_cache(maxsize=16_384)
def _joined_parts(word: str) -> str:
    return " ".join(camel_parts(word))


def let_go() -> None:
    """Remembers nothing."""
    _joined_parts.cache_clear()
    _known_run.cache_clear()


def camel_parts(word: str) -> list[str]:
    """The parts of a word in camelCase or with digits in it; none of any other word."""
    is_plain = word.isascii() and word.isalpha() and word.islower()
    if is_plain or len(word) > _MAX_CAMEL_CHARS:
        return []
    parts = _compiled(_PARTS).findall(word)
    return parts if len(parts) > 1 else []


def cjk_runs(text: str) -> list[str]:
    return [] if text.isascii() else _compiled(_CJK).findall(text)


def without_cjk(text: str) -> str:
    return text if text.isascii() else _compiled(_CJK).sub(" ", text)


def cjk_words(run: str) -> list[str]:
    """Every character of a run, and every pair of neighbours."""
    return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]


def gram_text(text: str) -> str:
    """`text` as its trigrams are taken: a piece of text gives a piece of the result.

    Case is folded one character at a time, and so that whatever `(?i)` equates with an ASCII
    letter becomes that letter: the Kelvin sign is lowered to k, the long s is not.
    """
    lower = text.lower()
    return lower if lower.isascii() else lower.replace("ς", "σ").replace("ſ", "s")
