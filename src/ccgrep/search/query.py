"""Query parsing: splits a query into units, which a turn contains or not. Pure.

Any string is a query; the only syntax is `"a phrase"`. A unit is a word between spaces or a
phrase. `auth_token` and `src/auth.ts` are phrases of their parts. Chinese, Japanese and Korean
text becomes pairs of adjacent characters.
"""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.fulltext.terms import (
    camel_parts,
    cjk_runs,
    cjk_words,
    fold,
    remove_cjk,
)
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Analyze = Callable[[str], list[str]]

_MAX_STRICT_WORDS = 3
"""A longer query may be a question: a turn that answers it need not have every word."""
_MAX_UNITS = 200
_MAX_CHARS = 8192

STOP_WORDS = frozenset(
    "a about after again all also am an and any are as at be because been before being between "
    "both but by can could d did do does doing done each few for from further get got had has "
    "have having he her here him his how i if in into is it its just let ll m me more most my no "
    "not o of on or other our out over own re s same she should so some such t than that the "
    "their them then there these they this those to too up us ve very was we were what when "
    "where which while who whom why will with would you your".split()
)
"""Words that occur in most questions and say little about their subject."""


class Unit(NamedTuple):
    """A word or phrase: a turn must contain `stems` in sequence and all of `grams`.

    `words` are the stems before stemming, and `parts` the stems of a camelCase word's parts.
    `tokens` are for fields whose words are neither stemmed nor split.
    """

    typed: str
    stems: tuple[str, ...]
    words: tuple[str, ...]
    parts: tuple[str, ...]
    tokens: tuple[str, ...]
    grams: tuple[str, ...] = ()
    is_quoted: bool = False

    @property
    def is_stop_word(self) -> bool:
        return not self.grams and len(self.words) == 1 and self.words[0] in STOP_WORDS

    @property
    def is_name(self) -> bool:
        """Return whether this is a phrase, a number, or looks like a name in code or a path."""
        return self.is_quoted or (not self.grams and _is_name(self.typed))

    @property
    def is_phrase(self) -> bool:
        return len(self.stems) > 1 or len(self.tokens) > 1


class Requirement(NamedTuple):
    """The units of one pattern, and how many of them a turn must have."""

    units: list[Unit]
    at_least: int

    def needs_text(self, fields_without_positions: Sequence[str]) -> bool:
        """Return whether the index alone cannot tell if a turn has the units."""
        is_unordered = bool(fields_without_positions)
        return any(unit.is_quoted or (unit.is_phrase and is_unordered) for unit in self.units)

    def only_quoted(self) -> Requirement:
        """Return a requirement of all quoted phrases alone."""
        units = [unit for unit in self.units if unit.is_quoted]
        return Requirement(units, len(units))


def parse(text: str, stems: Analyze, tokens: Analyze) -> list[Unit]:
    """Return the units of a query, each once."""
    if len(text) > _MAX_CHARS:
        raise UsageError(f"the query is longer than {_MAX_CHARS} characters: shorten it")
    units: dict[Unit, None] = {}
    for typed, is_quoted in _split_query(text):
        unit = _unit(typed, stems, tokens)._replace(is_quoted=is_quoted)
        if unit.stems or unit.grams or unit.tokens:
            units.setdefault(unit)
        if len(units) > _MAX_UNITS:
            raise UsageError(
                f"'{clip(one_line(text), 40)}' has more than {_MAX_UNITS} words: shorten it"
            )
    return list(units)


def _split_query(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words and quoted phrases, each with whether it was quoted. A last odd quote is text."""
    parts = text.split('"')
    for number, part in enumerate(parts):
        if number % 2 and number < len(parts) - 1:
            yield part, True
        else:
            yield from ((word, False) for word in part.split())


def _unit(typed: str, stems: Analyze, tokens: Analyze) -> Unit:
    folded = fold(typed)
    grams = [gram for run in cjk_runs(folded) for gram in _cjk_grams(run)]
    rest = remove_cjk(folded)
    words = tokens(rest)
    parts = stems(" ".join(camel_parts(rest.strip()))) if len(words) == 1 else []
    return Unit(
        typed=typed,
        stems=tuple(stems(rest)),
        words=tuple(words),
        parts=tuple(parts),
        tokens=tuple(tokens(typed)),
        grams=tuple(dict.fromkeys(grams)),
    )


def _cjk_grams(run: str) -> list[str]:
    """Return the pairs of adjacent characters, or the character if there is only one."""
    return [run] if len(run) == 1 else [word for word in cjk_words(run) if len(word) > 1]


def content_units(units: list[Unit]) -> list[Unit]:
    """Return the single words of a query without stop words, unless it has no other words.

    Words such as `Caroline's` and `src/auth.ts` are split, and so is Chinese, Japanese and Korean
    text, which has no spaces between words. Quoted phrases stay whole.
    """
    if len(units) == 1 and not units[0].grams:
        return units  # A relaxed search must not match only a part of it.
    split = {part: None for unit in units for part in _split_unit(unit)}
    return [unit for unit in split if not unit.is_stop_word] or list(split)


def _split_unit(unit: Unit) -> list[Unit]:
    if unit.is_quoted or len(unit.stems) + len(unit.grams) < 2:
        return [unit]
    pairs = zip(unit.stems, unit.words, strict=False)
    words = [Unit(word, (stem,), (word,), (), (word,)) for stem, word in pairs]
    return words + [Unit(gram, (), (), (), (), (gram,)) for gram in unit.grams]


def _is_name(word: str) -> bool:
    """Return whether a word has a digit, an underscore, inner punctuation or camelCase."""
    if len(word) < 3:
        return False
    if word.startswith("--") or any(char.isdigit() or char == "_" for char in word):
        return True
    return any(
        (one.islower() and two.isupper()) or (one.isalnum() and two in "./\\=:" and three.isalnum())
        for one, two, three in zip(word, word[1:], f"{word[2:]} ", strict=False)
    )


def is_question(text: str) -> bool:
    """Return whether a query asks in plain words, at least four without stop words.

    Names in code, numbers and quotes are looked for as they are.
    """
    if '"' in text:
        return False
    count = 0
    for word in text.split():
        runs = cjk_runs(word)
        if not runs and _is_name(word):
            return False
        # Two Chinese, Japanese or Korean characters are about one word.
        count += sum(map(len, runs)) // 2 or word.strip("?!.,;:").lower() not in STOP_WORDS
    return count > _MAX_STRICT_WORDS


def min_units(count: int) -> int:
    """Return how many of `count` words a turn must have to match most of them.

    Of four or more words one is enough here, because `word_search` then drops turns that score
    far below the best: one rare word says more than three common ones.
    """
    return min(count, 2) if count <= 3 else 1


def shared_prefix(stem: str) -> str:
    """Return the beginning of all words with this stem: only its last letter may differ."""
    if stem in ("die", "lie", "tie"):
        return stem[0]  # of dying, lying and tying
    return stem[:-1] if len(stem) > 2 else stem
