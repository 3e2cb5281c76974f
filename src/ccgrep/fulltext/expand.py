"""What a text becomes before the index takes it apart into words. Pure.

The words by which parts of it are found are added behind the text, so that phrases stay what they
were. `terms` says which words those are; here they are found in much text, and quickly.
"""

from functools import lru_cache

from ccgrep.fulltext.terms import (
    camel_parts,
    cjk_runs,
    cjk_words,
    folded_alone,
    folded_whole,
    without_cjk,
)
from ccgrep.lazy_re import compile_pattern

_PLAIN = "(?>[a-z]+|[A-Z][a-z]+|[A-Z]+|[0-9]+)"
"""A word, or the beginning of one that is not all of one kind. Atomic: there is no way back."""
# Plain words are left behind many at a time, which takes half the time of trying each place. What
# follows as `.12.7` belongs to `v3`, so that 3.12 is found.
_MIXED = (
    rf"(?:[a-z]++(?![A-Z0-9])[^A-Za-z0-9]*+|[^A-Za-z0-9]++|{_PLAIN}(?![A-Za-z0-9])){{0,64}}"
    rf"((?:{_PLAIN}[A-Za-z0-9]+(?:\.[0-9]+)*)?)[A-Za-z0-9]*+"
)
_BEYOND_ASCII = "([^\x00-\x7f]+)"
_SPACED = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_SHORT_CHARS = 16


def expand(text: str) -> str:
    """`text`, folded, and behind it the words under which parts of it are found."""
    if not text:
        return ""
    added: list[str] = []
    if not text.isascii() and (alone := folded_alone(text)) is not None:
        text = alone
    elif not text.isascii():
        pieces = compile_pattern(_BEYOND_ASCII).split(text)
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
    if not text:
        return ""
    words = text.encode("utf-8", "replace").translate(_SPACED).split()
    return b" ".join(set(words)).decode()


def mixed_words(text: str) -> set[str]:
    """The words that are in camelCase or have digits in them."""
    return set(compile_pattern(_MIXED).findall(text)) - {""}


def _run(run: str) -> tuple[str, list[str]]:
    """A run of characters beyond ASCII, folded and without CJK, and the words of that. ASCII around
    it changes nothing: no mark that is kept is composed with it."""
    plain = folded_whole(run)
    runs = cjk_runs(plain)
    return (without_cjk(plain) if runs else plain), [" ".join(cjk_words(one)) for one in runs]


_known_run = lru_cache(maxsize=16_384)(_run)
"""For dashes, arrows and single letters, which come again and again."""


@lru_cache(maxsize=16_384)
def _joined_parts(word: str) -> str:
    return " ".join(camel_parts(word))


def let_go() -> None:
    """Remembers nothing."""
    _joined_parts.cache_clear()
    _known_run.cache_clear()
