"""Prepare text for the index, which splits it into words. Pure.

Parts of words are appended to the text, so phrases in it keep their word positions. `terms`
defines the parts. This module finds them quickly in much text.
"""

from functools import lru_cache

from ccgrep.fulltext.terms import (
    MAX_WORD_CHARS,
    camel_parts,
    cjk_runs,
    cjk_words,
    fold_characters,
    fold_string,
    remove_cjk,
)
from ccgrep.lazy_re import compile_pattern

_PLAIN = "(?>[a-z]+|[A-Z][a-z]+|[A-Z]+|[0-9]+)"
"""A word of one kind of characters, or the start of a mixed word. Atomic: no backtracking."""
# Skipping many plain words at a time takes half the time of trying each position. A suffix such as
# `.12.7` belongs to `v3`, so that 3.12 is found.
_MIXED = (
    rf"(?:[a-z]++(?![A-Z0-9])[^A-Za-z0-9]*+|[^A-Za-z0-9]++|{_PLAIN}(?![A-Za-z0-9])){{0,64}}"
    rf"((?:{_PLAIN}[A-Za-z0-9]+(?:\.[0-9]+)*)?)[A-Za-z0-9]*+"
)
_BEYOND_ASCII = "([^\x00-\x7f]+)"
_SPACED = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_SAME_LETTER = bytes(32 if code == 32 else 97 for code in _SPACED)
_LONG_WORD = b"a" * MAX_WORD_CHARS
"""Finding it in bytes of one letter takes a tenth of the time of a regular expression."""


def expand(text: str) -> str:
    """Return `text`, folded, followed by the parts of its words."""
    if not text:
        return ""
    added: list[str] = []
    if not text.isascii() and (folded := fold_characters(text)) is not None:
        text = folded
    elif not text.isascii():
        # One call folds all runs beyond ASCII. Neither a line break nor the ASCII around a run
        # matters: no mark that folding keeps combines with it.
        parts = compile_pattern(_BEYOND_ASCII).split(text)
        runs = fold_string("\n".join(parts[1::2]))
        added += [" ".join(cjk_words(run)) for run in cjk_runs(runs)]
        parts[1::2] = remove_cjk(runs).split("\n")
        text = "".join(parts)
    added += filter(None, map(_joined_parts, sorted(mixed_words(text))))
    return "\n".join((text, *added)) if added else text


def distinct_words(text: str) -> str:
    """Return the different words of `text`, for index fields without frequencies or positions.

    Removing duplicates here takes a third of the time that the index takes to stem them. It also
    takes work from Tantivy's only thread, for which the other processes of a build wait. Words are
    split at ASCII punctuation only. The index splits the rest.
    """
    if not text:
        return ""
    words = text.encode("utf-8", "replace").translate(_SPACED).split()
    return b" ".join(dict.fromkeys(words)).decode()


def has_long_word(text: str) -> bool:
    """Return whether `text` has a run without ASCII punctuation that is too long for the index.

    Tantivy measures words in bytes.
    """
    return _LONG_WORD in text.encode("utf-8", "replace").translate(_SAME_LETTER)


def mixed_words(text: str) -> set[str]:
    """Return the words in camelCase or with digits."""
    return set(compile_pattern(_MIXED).findall(text)) - {""}


@lru_cache(maxsize=16_384)
def _joined_parts(word: str) -> str:
    return " ".join(camel_parts(word))


def clear_caches() -> None:
    _joined_parts.cache_clear()
