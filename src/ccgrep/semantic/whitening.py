"""Make a query count more where the texts of a store differ, and less where they are alike.

The texts of one history share subject and style, so a large part of every vector is the same.
Whitening divides the vectors by their covariance C, and it is enough to do so for the query q:

    (C + ridge) whitened = q − mean

The equation is solved by conjugate gradients, so C is never computed.
"""

import numpy as np
from numpy.typing import NDArray

_MIN_TEXTS = 256
"""With 100 vectors, whitening made the ranking worse (docs/relevance.md)."""
_RIDGE = 2.0
"""The ridge is this multiple of the mean variance of a dimension."""
_STEPS = 10


def whiten(query: NDArray[np.float32], texts: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the whitened query with length 1, or None if the texts are too few or all equal.

    `texts` has a row for each vector of a sample.
    """
    if len(texts) < _MIN_TEXTS:
        return None
    mean = texts.mean(axis=0)
    centred = texts - mean
    ridge = _RIDGE * float(np.vdot(centred, centred)) / centred.size
    rest = query - mean
    direction = rest.copy()
    solution = np.zeros_like(rest)
    error = float(rest @ rest)
    for _ in range(_STEPS):
        if not error * ridge:
            break
        product = (centred @ direction) @ centred / len(centred) + ridge * direction
        step = error / float(direction @ product)
        solution += step * direction
        rest -= step * product
        error, previous = float(rest @ rest), error
        direction = rest + error / previous * direction
    length = float(np.linalg.norm(solution))
    return solution / length if length else None
