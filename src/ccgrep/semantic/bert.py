"""The forward pass of BERT in numpy: tokens in, a vector for each of them out.

The same arithmetic as in the model's own library, in float32. The weights stay in the mapped file.
Large intermediate results are computed a block of rows at a time, to stay in the cache.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ccgrep.semantic.model_settings import Bert
from ccgrep.semantic.safetensors import Tensors

Floats = NDArray[np.float32]
Linear = tuple[Floats, Floats]
Norm = tuple[Floats, Floats]

_ROWS = 256
_MASK = np.float32(-1e30)
"""Added to the attention to padding: exp() makes it 0."""

# erf(x) for |x| <= 4 as x P(x²) / Q(x²): the minimax coefficients for float32 of Eigen and XLA.
# Beyond 4 it is ±1 to float32.
_ERF_P = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_ERF_Q = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
    -1.42647390514189e-02,
)  # fmt: skip
_ERF_LIMIT = 4
_BLOCK = 32_768
"""Numbers that gelu computes at once: few enough for the cache, enough to be worth the calls."""


def _scale_polynomial(coefficients: tuple[float, ...], factor: float) -> tuple[np.float32, ...]:
    """Return `factor` times a polynomial of x²/2, as a polynomial of x²."""
    highest = len(coefficients) - 1
    return tuple(
        np.float32(factor * coefficient * 0.5 ** (highest - at))
        for at, coefficient in enumerate(coefficients)
    )


# erf(x/√2) / 2 = x P(x²) / Q(x²)
_P = _scale_polynomial(_ERF_P, math.sqrt(0.5) / 2)
_Q = _scale_polynomial(_ERF_Q, 1)
_LIMIT = np.float32(_ERF_LIMIT * math.sqrt(2))


class Layer:
    """The weights of one layer."""

    def __init__(self, tensors: Tensors, prefix: str, bert: Bert) -> None:
        def linear(name: str, outputs: int, inputs: int) -> Linear:
            weight = tensors.get(f"{prefix}{name}.weight", outputs, inputs)
            return weight.T, tensors.get(f"{prefix}{name}.bias", outputs)

        def norm(name: str) -> Norm:
            return _norm_weights(tensors, prefix + name, bert.hidden)

        width, wide = bert.hidden, bert.intermediate
        self.query = linear("attention.self.query", width, width)
        self.key = linear("attention.self.key", width, width)
        self.value = linear("attention.self.value", width, width)
        self.attended = linear("attention.output.dense", width, width)
        self.attended_norm = norm("attention.output.LayerNorm")
        self.widen = linear("intermediate.dense", wide, width)
        self.narrow = linear("output.dense", width, wide)
        self.output_norm = norm("output.LayerNorm")


class Transformer:
    def __init__(self, tensors: Tensors, bert: Bert) -> None:
        start = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""
        embeddings = start + "embeddings."
        self.bert = bert
        self._words = tensors.get(embeddings + "word_embeddings.weight", -1, bert.hidden)
        self._positions = tensors.get(
            embeddings + "position_embeddings.weight", bert.positions, bert.hidden
        )
        self._types = tensors.get(embeddings + "token_type_embeddings.weight", -1, bert.hidden)
        if not len(self._types):
            raise tensors.damage_error("it has no token types")
        self._norm = _norm_weights(tensors, embeddings + "LayerNorm", bert.hidden)
        self.layers = [
            Layer(tensors, f"{start}encoder.layer.{number}.", bert) for number in range(bert.layers)
        ]

    @property
    def vocabulary(self) -> int:
        return len(self._words)

    def forward(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
        """Return vectors (texts, tokens, hidden). The first `lengths` of `ids` are no padding."""
        texts, tokens = ids.shape
        rows: Floats = self.embed(ids).reshape(texts * tokens, -1)
        is_padding = np.arange(tokens) >= lengths[:, None]
        mask = (is_padding * _MASK)[:, None, None, :] if is_padding.any() else None
        for layer in self.layers:
            rows = self._attend(layer, rows, texts, mask)
            rows = self._feed_forward(layer, rows)
        return rows.reshape(texts, tokens, -1)

    def embed(self, ids: NDArray[np.int64]) -> Floats:
        """Return the input of the first layer: (texts, tokens, hidden)."""
        tokens = ids.shape[1]
        embedded: Floats = self._words[ids] + (self._positions[:tokens] + self._types[0])
        _normalise(embedded.reshape(ids.size, -1), self._norm, self.bert.epsilon)
        return embedded

    def _attend(self, layer: Layer, rows: Floats, texts: int, mask: Floats | None) -> Floats:
        bert = self.bert
        size = bert.hidden // bert.heads

        def heads(linear: Linear) -> Floats:
            return _linear(rows, linear).reshape(texts, -1, bert.heads, size).transpose(0, 2, 1, 3)

        query = heads(layer.query)
        query *= np.float32(1 / math.sqrt(size))
        scores: Floats = query @ heads(layer.key).transpose(0, 1, 3, 2)
        if mask is not None:
            scores += mask
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        mixed: Floats = scores @ heads(layer.value)
        mixed /= scores.sum(axis=-1, keepdims=True)
        out = _linear(mixed.transpose(0, 2, 1, 3).reshape(rows.shape), layer.attended)
        out += rows
        return _normalise(out, layer.attended_norm, bert.epsilon)

    def _feed_forward(self, layer: Layer, rows: Floats) -> Floats:
        out = np.empty_like(rows)
        for start in range(0, len(rows), _ROWS):
            block = rows[start : start + _ROWS]
            wide = _linear(block, layer.widen)
            gelu(wide)
            narrow = _linear(wide, layer.narrow)
            narrow += block
            out[start : start + _ROWS] = _normalise(narrow, layer.output_norm, self.bert.epsilon)
        return out


def gelu(values: Floats) -> None:
    """Compute x Φ(x) in place."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        x = np.clip(block, -_LIMIT, _LIMIT)
        square = x * x
        x *= _polynomial(square, _P)
        x /= _polynomial(square, _Q)
        x += np.float32(0.5)
        block *= x


def _polynomial(values: Floats, coefficients: tuple[np.float32, ...]) -> Floats:
    total = values * coefficients[0]
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= values
    total += coefficients[-1]
    return total


def _norm_weights(tensors: Tensors, name: str, size: int) -> Norm:
    return tensors.get(f"{name}.weight", size), tensors.get(f"{name}.bias", size)


def _linear(rows: Floats, linear: Linear) -> Floats:
    weight, bias = linear
    out: Floats = rows @ weight
    out += bias
    return out


def _normalise(rows: Floats, norm: Norm, epsilon: float) -> Floats:
    """Apply layer normalisation in place."""
    weight, bias = norm
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows)[:, None] / rows.shape[1]
    rows /= np.sqrt(variance + np.float32(epsilon))
    rows *= weight
    rows += bias
    return rows
