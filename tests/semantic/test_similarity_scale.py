"""Limits of similarity are positions on a scale that is measured for each model."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.semantic.similarity_scale import SimilarityScale, TextEncoder, measure_scale
from tests.helpers.models import MODEL

COMMON = 0.7

# None of these is among the texts that a scale is measured with.
TEXTS = (
    "Migrate the orders table to a partitioned layout", "Why does the retry loop never stop?",
    "The Docker image is two gigabytes", "Add dark mode to the settings page",
    "The websocket drops after a minute",
)  # fmt: skip
QUERIES = (
    "split the orders relation by month", "endless attempts after a failure",
    "container size reduction", "night theme for preferences", "connection closed when idle",
)  # fmt: skip
NONSENSE = (
    "flurble grommet snorfblatt", "xqzt vbnm plokij", "9f8a7b6c5d4e", "wibble",
    "penguins swimming around Antarctica",
)  # fmt: skip


class CrowdedEncoder:
    """A model whose vectors have a part in common, so that all texts are similar, as with E5."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    def encode(self, texts: Sequence[str], is_query: bool = False) -> NDArray[np.float32]:
        vectors = self._encoder.encode(texts, is_query) * np.float32((1 - COMMON) ** 0.5)
        common = np.full((len(texts), 1), COMMON**0.5, np.float32)
        return np.concatenate([vectors, common], axis=1)


ENCODER = LightEncoder(MODEL)


def test_scale_of_the_default_model() -> None:
    assert measure_scale(ENCODER) == pytest.approx((0.041, 0.528), abs=0.005)


@pytest.mark.parametrize("encoder", [ENCODER, CrowdedEncoder(ENCODER)])
def test_positions_separate_nonsense_from_questions_for_every_model(encoder: TextEncoder) -> None:
    scale = measure_scale(encoder)
    texts = encoder.encode(TEXTS)
    assert (encoder.encode(NONSENSE, is_query=True) @ texts.T).max() < scale.at(0.6)
    assert (encoder.encode(QUERIES, is_query=True) * texts).sum(axis=1).min() > scale.at(0.43)


def test_position_is_between_the_ends() -> None:
    scale = SimilarityScale(0.5, 0.7)
    assert [round(scale.at(position), 3) for position in (0, 0.5, 1)] == [0.5, 0.6, 0.7]
