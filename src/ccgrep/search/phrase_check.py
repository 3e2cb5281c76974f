"""Checks whether a text has a word or phrase of a query. Pure.

The index has no word positions in tool calls, output and thinking, so phrases in them are verified
on the text. Splitting megabytes into words takes long. So a regular expression first finds the
spots where the words may be, and only these are split as the index does.
"""

from __future__ import annotations

from ccgrep.fulltext.expand import expand
from ccgrep.fulltext.schema import TOKENS
from ccgrep.fulltext.terms import MAX_WORD_CHARS, reveal_ascii
from ccgrep.lazy_re import compile_pattern
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.as_typed import has_any
from ccgrep.search.query import shared_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ccgrep.search.query import Analyze, Requirement, Unit

_KELVIN = "\N{KELVIN SIGN}"  # the only character beyond ASCII whose lower case is in ASCII
_WINDOW = 2 * MAX_WORD_CHARS
_LONG_RUN = rf"[^\x00-/:-@\[-`{{-\x7f]{{{MAX_WORD_CHARS},}}+"
_GAP = rf"[^a-z0-9]++(?:{_LONG_RUN}[^a-z0-9]++)*"
"""What may be between two words: the index drops runs that are too long for a word.

The pattern takes everything beyond ASCII for both a letter and no letter.
"""
_IN_WORD = "[a-z0-9.]{0,62}?"
_WORD_BYTES = bytes(code for code in range(256) if code > 127 or chr(code).isalnum()) + b"."
"""The bytes of words, and the dot, because `v3.12` has the part 12."""


class PhraseCheck:
    """Tells whether texts meet a requirement. `stems` and `tokens` split as the index does."""

    def __init__(self, stems: Analyze, tokens: Analyze) -> None:
        self._stems = stems
        self._tokens = tokens

    def meets_any(self, requirements: Sequence[Requirement], texts: Mapping[str, str]) -> bool:
        """Return whether the texts of a turn's fields meet one of the requirements."""
        return self.count_fields(requirements, texts) <= len(texts)

    def count_fields(
        self, requirements: Sequence[Requirement], texts: Mapping[str, str], least: int = 0
    ) -> int:
        """Return how many of the first fields meet a requirement, but `least` or more.

        If all of them do not, that is one more than there are.
        """
        fields = [_Field(name, text) for name, text in texts.items()]
        for count in (least or len(fields), len(fields)):
            if self._meets_any(requirements, fields[:count]):
                return count
        return len(fields) + 1

    def _meets_any(self, requirements: Sequence[Requirement], fields: Sequence[_Field]) -> bool:
        return any(
            sum(any(self._has_unit(field, unit) for field in fields) for unit in one.units)
            >= one.at_least
            for one in requirements
        )

    def _has_unit(self, field: _Field, unit: Unit) -> bool:
        if unit not in field.units:
            field.units[unit] = bool(field.text) and self._find_unit(field, unit)
        return field.units[unit]

    def _find_unit(self, field: _Field, unit: Unit) -> bool:
        if unit.is_quoted:
            return has_any([field.text], [unit.typed])
        if field.is_unstemmed:
            return any(
                _has_sequence(self._tokens(text), unit.tokens) for text in field.parts(unit.tokens)
            )
        parts = [unit.parts] if len(unit.parts) > 1 else []
        return any(
            self._has_stems(text, stems, unit.grams)
            for stems in (unit.stems, *parts)
            for text in ([field.text] if unit.grams else field.parts(stems))
        )

    def _has_stems(self, text: str, stems: Sequence[str], grams: Sequence[str]) -> bool:
        words = self._stems(expand(text))
        return set(grams) <= set(words) and _has_sequence(words, stems)


class _Field:
    """The text of a field of a turn, and the same in bytes, which are quick to search."""

    def __init__(self, name: str, text: str) -> None:
        self.text = text
        self.units: dict[Unit, bool] = {}  # whether the text has them, as far as known
        self.is_unstemmed = name in TOKENS
        self._bytes = b""
        self._lower = b""

    def parts(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the different parts of the text that may have words in sequence."""
        if not words or not all(map(str.isascii, words)):
            yield self.text
            return
        if not self._bytes:
            self._bytes = self._fold().encode("utf-8", "replace")
            self._lower = self._bytes.lower()
        if not self.is_unstemmed:
            words = [*map(shared_prefix, words)]
        if not all(word.encode() in self._lower for word in words):
            return
        pattern = compile_pattern(phrase_pattern(words, self.is_unstemmed).encode())
        seen: set[bytes] = set()
        for match in pattern.finditer(self._lower):
            window = self._window(match.start(), match.end(1))
            if window not in seen:
                seen.add(window)
                yield window.decode("utf-8", "replace")

    def _fold(self) -> str:
        """Return the text with what the index takes for ASCII letters in place of others."""
        if self.is_unstemmed:
            return self.text.replace(_KELVIN, "k")
        return reveal_ascii(self.text)

    def _window(self, start: int, end: int) -> bytes:
        """Return a part of the text with whole words at its ends."""
        before = self._bytes[max(start - _WINDOW, 0) : start]
        after = self._bytes[end : end + _WINDOW]
        start -= len(before) - len(before.rstrip(_WORD_BYTES))
        end += len(after) - len(after.lstrip(_WORD_BYTES))
        return self._bytes[start:end]


def phrase_pattern(words: Sequence[str], is_unstemmed: bool = False) -> str:
    """Return a pattern for words in sequence, whose first group ends with the last of them.

    It starts with a literal, which is quick to find. The words are prefixes, or whole words if
    `is_unstemmed`. Prefixes may also be parts of a single word in camelCase.
    """
    first, *others = words
    at_start = rf"(?<![a-z0-9]{first})"
    if is_unstemmed:
        return rf"{first}(?=({at_start}{''.join(_GAP + word for word in others)}(?![a-z0-9])))"
    if not others:
        return f"{first}(?=())"
    apart = "".join(f"[a-z0-9]*+{_GAP}{word}" for word in others)
    return f"{first}(?=({at_start}{apart}|{_IN_WORD}{others[0]}))"


def _has_sequence(words: list[str], sequence: Sequence[str]) -> bool:
    """Return whether `sequence` occurs in `words` without gaps."""
    wanted = list(sequence)
    at = -1
    while wanted:
        try:
            at = words.index(wanted[0], at + 1)
        except ValueError:
            return False
        if words[at : at + len(wanted)] == wanted:
            return True
    return True
