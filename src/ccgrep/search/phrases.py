"""Phrases in fields that do not know the order of their words: looked up in the text."""

from __future__ import annotations

from ccgrep.fulltext.reader import TOKENS, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.query import Unit
from ccgrep.search.request import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Need(NamedTuple):
    """Units, and how many of them a turn must have."""

    units: list[Unit]
    at_least: int


class Phrases:
    """Decides for turns, whose text `load` gives by field, whether they have what is needed."""

    def __init__(self, reader: TextReader, load: Callable[[Place, str], str]) -> None:
        self._reader = reader
        self._load = load

    def holds(self, place: Place, needs: Sequence[Need], fields: Sequence[str]) -> bool:
        words = {field: self._words(self._load(place, field), field) for field in fields}
        return any(
            sum(any(_stands(unit, words[f], f) for f in fields) for unit in need.units)
            >= need.at_least
            for need in needs
        )

    def _words(self, text: str, field: str) -> list[str]:
        if field in TOKENS:
            return self._reader.tokens(text)
        from ccgrep.fulltext.expand import expand  # noqa: PLC0415 - few queries have phrases

        return self._reader.stems(expand(text))


def _stands(unit: Unit, words: list[str], field: str) -> bool:
    if field in TOKENS:
        return _is_run(unit.tokens, words)
    if not set(unit.grams) <= set(words):
        return False
    return _is_run(unit.stems, words) or (len(unit.parts) > 1 and _is_run(unit.parts, words))


def _is_run(wanted: Sequence[str], words: list[str]) -> bool:
    """Whether `wanted` stands in `words`, one behind the other."""
    size = len(wanted)
    if size == 0:
        return True
    return any(
        words[at : at + size] == list(wanted) for at, word in enumerate(words) if word == wanted[0]
    )
