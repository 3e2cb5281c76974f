"""Vectors without torch: numpy and the model's tokenizer over mapped weights.

For a query: from a cold start it takes a fraction of what the model's own library needs to be
imported. The vectors are the same within 1e-5 (`tests/unit/test_embed_light.py`). It does
BERT-shaped models only; `Settings.why_not_light` says what another one has.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ccgrep.errors import DamagedModelError, MissingModelError, ModelError
from ccgrep.semantic import batches, tokenizer
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.semantic.safetensors import Tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH_PIECES = 512
"""Measured on a busy computer: 1024 takes about as long, 2048 a tenth more."""


class LightEncoder:
    """Encodes texts with a BERT-shaped model, many in batches of similar length."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        bert = model.settings.bert
        if bert is None:
            raise ModelError(
                f"the light encoder cannot use this model ({model.settings.why_not_light}): "
                "pip install sentence-transformers"
            )
        self.model = model
        self._threads = threads
        try:
            from ccgrep.semantic.bert import Transformer  # noqa: PLC0415 - numpy
        except ImportError as error:
            raise MissingModelError(f"searching by meaning needs numpy: {INSTALL}") from error
        self._transformer = Transformer(Tensors(model.transformer_path), bert)
        self._tokenizer = tokenizer.load(model, model.settings.max_pieces)

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """A row for each text."""
        import numpy as np  # noqa: PLC0415

        pieces = self._pieces(texts)
        out = np.empty((len(texts), self.dimensions), np.float32)

        def work(batch: list[int]) -> None:
            out[batch] = self._batch([pieces[at] for at in batch])

        batches.run(work, batches.by_length(list(map(len, pieces)), _BATCH_PIECES), self._threads)
        return out

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        prompt = self.model.settings.prompt
        whole = [tokenizer.whole(prompt + text) for text in texts]
        if len(whole) == 1:  # without starting the threads of the library
            return [self._tokenizer.encode(whole[0]).ids]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(whole)]

    def _batch(self, pieces: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415

        lengths = np.array([len(one) for one in pieces])
        ids = np.zeros((len(pieces), lengths.max()), np.int64)
        for row, one in zip(ids, pieces, strict=True):
            row[: len(one)] = one
        if ids.max(initial=0) >= self._transformer.vocabulary:
            raise DamagedModelError(
                "the model's tokenizer and weights do not belong together: install it again"
            )
        return self._pooled(self._transformer.forward(ids, lengths), lengths)

    def _pooled(
        self, vectors: "NDArray[np.float32]", lengths: "NDArray[np.int64]"
    ) -> "NDArray[np.float32]":
        """One vector a text, as the model's configuration says."""
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
