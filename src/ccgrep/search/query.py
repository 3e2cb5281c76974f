"""What was typed, taken apart into units that a turn has or has not. Pure.

Any string is a query: there is no syntax but `"a phrase"`. A unit is what stood between
blanks, or a phrase. Most are one word; `auth_token` and `src/auth.ts` are phrases of their
parts, and Chinese, Japanese or Korean becomes pairs of neighbouring characters.
"""

from __future__ import annotations

from ccgrep.errors import UsageError
from ccgrep.fulltext.terms import camel_parts, cjk_runs, cjk_words, fold, without_cjk
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Analyze = Callable[[str], list[str]]

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
"""Words that a question is made of, and that say little about what is looked for."""


class Unit(NamedTuple):
    """Something to be found: its stems one after the other, and every one of `grams`.

    `words` are the same before stemming; `parts` the stems of a camelCase word's parts, and
    `tokens` the words as they stand in text that is not taken apart.
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
    def is_phrase(self) -> bool:
        return len(self.stems) > 1 or len(self.tokens) > 1


def parse(text: str, stems: Analyze, tokens: Analyze) -> list[Unit]:
    """The units of a query, each once; none when there is no word in it."""
    if len(text) > _MAX_CHARS:
        raise UsageError(f"a query has at most {_MAX_CHARS} characters: ask for less")
    units: dict[Unit, None] = {}
    for typed, is_quoted in _typed(text):
        unit = _unit(typed, stems, tokens)._replace(is_quoted=is_quoted)
        if unit.stems or unit.grams or unit.tokens:
            units.setdefault(unit)
        if len(units) > _MAX_UNITS:
            raise UsageError(
                f"{clip(one_line(text), 40)} has more than {_MAX_UNITS} words: ask for less"
            )
    return list(units)


def _typed(text: str) -> Iterator[tuple[str, bool]]:
    """What stands between blanks or in quotes, and which of them. A quote without another one
    behind it is none."""
    pieces = text.split('"')
    for number, piece in enumerate(pieces):
        if number % 2 and number < len(pieces) - 1:
            yield piece, True
        else:
            yield from ((word, False) for word in piece.split())


def _unit(typed: str, stems: Analyze, tokens: Analyze) -> Unit:
    folded = fold(typed)
    runs = cjk_runs(folded)
    grams = [word for run in runs for word in _run_words(run)]
    rest = without_cjk(folded)
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


def _run_words(run: str) -> list[str]:
    """What finds a run of characters: its pairs, or the one that it is."""
    return [run] if len(run) == 1 else [word for word in cjk_words(run) if len(word) > 1]


def content_units(units: list[Unit]) -> list[Unit]:
    """What a question asks for: each word for itself, stop words only if there is nothing else.

    `Caroline's` and `src/auth.ts` are taken apart here; what was quoted stays.
    """
    if len(units) == 1:
        return units  # One thing was asked for, and it is not there.
    apart = {one: None for unit in units for one in _apart(unit)}
    return [unit for unit in apart if not unit.is_stop_word] or list(apart)


def _apart(unit: Unit) -> list[Unit]:
    if unit.is_quoted or len(unit.stems) < 2 or unit.grams:
        return [unit]
    pairs = zip(unit.stems, unit.words, strict=False)
    return [Unit(word, (stem,), (word,), (), (word,)) for stem, word in pairs]


def most(number: int) -> int:
    """How many of a question's words a turn must have at least.

    Two of two or three; of more, one will do here, since `engine` then asks that what a turn has
    weighs enough beside the best: a rare word says more than three common ones.
    """
    return min(number, 2) if number <= 3 else 1
