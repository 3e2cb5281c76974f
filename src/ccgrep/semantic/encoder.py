"""Open the fastest encoder for a number of texts: the light one or sentence-transformers.

sentence-transformers encodes many texts faster and supports every model. But its import takes as
long as the light encoder takes for a few hundred texts. It stays offline, and prints nothing.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic import tokenizer
from ccgrep.semantic.batches import batch_by_length, run_batches
from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.semantic.weights import REINSTALL
from ccgrep.text import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_FULL_TEXTS = 2000
"""The number of texts from which sentence-transformers makes up for the seconds of its import."""

_BATCH_TOKENS = 1024
_LIBRARY = "sentence_transformers"


class Encoder(Protocol):
    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return a row for each text, normalised if the model does that.

        Pass some hundred texts: they are sorted by length and shared among threads.
        """


class OpenEncoder(NamedTuple):
    encoder: Encoder
    note: str | None
    """A warning for the user about the choice of encoder."""


def open_encoder(model: Model, texts: int = 1, threads: int = 1) -> OpenEncoder:
    """Return the fastest encoder of a model for a number of texts. A query is one text."""
    settings = model.settings
    if settings.bert is None:
        note = f"{one_line(model.name)} needs sentence-transformers, which takes seconds to load"
        return OpenEncoder(FullEncoder(model, threads), f"{note} ({settings.why_not_light})")
    if texts >= MIN_FULL_TEXTS and _is_library_installed():
        return OpenEncoder(FullEncoder(model, threads), None)
    return OpenEncoder(LightEncoder(model, threads), None)


def _is_library_installed() -> bool:
    return all(PathFinder.find_spec(name) for name in (_LIBRARY, "torch"))


class FullEncoder:
    """sentence-transformers, in threads that run torch with one thread each."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        self.model = model
        self._threads = threads
        self._tokenizer = tokenizer.load(model, model.settings.max_tokens)
        with _silenced():
            self._library_model = _load(model)
            # The first call configures its tokenizer, which threads must not do at once.
            self._library_model.encode(["warm"], show_progress_bar=False)

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415 - heavy
        import torch  # noqa: PLC0415 - heavy

        valid = [tokenizer.replace_surrogates(text) for text in texts]
        prompt = self.model.settings.prompt
        tokens = self._tokenizer.encode_batch([prompt + text for text in valid])
        vectors = np.empty((len(texts), self.dimensions), np.float32)

        def work(batch: list[int]) -> None:
            vectors[batch] = self._library_model.encode(
                [valid[at] for at in batch], batch_size=len(batch), show_progress_bar=False
            )

        lengths = [len(encoding) for encoding in tokens]
        with _silenced():
            run_batches(
                work,
                batch_by_length(lengths, _BATCH_TOKENS),
                self._threads,
                lambda: torch.set_num_threads(1),
            )
        return vectors


def _load(model: Model) -> Any:
    try:
        from huggingface_hub import constants  # noqa: PLC0415 - heavy

        constants.HF_HUB_OFFLINE = True
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - very heavy
        from transformers.utils.logging import (  # noqa: PLC0415
            disable_progress_bar,
            set_verbosity_error,
        )
    except ImportError as error:
        raise MissingModelError(
            f"the model {one_line(model.name)} needs sentence-transformers: {INSTALL}"
        ) from error
    disable_progress_bar()
    set_verbosity_error()
    try:
        return SentenceTransformer(
            model.directory, device="cpu", local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # the library has no errors of its own
        raise DamagedModelError(
            f"sentence-transformers cannot load {one_line(model.directory)} "
            f"({one_line(str(error))}): {REINSTALL}"
        ) from error


@contextmanager
def _silenced() -> Iterator[None]:
    """Suppress warnings and log lines of libraries."""
    import logging  # noqa: PLC0415 - not for a query

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
