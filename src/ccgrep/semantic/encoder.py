"""Which encoder for how many texts? The light one, or sentence-transformers where that pays.

sentence-transformers computes many texts faster, and takes any model; but importing it takes as
long as the light encoder needs for a few hundred texts. It runs on what is on disk: it is given
a directory and told to stay offline, and neither prints nor warns.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ccgrep.errors import DamagedModelError, MissingModelError
from ccgrep.semantic import batches, tokenizer
from ccgrep.semantic.light_encoder import LightEncoder
from ccgrep.semantic.model import INSTALL, Model
from ccgrep.text import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORTH_TEXTS = 2000
"""From so many texts on sentence-transformers makes up for the seconds of its import."""

_BATCH_PIECES = 1024
_LIBRARY = "sentence_transformers"


class Encoder(Protocol):
    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """A row for each text, normalised if the model does that.

        A call should have some hundred texts: they are sorted by length, and shared among cores.
        """


class Opened(NamedTuple):
    encoder: Encoder
    note: str | None
    """What the user should know of the choice."""


def open_encoder(model: Model, texts: int = 1, threads: int = 1) -> Opened:
    """The encoder of a model that is the fastest for so many texts, a query being one."""
    settings = model.settings
    if settings.bert is None:
        note = f"{one_line(model.name)} needs sentence-transformers, which takes seconds to load"
        return Opened(FullEncoder(model, threads), f"{note} ({settings.why_not_light})")
    if texts >= WORTH_TEXTS and is_full_installed():
        return Opened(FullEncoder(model, threads), None)
    return Opened(LightEncoder(model, threads), None)


def is_full_installed() -> bool:
    return all(PathFinder.find_spec(name) for name in (_LIBRARY, "torch"))


class FullEncoder:
    """sentence-transformers, with one thread of torch's in each of ours."""

    def __init__(self, model: Model, threads: int = 1) -> None:
        self.model = model
        self._threads = threads
        self._lengths = tokenizer.load(model, model.settings.max_pieces)
        with _quietly():
            self._full = _load(model)
            self._full.encode(["warm"], show_progress_bar=False)  # sets the tokenizer, once

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # noqa: PLC0415 - heavy
        import torch  # noqa: PLC0415 - heavy

        whole = [tokenizer.whole(text) for text in texts]
        prompt = self.model.settings.prompt
        pieces = self._lengths.encode_batch([prompt + text for text in whole])
        out = np.empty((len(texts), self.dimensions), np.float32)

        def work(batch: list[int]) -> None:
            some = [whole[at] for at in batch]
            out[batch] = self._full.encode(some, batch_size=len(batch), show_progress_bar=False)

        cut = batches.by_length([len(one) for one in pieces], _BATCH_PIECES)
        with _quietly():
            batches.run(work, cut, self._threads, lambda: torch.set_num_threads(1))
        return out


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
            f"({one_line(str(error))}): install the model again, or give another one"
        ) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings and log lines of libraries, which would stand among records."""
    import logging  # noqa: PLC0415 - not for a query

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
