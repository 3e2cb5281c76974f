"""Phrases in fields without word positions: verified on the text of the turn."""

from __future__ import annotations

from ccgrep.fulltext.reader import TOKENS, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.query import Unit
from ccgrep.search.request import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    LoadField = Callable[[Place, str], str]
    """Returns the text of a field of the turn at a place."""


class Requirement(NamedTuple):
    """The units of one pattern, and how many of them a turn must have."""

    units: list[Unit]
    at_least: int


class PhraseVerifier:
    """Checks on the text whether turns meet one of several requirements."""

    def __init__(self, reader: TextReader, load: LoadField) -> None:
        self._reader = reader
        self._load = load

    def is_match(
        self, place: Place, requirements: Sequence[Requirement], fields: Sequence[str]
    ) -> bool:
        words = {field: self._words(self._load(place, field), field) for field in fields}
        return any(
            sum(any(_has_unit(words[f], unit, f) for f in fields) for unit in required.units)
            >= required.at_least
            for required in requirements
        )

    def _words(self, text: str, field: str) -> list[str]:
        if field in TOKENS:
            return self._reader.tokens(text)
        from ccgrep.fulltext.expand import expand  # noqa: PLC0415 - few queries have phrases

        return self._reader.stems(expand(text))


def _has_unit(words: list[str], unit: Unit, field: str) -> bool:
    if field in TOKENS:
        return _has_sequence(words, unit.tokens)
    if not set(unit.grams) <= set(words):
        return False
    return _has_sequence(words, unit.stems) or (
        len(unit.parts) > 1 and _has_sequence(words, unit.parts)
    )


def _has_sequence(words: list[str], sequence: Sequence[str]) -> bool:
    """Return whether `sequence` occurs in `words` without gaps."""
    size = len(sequence)
    if size == 0:
        return True
    return any(
        words[at : at + size] == list(sequence)
        for at, word in enumerate(words)
        if word == sequence[0]
    )
