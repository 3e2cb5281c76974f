"""Phrases in tool output are found as if the whole text were split into words."""

import random

import pytest

from ccgrep.fulltext.expand import expand, mixed_words
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.schema import open_tantivy
from ccgrep.fulltext.terms import camel_parts, fold, remove_cjk
from ccgrep.search.phrase_check import PhraseCheck
from ccgrep.search.query import Requirement, Unit, parse
from tests.helpers import scale

READER = TextReader(open_tantivy(None))
PIECES = (
    "src auth Auth auths ts Ts TS authTs srcAuthTs src2 v3.12 3 12 3.12.7 pr PR print #12 () "
    "résumé resume resu\u0301me ﬁle file K k … — ж srcж 认证 src认证 １２ x²"
).split()
LONG = "a1" * 150
QUERIES = (
    "src/auth.ts",
    "auth_ts",
    "PR #12",
    "3.12",
    "resume.file",
    "authTs",
    "k/ts",
    "src",
    "认证ts",
)


def contains(words: list[str], sequence: tuple[str, ...]) -> bool:
    size = len(sequence)
    return any(tuple(words[at : at + size]) == sequence for at in range(len(words) - size + 1))


def has_unit(text: str, unit: Unit, field: str, is_indexed: bool) -> bool:
    """Return whether a text has a unit, by splitting all of it into words.

    In the index, the parts of one word follow those of another one. That is no phrase, but may be
    taken for one (`is_indexed`).
    """
    if field == "output":
        return contains(READER.tokens(text), unit.tokens)
    if not set(unit.grams) <= set(READER.stems(expand(text))):
        return False
    folded = remove_cjk(fold(text))
    sequences = [READER.stems(folded)]
    sequences += [READER.stems(" ".join(camel_parts(word))) for word in mixed_words(folded)]
    if is_indexed:
        sequences.append(READER.stems(expand(text)))
    wanted = [unit.stems] + ([unit.parts] if len(unit.parts) > 1 else [])
    return any(contains(words, one) for words in sequences for one in wanted)


@pytest.mark.parametrize("field", ["output", "tool"])
def test_phrase_is_found_where_its_words_follow_each_other(field: str) -> None:
    generator = random.Random(26)
    check = PhraseCheck(READER.stems, READER.tokens)
    found = 0
    for _ in range(scale.of(3000, 100_000)):
        pieces = generator.choices([*PIECES, LONG], [1] * len(PIECES) + [0.5], k=5)
        text = "".join(
            piece + generator.choice(["", " ", "/", ".", "_", "\n", "é"]) for piece in pieces
        )
        query = generator.choice(QUERIES)
        (unit, *others) = parse(query, READER.stems, READER.tokens)
        units = [unit, *others]
        least, most = (all(has_unit(text, one, field, i) for one in units) for i in (False, True))
        is_found = check.meets_any([Requirement(units, len(units))], {field: text})
        assert least <= is_found <= most, (query, text)
        found += is_found
    assert found > 50
