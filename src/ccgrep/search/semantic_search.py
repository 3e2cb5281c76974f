"""Searching by meaning, and embedding what that needs."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ccgrep.config import Config
from ccgrep.errors import LockedError, MissingModelError, ModelError, UsageError, WriteError
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.search.request import Answer, Embedded, Request
from ccgrep.search.searcher import SearchOptions
from ccgrep.search.semantic_rank import search_semantic
from ccgrep.semantic import embedding
from ccgrep.semantic import model as models
from ccgrep.semantic.chunks import Splitter
from ccgrep.semantic.embedding import EmbedProgress, Pending
from ccgrep.semantic.encoder import Opened, open_encoder
from ccgrep.semantic.model import Model
from ccgrep.semantic.vectors import Match, Vectors, VectorWriter, model_dir, model_dirs
from ccgrep.store import fsio
from ccgrep.store.checksummed_file import add_checksum, read_checksummed
from ccgrep.store.lifecycle import open_store
from ccgrep.store.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DAY_MS = 86_400_000
_SEARCH_BUDGET_S = 1.0
_OF_KIND = {"user": ("prompt",), "assistant": ("answer", "full")}


class EmbedReport(NamedTuple):
    model: str
    done: int
    left: int
    seconds: float
    note: str | None = None


class Query:
    """What was asked, compared with vectors; several patterns are alternatives."""

    def __init__(self, vectors: Vectors, queries: "Sequence[NDArray[np.float32]]") -> None:
        self._vectors = vectors
        self._queries = queries

    @property
    def count(self) -> int:
        return self._vectors.count

    def nearest(self, limit: int) -> Mapping[int, Match]:
        return _best(self._vectors.nearest(query, limit) for query in self._queries)

    def of(self, keys: Iterable[int]) -> Mapping[int, Match]:
        wanted = list(keys)
        return _best(self._vectors.of(wanted, query) for query in self._queries)


def _best(found: Iterable[Mapping[int, Match]]) -> dict[int, Match]:
    best: dict[int, Match] = {}
    for one in found:
        for key, match in one.items():
            if key not in best or match.similarity > best[key].similarity:
                best[key] = match
    return best


def search_by_meaning(
    config: Config,
    reader: TextReader,
    request: Request,
    newest: int,
    options: SearchOptions,
) -> tuple[Answer, Embedded]:
    """Answers a request; what is not embedded yet is embedded first, for about a second."""
    warn = options.warn
    surfaces = _surfaces(config, request)
    model = found_model(config)
    opened = _query_encoder(model)
    if opened.note:
        warn(opened.note)
    directory = model_dir(config.store_dir, model.id)
    vectors = Vectors(directory)
    since = _since(config.embed_window_days, newest)
    mark = _mark(config, surfaces, since, vectors)
    known_total = _read_done(directory, mark)
    if known_total is not None:
        left = Pending([], known_total)
    else:
        left = embedding.pending(reader, vectors.keys(), surfaces, since)
    if left.texts and options.embed_pending:
        store = open_store(config.store_dir)
        try:
            with embedding.lock(_made(directory)):
                known = set(Vectors(directory).keys().tolist())  # Somebody may have been at it.
                embedding.embed(
                    store,
                    directory,
                    [one for one in left.texts if one.key not in known],
                    opened.encoder,
                    Splitter(model),
                    budget_s=_SEARCH_BUDGET_S,
                )
        except (LockedError, WriteError):
            pass  # Another process is at it, or nobody may.
        vectors = Vectors(directory)
        known = set(vectors.keys().tolist())
        left = left._replace(texts=[one for one in left.texts if one.key not in known])
    if vectors.damaged:
        warn("some vectors are damaged and were not searched: run `ccgrep index`")
    if not left.texts and known_total is None:
        _note_done(config, directory, _mark(config, surfaces, since, vectors), left.total)
    covered = Embedded(left.total - len(left.texts), left.total)
    if covered.texts < covered.total:
        share = 100 * covered.texts // covered.total
        warn(f"{share} % of the texts are embedded so far: run `ccgrep index` for the rest")
    query = Query(vectors, list(opened.encoder.encode(request.patterns)))
    alpha = 1.0 if request.mode == "semantic" else _alpha(config, request)
    return search_semantic(reader, request, newest, query, surfaces, alpha), covered


def _mark(config: Config, surfaces: Sequence[str], since: int | None, vectors: Vectors) -> str:
    """What has to be as it was for nothing to be pending that was not."""
    found = generations.current(config.store_dir)
    snapshot = found.snapshot if found is not None else ""
    return f"{snapshot} {','.join(surfaces)} {since} {vectors.count}"


def _read_done(directory: str, mark: str) -> int | None:
    """How many texts there are, if it is known that all of them are embedded."""
    known, _, total = read_checksummed(os.path.join(directory, "DONE")).decode().rpartition(" ")
    return int(total) if known == mark and total.isdigit() else None


def _note_done(config: Config, directory: str, mark: str, total: int) -> None:
    """Remembers it: to look at all turns takes longer than to search, if there are a million."""
    try:
        tmp_dir = open_store(config.store_dir).tmp_dir
        note = add_checksum(f"{mark} {total}".encode())
        fsio.publish(tmp_dir, os.path.join(directory, "DONE"), note, is_hint=True)
    except (WriteError, OSError):
        return


@cache
def _query_encoder(model: Model) -> Opened:
    """Kept by a process that answers more than one query."""
    return open_encoder(model)


def _alpha(config: Config, request: Request) -> float:
    return config.alpha if request.alpha is None else request.alpha


def _surfaces(config: Config, request: Request) -> tuple[str, ...]:
    """What is compared: what was asked for, else what is set, and titles."""
    chosen = request.surfaces or (*config.surfaces, "title")
    if request.types:
        kinds = {surface for kind in request.types for surface in _OF_KIND.get(kind, ())}
        chosen = tuple(surface for surface in chosen if surface in kinds)
    if not chosen:
        raise UsageError(
            "only what was said is embedded: -t tool and -t thinking are searched by words"
        )
    return chosen


def _since(days: int, newest: int) -> int | None:
    """When the window begins. Counted from the newest turn: the same store, the same answer."""
    return newest - days * _DAY_MS if days else None


def found_model(config: Config) -> Model:
    """The model that is set; its weights are verified once, which takes a moment."""
    wanted = config.model if config.model != models.DEFAULT else None
    try:
        import numpy  # noqa: F401, PLC0415 - to say what is missing before anything else
        import tokenizers  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingModelError(f"searching by meaning needs a model: {models.INSTALL}") from error
    model = models.find(wanted, config.model_variables)
    if not models.is_verifiable(model):
        return model
    note = os.path.join(model_dir(config.store_dir, model.id), "VERIFIED")
    stamp = models.weights_stamp(model)
    if read_checksummed(note) == stamp.encode():
        return model
    models.verify(model)
    try:
        tmp_dir = open_store(config.store_dir).tmp_dir
        _made(os.path.dirname(note))
        fsio.publish(tmp_dir, note, add_checksum(stamp.encode()), is_hint=True)
    except (WriteError, OSError):
        return model
    return model


def _made(directory: str) -> str:
    fsio.make_dir(os.path.dirname(directory))
    fsio.make_dir(directory)
    return directory


def embed_pending(
    config: Config,
    days: int | None = None,
    since_ms: int | None = None,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
) -> EmbedReport:
    """Embeds everything within the window; `days` 0 is all, `since_ms` a time instead."""
    begun = time.monotonic()
    store = open_store(config.store_dir)
    model = found_model(config)
    directory = _made(model_dir(config.store_dir, model.id))
    with embedding.lock(directory):
        VectorWriter(store, directory).heal()
        found = generations.current(store.directory)
        if found is None:
            return EmbedReport(model.name, 0, 0, 0.0)
        reader = generations.open_reader(found.path)
        window = config.embed_window_days if days is None else days
        since = since_ms if since_ms is not None else _since(window, found.newest)
        surfaces = (*config.surfaces, "title")
        left = embedding.pending(reader, Vectors(directory).keys(), surfaces, since)
        done, note = 0, None
        if left.texts:
            opened = open_encoder(model, len(left.texts), os.cpu_count() or 1)
            note = opened.note
            done = embedding.embed(
                store, directory, left.texts, opened.encoder, Splitter(model), on_progress
            )
    return EmbedReport(model.name, done, len(left.texts) - done, time.monotonic() - begun, note)


def drop_dead(config: Config, store: Store, is_model_dropped: bool = False) -> int:
    """Drops the vectors of texts that no turn has any more, and if so asked those of models that
    are not the one that is set; gives the number of vectors. For who holds their locks."""
    found = generations.current(store.directory)
    directories = model_dirs(store.directory)
    if found is None or not directories:
        return 0
    kept = directories
    if is_model_dropped:
        try:
            kept = [model_dir(store.directory, found_model(config).id)]
        except ModelError:
            kept = directories  # None can be told from another.
    live = embedding.live_keys(generations.open_reader(found.path), SURFACES)
    dropped = 0
    for directory in directories:
        writer = VectorWriter(store, directory)
        dropped += writer.prune(live if directory in kept else live[:0])
        if directory not in kept:
            fsio.remove_tree(directory)
    return dropped
