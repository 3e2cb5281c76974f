"""Embed the texts that have no vectors yet, the newest first, and save finished batches.

The full-text index has the keys of each turn's texts. A text whose key has vectors is embedded, no
matter for which turn.
"""

import os
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccgrep.errors import StoreError
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import NO_TEXT, surface_text, text_key
from ccgrep.model import ObjectId, Turn
from ccgrep.semantic.chunks import AnySplitter
from ccgrep.semantic.encoder import Encoder
from ccgrep.semantic.vector_writer import Batch, VectorWriter, blank_batch, join_batches
from ccgrep.store.lock import WriterLock
from ccgrep.store.store import Store

_DAY_MS = 86_400_000
_TEXTS_AT_ONCE = 256
_FIRST_TEXTS = 16
_SAVE_EVERY_S = 20.0


class PendingText(NamedTuple):
    """A text to embed, and the place of a turn that has it."""

    key: int
    surface: str
    session: str
    turn: int


class Pending(NamedTuple):
    """The texts to embed, the newest first, and the number of all texts."""

    texts: list[PendingText]
    total: int


class EmbedProgress(NamedTuple):
    done: int
    total: int
    seconds: float


def find_pending(
    reader: TextReader, known: NDArray[np.int64], surfaces: Sequence[str], since: int | None
) -> Pending:
    """Return the texts of turns that started after `since` and have no vectors."""
    addresses = reader.newest_first(since)
    keys = {surface: reader.keys(addresses, surface) for surface in surfaces}
    embedded = set(known.tolist())
    found: dict[int, tuple[str, int]] = {}
    seen: set[int] = set()
    for position in range(len(addresses)):
        for surface in surfaces:
            key = keys[surface][position]
            if key != NO_TEXT and key not in seen:
                seen.add(key)
                if key not in embedded:
                    found[key] = (surface, position)
    texts = [
        PendingText(key, surface, *reader.place(addresses[position]))
        for key, (surface, position) in found.items()
    ]
    return Pending(texts, len(seen))


def count_outside(
    reader: TextReader, known: NDArray[np.int64], surfaces: Sequence[str], since: int | None
) -> int:
    """Return how many turns from before `since` have a text without vectors."""
    if since is None:
        return 0
    addresses = reader.newest_first(None, since - 1)
    embedded = {NO_TEXT, *known.tolist()}
    keys = [reader.keys(addresses, surface) for surface in surfaces]
    return sum(not embedded.issuperset(turn) for turn in zip(*keys, strict=True))


def lock(directory: str) -> WriterLock:
    """Return the lock of a model's directory. It does not lock the store."""
    return WriterLock(os.path.join(directory, "lock"), 0.0)


def embed(
    store: Store,
    directory: str,
    texts: Sequence[PendingText],
    encoder: Encoder,
    splitter: AnySplitter,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
    budget_s: float | None = None,
) -> int:
    """Embed texts in their order until the budget is used up, and return how many.

    An interruption keeps what is finished.
    """
    writer = VectorWriter(store, directory)
    loader = _TextLoader(store)
    started = saved = time.monotonic()
    started_cpu = time.thread_time()  # This thread computes too, while the others of numpy do.
    unsaved: list[Batch] = []
    done, size = 0, _FIRST_TEXTS if budget_s is not None else _TEXTS_AT_ONCE
    left = iter(texts)
    try:
        while part := list(islice(left, size)):
            unsaved.append(_encode(loader, part, encoder, splitter))
            done += len(part)
            seconds = time.monotonic() - started
            on_progress(EmbedProgress(done, len(texts), seconds))
            used = time.thread_time() - started_cpu
            if budget_s is not None and used * (done + size) / done > budget_s:
                break
            if time.monotonic() - saved > _SAVE_EVERY_S:
                _save(writer, unsaved)
                saved = time.monotonic()
    finally:
        _save(writer, unsaved)
    return done


def _save(writer: VectorWriter, unsaved: list[Batch]) -> None:
    if any(batch.keys for batch in unsaved):
        writer.add(join_batches(unsaved))
    unsaved.clear()


def _encode(
    loader: "_TextLoader", part: Sequence[PendingText], encoder: Encoder, splitter: AnySplitter
) -> Batch:
    keys: list[int] = []
    spans: list[tuple[int, int]] = []
    chunks: list[str] = []
    blank: list[int] = []
    for pending in part:
        text = loader.load(pending)
        text_spans = splitter.spans(text)[: None if pending.surface == "prompt" else 1]
        for start, end in text_spans:
            keys.append(pending.key)
            spans.append((start, end))
            chunks.append(text[start:end])
        if text and not text_spans:
            blank.append(pending.key)
    blanks = blank_batch(blank, encoder.dimensions)
    return join_batches([Batch(keys, spans, encoder.encode(chunks)), blanks]) if chunks else blanks


class _TextLoader:
    """Loads texts from the store, and caches the last session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session = ""
        self._title = ""
        self._turns: list[ObjectId] = []

    def load(self, pending: PendingText) -> str:
        """Return a text, empty if the store does not have it any more."""
        if pending.session != self._session:
            row = self._store.row(pending.session)
            self._session = pending.session
            self._title = row.session.title if row else ""
            self._turns = [entry.turn for entry in self._store.manifest(row).entries] if row else []
        if pending.turn >= len(self._turns):
            return ""
        try:
            turn = self._store.load(self._turns[pending.turn], Turn)
        except StoreError:
            return ""
        text = surface_text(turn, pending.surface, self._title)
        return text if text_key(text) == pending.key else ""


def window_start(days: int, newest: int) -> int | None:
    """Return when the embedding window starts, or None if it covers everything.

    It is counted from the newest turn, so that the same store gives the same answers.
    """
    return newest - days * _DAY_MS if days else None
