"""Embeds what is not embedded yet, the newest first, and keeps every finished batch.

What there is to embed is read from the text index: the keys of the texts of each turn. A text
whose key has vectors is done, whichever turn it was embedded for.
"""

import os
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ccgrep.errors import StoreError
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import NO_TEXT, surface_text, text_key
from ccgrep.model import Turn
from ccgrep.semantic.vectors import (
    Batch,
    VectorWriter,
    joined,
    no_vectors,
    unique_keys,
    with_blanks,
)
from ccgrep.store.lock import WriterLock
from ccgrep.store.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DAY_MS = 86_400_000
_TEXTS_AT_ONCE = 256
_FIRST_TEXTS = 16
_SAVE_EVERY_S = 20.0


class Encoder(Protocol):
    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]": ...


class Splitter(Protocol):
    def spans(self, text: str) -> Sequence[tuple[int, int]]: ...


class Wanted(NamedTuple):
    """A text to embed, and a turn that has it."""

    key: int
    surface: str
    session: str
    turn: int


class Pending(NamedTuple):
    """What is not embedded yet, the newest first, and how many texts there are in all."""

    texts: list[Wanted]
    total: int


class EmbedProgress(NamedTuple):
    done: int
    total: int
    seconds: float


def pending(
    reader: TextReader, known: "NDArray[np.int64]", surfaces: Sequence[str], since: int | None
) -> Pending:
    """The texts of turns that began after `since` and have no vectors."""
    addresses = reader.newest_first(since)
    keys = {surface: reader.keys(addresses, surface) for surface in surfaces}
    done = set(known.tolist())
    wanted: dict[int, tuple[str, int]] = {}
    seen: set[int] = set()
    for position in range(len(addresses)):
        for surface in surfaces:
            key = keys[surface][position]
            if key != NO_TEXT and key not in seen:
                seen.add(key)
                if key not in done:
                    wanted[key] = (surface, position)
    texts = [
        Wanted(key, surface, *reader.place(addresses[position]))
        for key, (surface, position) in wanted.items()
    ]
    return Pending(texts, len(seen))


def lock(directory: str) -> WriterLock:
    """One process at a time embeds for a model; the store itself stays open to others."""
    return WriterLock(os.path.join(directory, "lock"), 0.0)


def embed(
    store: Store,
    directory: str,
    texts: Sequence[Wanted],
    encoder: Encoder,
    splitter: Splitter,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
    budget_s: float | None = None,
) -> int:
    """Embeds texts in their order until the time is up; gives the number that was done.

    What was finished is kept, also when this is interrupted.
    """
    writer = VectorWriter(store, directory)
    loaded = _Texts(store)
    begun = saved = time.monotonic()
    waiting: list[Batch] = []
    done, size = 0, _FIRST_TEXTS if budget_s is not None else _TEXTS_AT_ONCE
    left = iter(texts)
    try:
        while part := list(islice(left, size)):
            if batch := _encoded(loaded, part, encoder, splitter):
                waiting.append(batch)
            done += len(part)
            seconds = time.monotonic() - begun
            on_progress(EmbedProgress(done, len(texts), seconds))
            if budget_s is not None and seconds * (done + size) / done > budget_s:
                break
            if time.monotonic() - saved > _SAVE_EVERY_S:
                _save(writer, waiting)
                saved = time.monotonic()
    finally:
        _save(writer, waiting)
    return done


def _save(writer: VectorWriter, waiting: list[Batch]) -> None:
    if waiting:
        writer.add(joined(waiting))
        waiting.clear()


def _encoded(
    loaded: "_Texts", part: Sequence[Wanted], encoder: Encoder, splitter: Splitter
) -> Batch | None:
    keys: list[int] = []
    spans: list[tuple[int, int]] = []
    texts: list[str] = []
    blank: list[int] = []
    for wanted in part:
        text = loaded.text(wanted)
        found = splitter.spans(text)
        for start, end in found:
            keys.append(wanted.key)
            spans.append((start, end))
            texts.append(text[start:end])
        if text and not found:
            blank.append(wanted.key)
    if not texts and not blank:
        return None
    vectors = encoder.encode(texts) if texts else no_vectors(encoder.dimensions)
    return with_blanks(Batch(keys, spans, vectors), blank)


class _Texts:
    """The texts of turns, from the store; the session that was read last is kept at hand."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session = ""
        self._title = ""
        self._turns: list[bytes] = []

    def text(self, wanted: Wanted) -> str:
        """The text; empty if it is not there any more."""
        if wanted.session != self._session:
            row = self._store.row(wanted.session)
            self._session = wanted.session
            self._title = row.session.title if row else ""
            self._turns = [entry.turn for entry in self._store.manifest(row).entries] if row else []
        if wanted.turn >= len(self._turns):
            return ""
        try:
            turn = self._store.load(self._turns[wanted.turn], Turn)  # type: ignore[arg-type]
        except StoreError:
            return ""
        text = surface_text(turn, wanted.surface, self._title)
        return text if text_key(text) == wanted.key else ""


def live_keys(reader: TextReader, surfaces: Sequence[str]) -> "NDArray[np.int64]":
    """The keys of all texts that some turn has."""
    addresses = reader.newest_first(None)
    return unique_keys(reader.keys(addresses, surface) for surface in surfaces)


def window_start(days: int, newest: int) -> int | None:
    """Return when the embedding window starts, or None if it covers everything.

    It is counted from the newest turn, so that the same store gives the same answers.
    """
    return newest - days * _DAY_MS if days else None
