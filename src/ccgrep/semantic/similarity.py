"""How similar a query is to a text, and to texts in general. Pure."""

from typing import NamedTuple

from ccgrep.semantic.similarity_scale import SimilarityScale

_TYPICAL_POSITIONS = (-0.1, 0.3)
_TYPICAL_TEXTS = 100
"""Texts that are assumed beside those of a store, which may have only a few. Half of them have each
of the typical similarities."""


class Match(NamedTuple):
    """The part of a text that is nearest to a query."""

    similarity: float
    start: int
    end: int


class Background(NamedTuple):
    """The similarity of a query to all texts."""

    mean: float
    spread: float  # the standard deviation

    def deviation(self, similarity: float) -> float:
        """Return how many standard deviations a similarity is above the mean."""
        return (similarity - self.mean) / self.spread


def make_background(texts: int, mean: float, variance: float, scale: SimilarityScale) -> Background:
    """Return the background of measured similarities and of the typical ones.

    The distance between the typical and the actual mean does not count as deviation: some models
    find all texts of a store more similar than typical ones.
    """
    low, high = map(scale.at, _TYPICAL_POSITIONS)
    total = texts + _TYPICAL_TEXTS
    whole_mean = (texts * mean + _TYPICAL_TEXTS * (low + high) / 2) / total
    whole_variance = (texts * variance + _TYPICAL_TEXTS * ((high - low) / 2) ** 2) / total
    return Background(whole_mean, whole_variance**0.5)
