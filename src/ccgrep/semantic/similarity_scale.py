"""What a similarity means for a model: measured once, on fixed texts.

Unrelated texts have a cosine of about 0.05 for one model and of 0.75 for another. So limits are not
cosines, but positions between two measured ones: 0 is the mean of nonsense and any text, 1 the mean
of texts that say the same in other words. docs/relevance.md has the scales of the tried models.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PARAPHRASES = (
    ("the build fails because a package is missing",
     "Install the dependency that the compiler cannot find."),
    ("make the search faster", "Speed up queries by caching the results."),
    ("users cannot log in after the update",
     "Since the release, authentication rejects every account."),
    ("delete old backups automatically",
     "Remove archives that are more than thirty days old each night."),
    ("why is the page blank on phones?", "On mobile devices nothing is rendered."),
    ("rename a function in all files", "Change the name of this method across the code base."),
    ("the database is locked",
     "A transaction that never ended holds the lock on the tables."),
    ("write unit tests for the parser", "Add test cases that cover how input is parsed."),
    ("send an email when a job fails",
     "Notify the team by mail if the task does not succeed."),
    ("translate the interface into German",
     "Add a German localisation of the user interface."),
    ("the graph shows wrong numbers", "The values in the chart are incorrect."),
    ("deploy to the staging server", "Roll the new version out to the test environment."),
)  # fmt: skip
_NONSENSE = (
    "zorblax quimby fenwick", "kjhg fdsa poiu", "glimmerous tooth parade", "bb3e91f07ac2",
    "snargle", "mooncheese violin archipelago", "wqe rty uio",
    "the quiet teapot dreams of geometry", "0000 1111 2222", "frobnicate the wug",
)  # fmt: skip
_MIN_WIDTH = 0.01
_TYPICAL_POSITIONS = (-0.1, 0.3)
_TYPICAL_TEXTS = 100
"""Texts that are assumed beside those of a store, which may have only a few. Half of them have each
of the typical similarities."""


class TextEncoder(Protocol):
    """Any encoder of queries and texts."""

    def encode(self, texts: Sequence[str], is_query: bool = False) -> "NDArray[np.float32]": ...


class SimilarityScale(NamedTuple):
    """The cosines at 0 and at 1."""

    low: float
    high: float

    def at(self, position: float) -> float:
        """Return the cosine at a position of the scale."""
        return self.low + position * (self.high - self.low)


def measure_scale(encoder: TextEncoder) -> SimilarityScale:
    """Return the scale of an encoder's model. This encodes some thirty short texts."""
    queries = encoder.encode([query for query, _ in _PARAPHRASES], is_query=True)
    texts = encoder.encode([text for _, text in _PARAPHRASES])
    nonsense = encoder.encode(_NONSENSE, is_query=True)
    low = float((nonsense @ texts.T).mean())
    high = float((queries * texts).sum(axis=1).mean())
    return SimilarityScale(round(low, 3), round(max(high, low + _MIN_WIDTH), 3))


class Match(NamedTuple):
    """The part of a text that is nearest to a query."""

    similarity: float
    start: int
    end: int
    deviation: float = 0.0
    """How many standard deviations the text is nearer than the average text."""


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
