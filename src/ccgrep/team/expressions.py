"""Queries on fetched documents, with the scores that Tantivy would give them. Pure.

    score(word) = idf × tf × (1 + K1) / (tf + K1 × (1 − B + B × length / average length))
    idf         = ln(1 + (N − n + 0.5) / (n + 0.5))

Length is the number of words of a field, rounded down to one of 256 values as Tantivy does. N, n
and the average are of all turns that the person may see: the server counts them.
"""

from __future__ import annotations

from bisect import bisect_right
from math import log

from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccgrep.team.candidate import Candidate

    Score = float | None
    """None if a document does not match."""

K1, B = 1.2, 0.75
FIELDS = ("said", "title", "tool", "output", "thinking", "note")
"""The fields whose lengths the server knows, in its order."""


def _length_steps() -> list[int]:
    """Return the lengths that one byte can express, as in Lucene's SmallFloat."""
    steps = list(range(24))
    for code in range(256 - 24):
        shift = max((code >> 3) - 1, 0)
        steps.append(24 + (code if code < 8 else ((code & 7) | 8) << shift))
    return steps


_STEPS = _length_steps()


class Statistics(NamedTuple):
    """What the server counted: documents, words in each field, documents with each lexeme."""

    documents: int
    totals: Mapping[str, int]
    counts: Mapping[str, int]

    def rarity(self, lexeme: str) -> float:
        found = min(self.counts.get(lexeme, 0), self.documents)
        return log(1 + (self.documents - found + 0.5) / (found + 0.5))

    def bm25(self, weight: float, field: str, frequency: int, length: int) -> float:
        average = self.totals[field] / max(self.documents, 1) or 1.0
        rounded = _STEPS[bisect_right(_STEPS, length) - 1]
        return weight * (1 + K1) * frequency / (frequency + K1 * (1 - B + B * rounded / average))


class Expression:
    """A query: scores a document, or rejects it."""

    def score(self, document: Candidate) -> Score:
        raise NotImplementedError

    def occurs(self) -> bool:
        """Return whether the counts alone show that some turn of the server matches."""
        return False


class Everything(Expression):
    def score(self, document: Candidate) -> Score:  # noqa: ARG002 - all match
        return 1.0


class Exact(Expression):
    """Documents with one of these values of an exact field."""

    def __init__(self, field: str, values: frozenset[str | int]) -> None:
        self._field, self._values = field, values

    def score(self, document: Candidate) -> Score:
        return None if self._values.isdisjoint(document.values(self._field)) else 1.0


class Trigram(Expression):
    """Documents whose discussion has three characters in sequence."""

    def __init__(self, gram: str) -> None:
        self._gram = gram

    def score(self, document: Candidate) -> Score:
        return 1.0 if self._gram in document.fold_discussion() else None


class Word(Expression):
    """Documents that have a word in a field."""

    def __init__(self, statistics: Statistics, field: str, word: str, lexeme: str) -> None:
        self._statistics, self._field, self._word = statistics, field, word
        self._weight = statistics.rarity(lexeme)
        self._lexeme = lexeme

    def occurs(self) -> bool:
        return self._statistics.counts.get(self._lexeme, 0) > 0

    def score(self, document: Candidate) -> Score:
        if self._field in ("said", "title"):
            frequency = len(document.positions(self._field, self._word))
        else:
            frequency = int(self._lexeme in document.lexemes)
        if not frequency:
            return None
        length = document.lengths[FIELDS.index(self._field)]
        return self._statistics.bm25(self._weight, self._field, frequency, length)


class Phrase(Expression):
    """Documents that have words in sequence, or the second of two within `slop` of its place."""

    def __init__(
        self, statistics: Statistics, field: str, words: Sequence[str], weight: float, slop: int
    ) -> None:
        self._statistics, self._field, self._words = statistics, field, words
        self._weight, self._slop = weight, slop

    def score(self, document: Candidate) -> Score:
        first, *others = (document.positions(self._field, word) for word in self._words)
        ends = [frozenset(positions) for positions in others]
        frequency = sum(
            all(
                any(start + offset + shift in end for shift in range(-self._slop, self._slop + 1))
                for offset, end in enumerate(ends, 1)
            )
            for start in first
        )
        if not frequency:
            return None
        length = document.lengths[FIELDS.index(self._field)]
        return self._statistics.bm25(self._weight, self._field, frequency, length)


class Sided(Expression):
    """Documents that have a word of the discussion in the prompt, or else in the answer."""

    def __init__(self, word: Expression, stem: str, is_prompt: bool) -> None:
        self._expression, self._stem, self._is_prompt = word, stem, is_prompt

    def score(self, document: Candidate) -> Score:
        found = document.positions("said", self._stem)
        is_there = any((position < document.mark) == self._is_prompt for position in found)
        return self._expression.score(document) if is_there else None


class Constant(Expression):
    """Documents of another query, all with the same score."""

    def __init__(self, inner: Expression, value: float) -> None:
        self._inner, self._value = inner, value

    def score(self, document: Candidate) -> Score:
        return None if self._inner.score(document) is None else self._value


class Boosted(Expression):
    """Documents of another query, with their scores multiplied."""

    def __init__(self, inner: Expression, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def score(self, document: Candidate) -> Score:
        score = self._inner.score(document)
        return None if score is None else score * self._factor


class Best(Expression):
    """Documents of any query, with the best score."""

    def __init__(self, parts: Sequence[Expression]) -> None:
        self._parts = parts

    def occurs(self) -> bool:
        return any(part.occurs() for part in self._parts)

    def score(self, document: Candidate) -> Score:
        return max(_scores(self._parts, document), default=None)


class AtLeast(Expression):
    """Documents of at least some of the queries, with the sum of the scores."""

    def __init__(self, parts: Sequence[Expression], number: int) -> None:
        self._parts, self._number = parts, number

    def occurs(self) -> bool:
        return self._number <= 1 and any(part.occurs() for part in self._parts)

    def score(self, document: Candidate) -> Score:
        scores = _scores(self._parts, document)
        return sum(scores) if scores and len(scores) >= self._number else None


class Combined(Expression):
    """Documents of a query that match all of `must` and none of `never`; `bonus` adds to it."""

    def __init__(
        self,
        query: Expression,
        must: Sequence[Expression],
        never: Sequence[Expression],
        bonus: Sequence[Expression],
    ) -> None:
        self._query, self._must, self._never, self._bonus = query, must, never, bonus

    def score(self, document: Candidate) -> Score:
        score = self._query.score(document)
        if score is None or any(part.score(document) is None for part in self._must):
            return None
        if any(part.score(document) is not None for part in self._never):
            return None
        return score + sum(_scores(self._bonus, document))


def _scores(parts: Sequence[Expression], document: Candidate) -> list[float]:
    return [score for part in parts if (score := part.score(document)) is not None]
