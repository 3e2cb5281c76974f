"""Reports how much is embedded, and how long the rest will take."""

import os

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.errors import CcgrepError
from ccgrep.fulltext import generations


class EmbeddingStatus(Struct, frozen=True):
    """How many texts within the embedding window have vectors of the configured model.

    `problem` says why nothing can be embedded.
    """

    model: str = ""
    embedded: int = 0
    pending: int = 0
    window_days: int = 0  # 0: no window
    outside_window: int = 0  # turns without vectors because of their age
    texts_per_second: float | None = None  # of the last large embedding
    seconds_left: float | None = None
    problem: str = ""


def embedding_status(config: Config) -> EmbeddingStatus | None:
    """Return the state of the embeddings, or None if there are none and none are wanted."""
    has_vectors = os.path.isdir(os.path.join(config.store_dir, "vectors"))
    if config.embed == "never" and not has_vectors:
        return None
    try:
        return _count(config)
    except (CcgrepError, ImportError) as error:
        return EmbeddingStatus(window_days=config.embed_window_days, problem=str(error))


def _count(config: Config) -> EmbeddingStatus:
    from ccgrep.semantic import configured_model, embedding  # noqa: PLC0415 - needs the extra
    from ccgrep.semantic.vector_files import model_dir  # noqa: PLC0415
    from ccgrep.semantic.vectors import Vectors  # noqa: PLC0415

    model = configured_model.find_unverified_model(config)
    days = config.embed_window_days
    generation = generations.current(config.store_dir)
    if generation is None:
        return EmbeddingStatus(model.name, window_days=days)
    reader = generations.open_reader(generation.path)
    since = embedding.window_start(days, generation.newest)
    surfaces = (*config.surfaces, "title")
    known = Vectors(model_dir(config.store_dir, model.id)).keys()
    found = embedding.find_pending(reader, known, surfaces, since)
    pending = len(found.texts)
    rate = configured_model.read_rate(config, model)
    return EmbeddingStatus(
        model=model.name,
        embedded=found.total - pending,
        pending=pending,
        window_days=days,
        outside_window=embedding.count_outside(reader, known, surfaces, since),
        texts_per_second=rate,
        seconds_left=pending / rate if rate else None,
    )
