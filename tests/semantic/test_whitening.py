"""A whitened query counts more where the texts of a store differ."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ccgrep.semantic.whitening import whiten

DIMENSIONS = 32
SUBJECT, DETAIL = 0, 1
TEXTS = 300


def make_texts() -> NDArray[np.float32]:
    """Return vectors of length 1 that differ mostly in how much of the common subject they have."""
    texts = np.random.default_rng(1).standard_normal((TEXTS, DIMENSIONS)).astype(np.float32)
    texts[:, SUBJECT] = 20 + 10 * texts[:, SUBJECT]
    texts /= np.linalg.norm(texts, axis=1)[:, None]
    return texts


def make_query() -> NDArray[np.float32]:
    query = np.zeros(DIMENSIONS, np.float32)
    query[[SUBJECT, DETAIL]] = 0.9, 0.44
    return query


def test_whitened_query_solves_the_equation() -> None:
    texts, query = make_texts(), make_query()
    whitened = whiten(query, texts)
    covariance = np.cov(texts.T, bias=True)
    ridge = 2 * np.trace(covariance) / DIMENSIONS * np.eye(DIMENSIONS)
    expected = np.linalg.solve(covariance + ridge, query - texts.mean(axis=0))
    assert whitened == pytest.approx(expected / np.linalg.norm(expected), abs=1e-4)


def test_detail_counts_more_than_the_subject_that_all_texts_share() -> None:
    texts, query = make_texts(), make_query()
    whitened = whiten(query, texts)
    assert whitened is not None
    assert query[SUBJECT] > 2 * query[DETAIL]
    assert whitened[DETAIL] > 2 * abs(whitened[SUBJECT])


def test_query_stays_as_it_is_if_texts_are_few_or_equal() -> None:
    assert whiten(make_query(), make_texts()[:255]) is None
    assert whiten(make_query(), np.ones((TEXTS, DIMENSIONS), np.float32)) is None
