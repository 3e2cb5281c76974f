"""The embed verb: embeds every text within the embedding window that has no vector yet."""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from ccgrep.config import Config
from ccgrep.errors import ModelError
from ccgrep.fulltext import generations
from ccgrep.semantic import embedding, multilingual
from ccgrep.semantic.configured_model import find_model, make_model_dir, verify_once, write_rate
from ccgrep.semantic.embedder import make_embedder
from ccgrep.semantic.embedding import EmbedProgress, window_start
from ccgrep.semantic.languages import has_other_languages
from ccgrep.semantic.model import Model
from ccgrep.semantic.vector_files import model_dir
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
    work = _Work(config, open_store(config.store_dir), days, since_ms, on_progress)
    model = find_model(config)
    done, left, note = work.embed(model)
    try:
        second = multilingual.find()
        if second is not None and work.needs_second(second):
            verify_once(config, second)
            more = work.embed(second)
            done, left = max(done, more[0]), max(left, more[1])
    except ModelError as error:
        note = str(error)
    return EmbedReport(model.name, done, left, time.monotonic() - started, note)


class _Work(NamedTuple):
    """The texts that each model has to embed, and how to report progress."""

    config: Config
    store: Store
    days: int | None
    since_ms: int | None
    on_progress: Callable[[EmbedProgress], None]

    def embed(self, model: Model) -> tuple[int, int, str | None]:
        """Embed; return how many texts are done and left, and a note for the user."""
        config, store = self.config, self.store
        embedder = make_embedder(config, model)
        directory = make_model_dir(config.store_dir, model)
        with embedding.lock(directory):
            embedder.prepare(store)
            VectorWriter(store, directory).heal()
            generation = generations.current(store.directory)
            if generation is None:
                return 0, 0, None
            reader = generations.open_reader(generation.path)
            since = self._since(generation.newest)
            surfaces = (*config.surfaces, "title")
            known = Vectors(directory).keys()
            texts = embedding.find_pending(reader, known, surfaces, since).texts
            if not texts:
                return 0, 0, None
            opened = embedder.open_encoder(len(texts), os.cpu_count() or 1)
            splitter = embedder.open_splitter()
            started = time.monotonic()
            done = embedding.embed(
                store, directory, texts, opened.encoder, splitter, self.on_progress
            )
            write_rate(config, model, done, time.monotonic() - started)
        return done, len(texts) - done, opened.note

    def _since(self, newest: int) -> int | None:
        if self.since_ms is not None:
            return self.since_ms
        days = self.config.embed_window_days if self.days is None else self.days
        return window_start(days, newest)

    def needs_second(self, model: Model) -> bool:
        """Return whether the store has turns in other languages, or second vectors already."""
        if Vectors(model_dir(self.config.store_dir, model.id)).count:
            return True
        generation = generations.current(self.store.directory)
        if generation is None:
            return False
        return has_other_languages(generations.open_reader(generation.path))
