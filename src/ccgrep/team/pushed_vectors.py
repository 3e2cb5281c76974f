"""Add to pushed turns the vectors that the store has of their texts.

A text is found by the key of what is pushed. So a text in which a secret was redacted has no
vector: that of the original would confirm a guess of the secret.
"""

from __future__ import annotations

import os
from typing import Any

from ccgrep.fulltext import generations
from ccgrep.hashing import sha256
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccgrep.model import ObjectId
    from ccgrep.semantic.stored_vectors import StoredVectors


class PushedVectors:
    """The vectors of a store. Nothing is imported if it has none."""

    def __init__(self, store_dir: str, is_wanted: Callable[[], bool]) -> None:
        """Ask `is_wanted` whether the server takes vectors, if the store has any."""
        self._vectors: StoredVectors | None = None
        self._counts: dict[int, int] = {}
        self.state = b""
        """A hash that changes with the vectors."""
        if os.path.isdir(os.path.join(store_dir, "vectors")) and is_wanted():
            self._open(store_dir)

    def _open(self, store_dir: str) -> None:
        from ccgrep.semantic.stored_vectors import StoredVectors  # noqa: PLC0415 - imports numpy

        vectors = StoredVectors(store_dir)
        generation = generations.current(store_dir)
        if vectors.state and generation is not None:
            self._vectors = vectors
            self._counts = vectors.counts_by_turn(generations.open_reader(generation.path))
            self.state = sha256(vectors.state.encode()).digest()[:8]

    def count(self, turn: ObjectId) -> int:
        """Return how many texts of a turn have vectors."""
        return self._counts.get(int.from_bytes(turn[:7]), 0)

    def add_to(self, documents: list[dict[str, Any]]) -> None:
        if self._vectors is None:
            return
        found = self._vectors.of({key for one in documents for key in one["keys"] if key})
        for document in documents:
            document["vectors"] = [
                (one.model, one.dimensions, surface, one.key, one.first, one.past, one.vector)
                for surface, key in enumerate(document["keys"])
                for one in found.get(key, ())
            ]
