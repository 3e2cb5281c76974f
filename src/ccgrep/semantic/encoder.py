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
from ccgrep.semantic.multilingual_encoder import MultilingualEncoder
from ccgrep.text import one_line

MIN_FULL_TEXTS = 2000
"""The number of texts from which sentence-transformers makes up for the seconds of its import."""

_BATCH_TOKENS = 1024
_LIBRARIES = ("sentence_transformers", "torch")


class FullEncoder:
    """sentence-transformers, in threads that run torch with one thread each."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        self.dimensions = model.dimensions
        self._settings = model.settings
        self._threads = threads
        self._tokenizer = tokenizer.load(model, model.settings.max_tokens)
        with _silenced():
            self._library_model = _load(model)
            self._is_short = _has_short_floats()
            # The first call configures its tokenizer, which threads must not do at once.
            self._library_model.encode(["warm"], show_progress_bar=False)

    def encode(self, texts: Sequence[str], is_query: bool = False) -> Floats:
        """Return a row for each text or query, normalised if the model does that."""
        import torch  # noqa: PLC0415 - heavy

        prompt = self._settings.query_prompt if is_query else self._settings.prompt
        valid = [tokenizer.replace_surrogates(text) for text in texts]
        tokens = self._tokenizer.encode_batch([prompt + text for text in valid])

        def encode_batch(batch: list[int]) -> Floats:
            torch.set_num_threads(1)  # for this thread
            with torch.autocast("cpu", torch.bfloat16, enabled=self._is_short):
                found: Floats = self._library_model.encode(
                    [valid[at] for at in batch],
                    prompt=prompt,
                    batch_size=len(batch),
                    show_progress_bar=False,
                )
            return found

        batches = batch_by_length([len(encoding) for encoding in tokens], _BATCH_TOKENS)
        with _silenced():
            return run_batches(encode_batch, batches, self.dimensions, self._threads)


def _has_short_floats() -> bool:
    """Return whether the processor computes with bfloat16.

    It then takes a bit more than half of the time, and the vectors differ by less than 0.01.
    """
    import torch  # noqa: PLC0415 - heavy

    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


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


Encoder = LightEncoder | FullEncoder | MultilingualEncoder


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
