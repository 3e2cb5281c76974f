"""Encode texts with numpy and mapped weights, without torch.

A query from a cold start takes a fraction of the time that the import of sentence-transformers
takes. The vectors are the same within rounding (`tests/semantic/test_light_encoder.py`). Only
BERT-shaped models are supported: see `Settings.why_not_light`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.semantic import tokenizer
from ccgrep.semantic.batches import batch_by_length, run_batches
from ccgrep.semantic.model import Model
from ccgrep.semantic.safetensors import Tensors
from ccgrep.semantic.weights import REINSTALL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH_TOKENS = 512
"""Measured on a busy machine: 1024 takes about as long, 2048 a tenth more."""


class LightEncoder:
    """An encoder for BERT-shaped models."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        bert = model.settings.bert
        if bert is None:
            raise ModelError(
                f"the light encoder cannot use this model ({model.settings.why_not_light}): "
                "pip install sentence-transformers"
            )
        from ccgrep.semantic.bert import Transformer  # noqa: PLC0415 - numpy

        self.model = model
        self._threads = threads
        self._transformer = Transformer(Tensors(model.transformer_path), bert)
        self._tokenizer = tokenizer.load(model, model.settings.max_tokens)

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return a row for each text."""
        import numpy as np  # noqa: PLC0415

        tokens = self._tokenize(texts)
        vectors = np.empty((len(texts), self.dimensions), np.float32)

        def work(batch: list[int]) -> None:
            vectors[batch] = self._encode_batch([tokens[at] for at in batch])

        batches = batch_by_length(list(map(len, tokens)), _BATCH_TOKENS)
        run_batches(work, batches, self._threads)
        return vectors

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        prompt = self.model.settings.prompt
        valid = [tokenizer.replace_surrogates(prompt + text) for text in texts]
        if len(valid) == 1:  # encode_batch would start threads
            return [self._tokenizer.encode(valid[0]).ids]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(valid)]

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415

        lengths = np.array([len(text) for text in tokens])
        ids = np.zeros((len(tokens), lengths.max()), np.int64)
        for row, text in zip(ids, tokens, strict=True):
            row[: len(text)] = text
        if ids.max(initial=0) >= self._transformer.vocabulary:
            raise DamagedModelError(f"the model's tokenizer does not fit its weights: {REINSTALL}")
        return self._pool(self._transformer.forward(ids, lengths), lengths)

    def _pool(
        self, vectors: "NDArray[np.float32]", lengths: "NDArray[np.int64]"
    ) -> "NDArray[np.float32]":
        """Return one vector for each text, by the configured pooling."""
        import numpy as np  # noqa: PLC0415

        settings = self.model.settings
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
