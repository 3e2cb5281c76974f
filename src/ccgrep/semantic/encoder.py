"""Open the fastest encoder for a number of texts: the light one or sentence-transformers.

sentence-transformers encodes many texts faster and supports every model. But its import takes as
long as the light encoder takes for a few hundred texts. It stays offline, and prints nothing.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic import tokenizer
from ccgrep.semantic.bert import Floats
from ccgrep.semantic.light_encoder import LightEncoder, batch_by_length, run_batches
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.semantic.model_settings import REINSTALL
from ccgrep.text import one_line

MIN_FULL_TEXTS = 2000
"""The number of texts from which sentence-transformers makes up for the seconds of its import."""

_BATCH_TOKENS = 1024
_LIBRARIES = ("sentence_transformers", "torch")


class FullEncoder:
    """sentence-transformers, in threads that run torch with one thread each."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        self.dimensions = model.dimensions
        self._prompt = model.settings.prompt
        self._threads = threads
        self._tokenizer = tokenizer.load(model, model.settings.max_tokens)
        with _silenced():
            self._library_model = _load(model)
            # The first call configures its tokenizer, which threads must not do at once.
            self._library_model.encode(["warm"], show_progress_bar=False)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a row for each text, normalised if the model does that."""
        import torch  # noqa: PLC0415 - heavy

        valid = [tokenizer.replace_surrogates(text) for text in texts]
        tokens = self._tokenizer.encode_batch([self._prompt + text for text in valid])

        def encode_batch(batch: list[int]) -> Floats:
            torch.set_num_threads(1)  # for this thread
            found: Floats = self._library_model.encode(
                [valid[at] for at in batch], batch_size=len(batch), show_progress_bar=False
            )
            return found

        batches = batch_by_length([len(encoding) for encoding in tokens], _BATCH_TOKENS)
        with _silenced():
            return run_batches(encode_batch, batches, self.dimensions, self._threads)


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


Encoder = LightEncoder | FullEncoder


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
    if texts >= MIN_FULL_TEXTS and all(map(PathFinder.find_spec, _LIBRARIES)):
        return OpenEncoder(FullEncoder(model, threads), None)
    return OpenEncoder(LightEncoder(model, threads), None)
