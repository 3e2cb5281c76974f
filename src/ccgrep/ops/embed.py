"""The embed verb: embeds every text within the embedding window that has no vector yet."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.fulltext import generations
from ccgrep.semantic import embedding
from ccgrep.semantic.chunks import Splitter
from ccgrep.semantic.configured_model import find_model, make_model_dir
from ccgrep.semantic.embedding import EmbedProgress, window_start
from ccgrep.semantic.encoder import open_encoder
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.semantic.vectors import Vectors
from ccgrep.store.lifecycle import open_store


class EmbedReport(NamedTuple):
    """What was embedded, and what is left."""

    model: str
    done: int
    left: int
    seconds: float
    note: str | None = None


def embed_pending(
    config: Config,
    days: int | None = None,
    since_ms: int | None = None,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
) -> EmbedReport:
    """Embed everything within the window: the last `days` (0 for all), or from `since_ms` on."""
    started = time.monotonic()
    store = open_store(config.store_dir)
    model = find_model(config)
    directory = make_model_dir(config.store_dir, model)
    with embedding.lock(directory):
        VectorWriter(store, directory).heal()
        generation = generations.current(store.directory)
        if generation is None:
            return EmbedReport(model.name, 0, 0, 0.0)
        reader = generations.open_reader(generation.path)
        window = config.embed_window_days if days is None else days
        since = since_ms if since_ms is not None else window_start(window, generation.newest)
        surfaces = (*config.surfaces, "title")
        pending = embedding.find_pending(reader, Vectors(directory).keys(), surfaces, since)
        done, note = 0, None
        if pending.texts:
            opened = open_encoder(model, len(pending.texts), os.cpu_count() or 1)
            note = opened.note
            done = embedding.embed(
                store, directory, pending.texts, opened.encoder, Splitter(model), on_progress
            )
    left = len(pending.texts) - done
    return EmbedReport(model.name, done, left, time.monotonic() - started, note)
