"""Open the encoder for a model and a number of texts.

    a few texts, such as a query      numpy (light_encoder.py)
    many texts                        int8 in ONNX Runtime (int8_bert.py), if it is installed
    a model that is not BERT-shaped   sentence-transformers, whose import takes seconds

The first two may fill one store: their vectors differ by less than what separates two hits
(docs/relevance.md). sentence-transformers stays offline, and prints nothing.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic import tokenizer
from ccgrep.semantic.bert import Floats
from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.semantic.model import Model
from ccgrep.semantic.model_settings import REINSTALL
from ccgrep.semantic.multilingual_encoder import MultilingualEncoder
from ccgrep.text import one_line

MIN_INT8_TEXTS = 256
"""The number of texts from which int8 saves several seconds.

ONNX Runtime makes up for its start from 40 texts on. But as long as a store grows by a few texts at
a time, all of its vectors come from one encoder, and its hits are those of a store built at once.
"""

_INT8_LIBRARIES = ("onnx", "onnxruntime")


class LibraryEncoder:
    """sentence-transformers, for models that the light encoder does not support."""

    def __init__(self, model: Model) -> None:
        self.dimensions = model.dimensions
        self._settings = model.settings
        with _silence():
            self._library_model = _load(model)

    def encode(self, texts: Sequence[str], is_query: bool = False) -> Floats:
        """Return a row for each text or query, normalised if the model does that."""
        prompt = self._settings.query_prompt if is_query else self._settings.prompt
        valid = [tokenizer.replace_surrogates(text) for text in texts]
        with _silence():
            found: Floats = self._library_model.encode(
                valid, prompt=prompt, show_progress_bar=False
            )
        return found.reshape(len(texts), self.dimensions)


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
            f"the model {one_line(model.name)} is not BERT-shaped "
            f"({model.settings.why_not_light}): pip install sentence-transformers"
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
def _silence() -> Iterator[None]:
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


Encoder = LightEncoder | LibraryEncoder | MultilingualEncoder


class OpenEncoder(NamedTuple):
    encoder: Encoder
    note: str | None
    """A warning for the user about the choice of encoder."""


def open_encoder(model: Model, texts: int = 1, threads: int = 1) -> OpenEncoder:
    """Return the fastest encoder of a model for a number of texts. A query is one text."""
    settings = model.settings
    if settings.bert is None:
        note = f"{one_line(model.name)} needs sentence-transformers, which takes seconds to load"
        return OpenEncoder(LibraryEncoder(model), f"{note} ({settings.why_not_light})")
    is_int8 = texts >= MIN_INT8_TEXTS and all(map(PathFinder.find_spec, _INT8_LIBRARIES))
    return OpenEncoder(LightEncoder(model, threads, is_int8), None)
