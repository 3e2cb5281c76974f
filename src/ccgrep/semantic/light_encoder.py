"""Encode texts with a BERT-shaped model, without torch: tokenize, batch, transform and pool.

numpy and mapped weights answer a query from a cold start in a fraction of the time that importing
sentence-transformers takes. The vectors are the same within rounding. ONNX Runtime computes the
layers in int8 for many texts. Other models are not supported: see `Settings.why_not_light`.

A batch holds texts of similar length, because short ones are padded to the longest. It is small,
because what fits into a core's cache is faster. Each thread computes its own batches: threads that
share one wait for each other at every step, most of the time on a busy machine.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.semantic import tokenizer
from ccgrep.semantic.bert import Floats, Transformer
from ccgrep.semantic.int8_bert import Int8Layers
from ccgrep.semantic.model import Model
from ccgrep.semantic.model_settings import REINSTALL
from ccgrep.semantic.safetensors import Tensors

_BATCH_TOKENS = 512
"""Measured: 1024 takes a tenth longer in int8 and about as long with numpy, 2048 a third longer."""


class LightEncoder:
    """An encoder for BERT-shaped models."""

    def __init__(self, model: Model, threads: int = 1, is_int8: bool = False) -> None:
        bert = model.settings.bert
        if bert is None:
            raise ModelError(
                f"the light encoder cannot use this model ({model.settings.why_not_light}): "
                "pip install sentence-transformers"
            )
        self.dimensions = model.dimensions
        self._settings = model.settings
        self._threads = threads
        transformer = Transformer(Tensors(model.transformer_path), bert)
        self._vocabulary = transformer.vocabulary
        self._forward = Int8Layers(transformer).forward if is_int8 else transformer.forward
        self._tokenizer = tokenizer.load(model, model.settings.max_tokens)

    def encode(self, texts: Sequence[str], is_query: bool = False) -> Floats:
        """Return a row for each text or query."""
        settings = self._settings
        tokens = self._tokenize(texts, settings.query_prompt if is_query else settings.prompt)

        def encode_batch(batch: list[int]) -> Floats:
            return self._encode_batch([tokens[at] for at in batch])

        lengths = [len(text) for text in tokens]
        batches = batch_by_length(lengths, _BATCH_TOKENS)
        return run_batches(encode_batch, batches, self.dimensions, self._threads)

    def _tokenize(self, texts: Sequence[str], prompt: str) -> list[list[int]]:
        valid = [tokenizer.replace_surrogates(prompt + text) for text in texts]
        if len(valid) == 1:  # encode_batch would start threads
            return [self._tokenizer.encode(valid[0]).ids]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(valid)]

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(text) for text in tokens])
        ids = np.zeros((len(tokens), lengths.max()), np.int64)
        for row, text in zip(ids, tokens, strict=True):
            row[: len(text)] = text
        if ids.max(initial=0) >= self._vocabulary:
            raise DamagedModelError(f"the model's tokenizer does not fit its weights: {REINSTALL}")
        return self._pool(self._forward(ids, lengths), lengths)

    def _pool(self, vectors: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return one vector for each text, by the configured pooling."""
        settings = self._settings
        is_text = (np.arange(vectors.shape[1]) < lengths[:, None])[:, :, None]
        if settings.pooling == "cls":
            pooled = vectors[:, 0]
        elif settings.pooling == "max":
            pooled = np.where(is_text, vectors, np.float32(-np.inf)).max(axis=1)
        else:
            total = np.where(is_text, vectors, np.float32(0)).sum(axis=1)
            pooled = total / lengths[:, None].astype(np.float32)
        if settings.is_normalised:
            norms = np.sqrt(np.einsum("ij,ij->i", pooled, pooled))
            pooled = pooled / np.maximum(norms, np.float32(1e-12))[:, None]
        return np.asarray(pooled, np.float32)


def batch_by_length(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Return batches of text numbers with at most `max_tokens` each, the longest texts first."""
    order = sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True)
    batches = []
    while order:
        size = max(1, max_tokens // max(1, lengths[order[0]]))
        batches.append(order[:size])
        order = order[size:]
    return batches


def run_batches(
    encode: Callable[[list[int]], Floats], batches: list[list[int]], dimensions: int, threads: int
) -> Floats:
    """Encode each batch of text numbers, and return a row for each text."""
    vectors = np.empty((sum(map(len, batches)), dimensions), np.float32)

    def work(batch: list[int]) -> None:
        vectors[batch] = encode(batch)

    if min(threads, len(batches)) <= 1:
        for batch in batches:
            work(batch)
        return vectors
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not for a query

    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(work, batches):
            pass  # raises what a batch has raised
    finally:
        pool.shutdown(cancel_futures=True)
    return vectors
