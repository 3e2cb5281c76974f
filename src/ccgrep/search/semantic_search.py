"""Semantic and hybrid search: embeds what is new, embeds the query, ranks by similarity.

Imports numpy and a model, so it is loaded for these modes only.

    vectors/<model>/DONE    the state in which nothing was left to embed, the number of texts, and
                            of turns outside the window without vectors; a checksum
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ccgrep.config import Config
from ccgrep.errors import LockedError, ModelError, UsageError, WriteError
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.request import Answer, Embedded, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.search.semantic_rank import Limits, find_limits, search_semantic
from ccgrep.search.word_candidates import score_words
from ccgrep.semantic import embedding, multilingual
from ccgrep.semantic.configured_model import find_model, find_scale, make_model_dir, verify_once
from ccgrep.semantic.embedder import Embedder, make_embedder
from ccgrep.semantic.embedding import Pending, count_outside, find_pending, window_start
from ccgrep.semantic.encoder import OpenEncoder
from ccgrep.semantic.languages import has_other_languages, is_english
from ccgrep.semantic.model import Model
from ccgrep.semantic.similarity_scale import Match, SimilarityScale
from ccgrep.semantic.vector_files import model_dir
from ccgrep.semantic.vectors import Vectors
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.lifecycle import open_store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEARCH_BUDGET_S = 1.0
_LIKELY_TURNS = 50
_SURFACES_OF_KIND = {"user": ("prompt",), "assistant": ("answer", "full")}


class Query:
    """Compares the embedded patterns with the vectors of a store."""

    def __init__(
        self,
        vectors: Vectors,
        queries: "Sequence[NDArray[np.float32]]",
        scale: SimilarityScale,
        limits: Limits,
        is_whitened: bool,
    ) -> None:
        self._vectors = vectors
        self._probes = [vectors.probe(query, scale, is_whitened) for query in queries]
        self.limits = limits

    @property
    def count(self) -> int:
        return self._vectors.count

    def nearest(self, limit: int) -> Mapping[int, Match]:
        return _best_matches(self._vectors.nearest(one.query, limit) for one in self._probes)

    def of(self, keys: Iterable[int]) -> Mapping[int, Match]:
        key_list = list(keys)
        return _best_matches(self._vectors.of(key_list, one) for one in self._probes)


def _best_matches(matches: Iterable[Mapping[int, Match]]) -> dict[int, Match]:
    best: dict[int, Match] = {}
    for matches_of_pattern in matches:
        for key, match in matches_of_pattern.items():
            if key not in best or match.similarity > best[key].similarity:
                best[key] = match
    return best


def search_embeddings(
    config: Config,
    reader: TextReader,
    request: Request,
    newest: int,
    options: SearchOptions,
) -> tuple[Answer, Embedded]:
    """Answer a request; first embed new texts, for at most about a second."""
    surfaces = choose_surfaces(config, request)
    since = window_start(config.embed_window_days, newest)
    search = _Search(config, reader, request, surfaces, since, options)
    query, embedded = search.open_query(find_model(config))
    second: Query | None = None
    try:
        model = multilingual.find()
        if model is not None and search.needs_second(model):
            verify_once(config, model)
            second, _ = search.open_query(model)
    except ModelError as error:
        options.warn(f"{error}")
    hybrid_alpha = config.alpha if request.alpha is None else request.alpha
    alpha = 1.0 if request.mode == "semantic" else hybrid_alpha
    # The first model knows only English. To it, all Chinese texts are similar.
    is_known = second is None or all(map(is_english, request.patterns))
    first = query if is_known else None
    answer = search_semantic(reader, request, newest, first, second, surfaces, alpha)
    return answer, embedded


class _Search(NamedTuple):
    """What a search with any model needs."""

    config: Config
    reader: TextReader
    request: Request
    surfaces: Sequence[str]
    since: int | None
    options: SearchOptions

    def needs_second(self, model: Model) -> bool:
        """Return whether there are vectors of the second model, or a reason to make them."""
        if Vectors(model_dir(self.config.store_dir, model.id)).count:
            return True
        if not self.options.embed_pending:
            return False
        return not all(map(is_english, self.request.patterns)) or has_other_languages(self.reader)

    def open_query(self, model: Model) -> tuple[Query, Embedded]:
        """Embed what is pending, then the query. Return it with the number of embedded texts."""
        config, options = self.config, self.options
        embedder = make_embedder(config, model)
        directory = embedder.directory
        vectors = Vectors(directory)
        done = _read_done(directory, self._state(vectors))
        pending = Pending([], done.total if done else 0)
        if done is None:
            pending = find_pending(self.reader, vectors.keys(), self.surfaces, self.since)
        if pending.texts and options.embed_pending:
            _embed(config, embedder, self._put_likely_first(pending), options)
            vectors = Vectors(directory)
            pending = _drop_embedded(pending, vectors)
        opened = _open_query_encoder(embedder)
        if opened.note:
            options.warn(opened.note)
        if vectors.damaged:
            options.warn("damaged vectors were not searched: run `ccgrep index` to repair them")
        if not pending.texts and done is None:
            outside = count_outside(self.reader, vectors.keys(), self.surfaces, self.since)
            done = _Done(pending.total, outside)
            _write_done(config, directory, self._state(vectors), done)
        outside = done.outside if done else self._count_older()
        asked_since = self.request.filters.since
        if self.since is None or (asked_since is not None and asked_since >= self.since):
            outside = 0
        embedded = Embedded(pending.total - len(pending.texts), pending.total, outside)
        if pending.texts:
            share = 100 * embedded.texts // embedded.total
            name = " by the multilingual model" if embedder.is_multilingual else ""
            options.warn(
                f"{share} % of the texts are embedded{name}: run `ccgrep index` for the rest"
            )
        patterns = list(opened.encoder.encode(self.request.patterns, is_query=True))
        scale = find_scale(config, model, opened.encoder)
        limits = find_limits(scale, embedder.is_multilingual)
        # The first model tells texts in other languages apart too badly.
        is_whitened = not embedder.is_multilingual and all(map(is_english, self.request.patterns))
        return Query(vectors, patterns, scale, limits, is_whitened), embedded

    def _put_likely_first(self, pending: Pending) -> Pending:
        """Return the texts to embed, those of turns that have words of the query first."""
        addresses = [hit.address for hit in score_words(self.reader, self.request, _LIKELY_TURNS)]
        by_surface = [self.reader.keys(addresses, surface) for surface in self.surfaces]
        keys = dict.fromkeys(key for turn in zip(*by_surface, strict=True) for key in turn)
        order = {key: position for position, key in enumerate(keys)}
        return pending._replace(
            texts=sorted(pending.texts, key=lambda text: order.get(text.key, len(order)))
        )

    def _count_older(self) -> int:
        """Return how many turns lie outside the window, embedded or not: a count is quick."""
        if self.since is None:
            return 0
        return self.reader.count(self.reader.between(None, self.since - 1))

    def _state(self, vectors: Vectors) -> str:
        """Return a line that changes whenever a text may have to be embedded."""
        generation = generations.current(self.config.store_dir)
        snapshot = generation.snapshot if generation is not None else ""
        return f"{snapshot} {','.join(self.surfaces)} {self.since} {vectors.count}"


def _embed(config: Config, embedder: Embedder, pending: Pending, options: SearchOptions) -> None:
    store = open_store(config.store_dir)
    # Another process may embed, or the store cannot be written.
    with suppress(LockedError, WriteError):
        directory = make_model_dir(config.store_dir, embedder.model)
        with embedding.lock(directory):
            embedder.prepare(store)
            texts = _drop_embedded(pending, Vectors(directory)).texts
            encoder, splitter = _open_query_encoder(embedder).encoder, embedder.open_splitter()
            embedding.embed(
                store, directory, texts, encoder, splitter, options.on_embed, _SEARCH_BUDGET_S
            )


def _drop_embedded(pending: Pending, vectors: Vectors) -> Pending:
    known = set(vectors.keys().tolist())
    return pending._replace(texts=[text for text in pending.texts if text.key not in known])


class _Done(NamedTuple):
    """The number of texts, all embedded, and of turns outside the window without vectors."""

    total: int
    outside: int


def _read_done(directory: str, state: str) -> _Done | None:
    """Return the numbers if all texts are known to be embedded, else None."""
    text = read_checksummed(os.path.join(directory, "DONE")).decode()
    numbers = text.removeprefix(f"{state} ").split(" ") if text.startswith(f"{state} ") else []
    return _Done(*map(int, numbers)) if len(numbers) == 2 else None


def _write_done(config: Config, directory: str, state: str, done: _Done) -> None:
    """Record that all texts are embedded: finding that out reads every document."""
    data = add_checksum(f"{state} {done.total} {done.outside}".encode())
    with suppress(WriteError, OSError):
        tmp_dir = open_store(config.store_dir).tmp_dir
        fsio.publish(tmp_dir, os.path.join(directory, "DONE"), data, is_hint=True)


@cache
def _open_query_encoder(embedder: Embedder) -> OpenEncoder:
    """Open the encoder once per process."""
    return embedder.open_encoder()


def choose_surfaces(config: Config, request: Request) -> tuple[str, ...]:
    """Return the surfaces to compare: the requested ones, or the configured ones and titles."""
    surfaces = request.surfaces or (*config.surfaces, "title")
    if request.types:
        allowed = {s for kind in request.types for s in _SURFACES_OF_KIND.get(kind, ())}
        surfaces = tuple(surface for surface in surfaces if surface in allowed)
    if not surfaces:
        raise UsageError(
            "only the discussion is embedded: drop --semantic or --hybrid with -t tool and "
            "-t thinking"
        )
    return surfaces
