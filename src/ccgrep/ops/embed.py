"""The embed verb: embeds every text within the embedding window that has no vector yet."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.errors import ModelError
from ccgrep.fulltext import generations
from ccgrep.fulltext.generations import Generation
from ccgrep.semantic import embedding
from ccgrep.semantic.configured_model import find_model, find_second_model, make_model_dir
from ccgrep.semantic.embedder import make_embedder
from ccgrep.semantic.embedding import EmbedProgress, window_start
from ccgrep.semantic.model import Model
from ccgrep.semantic.vector_writer import VectorWriter
from ccgrep.semantic.vectors import Vectors
from ccgrep.store.lifecycle import open_store
from ccgrep.store.store import Store


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
    generation = generations.current(store.directory)
    newest = generation.newest if generation is not None else 0
    window = config.embed_window_days if days is None else days
    since = since_ms if since_ms is not None else window_start(window, newest)
    done, left, note = _embed_with(config, store, model, generation, since, on_progress)
    try:
        if (second := find_second_model(config)) is not None:
            more = _embed_with(config, store, second, generation, since, on_progress)
            done, left = max(done, more[0]), max(left, more[1])
    except ModelError as error:
        note = str(error)
    return EmbedReport(model.name, done, left, time.monotonic() - started, note)


def _embed_with(
    config: Config,
    store: Store,
    model: Model,
    generation: Generation | None,
    since: int | None,
    on_progress: Callable[[EmbedProgress], None],
) -> tuple[int, int, str | None]:
    """Embed with one model; return how many texts are done and left, and a note for the user."""
    embedder = make_embedder(config, model)
    directory = make_model_dir(config.store_dir, model)
    with embedding.lock(directory):
        embedder.prepare(store)
        VectorWriter(store, directory).heal()
        if generation is None:
            return 0, 0, None
        reader = generations.open_reader(generation.path)
        surfaces = (*config.surfaces, "title")
        pending = embedding.find_pending(reader, Vectors(directory).keys(), surfaces, since)
        if not pending.texts:
            return 0, 0, None
        opened = embedder.open_encoder(len(pending.texts), os.cpu_count() or 1)
        splitter = embedder.open_splitter()
        done = embedding.embed(
            store, directory, pending.texts, opened.encoder, splitter, on_progress
        )
    return done, len(pending.texts) - done, opened.note
