"""Counts the turns that match, and finds every place of the hits, without ranking all of them."""

from __future__ import annotations

from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.rank import RankedHit, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_COUNTED = 10_000


def find_every_place(
    reader: TextReader, query: Query, hits: Sequence[RankedHit]
) -> tuple[int, list[RankedHit]]:
    """Return how many turns match the query, and the hits with all their places.

    Many turns are not told apart: then each place counts, also those of forks.
    """
    merged = {hit.document.object_key: hit for hit in hits}
    for document in reader.search(reader.combine(query, [reader.with_turns(list(merged))])):
        hit = merged[document.object_key]
        merged[document.object_key] = merge_places(hit, RankedHit(0.0, document))
    total = reader.count(query)
    total = reader.count_turns(query) if total <= _MAX_COUNTED else total
    return total, list(merged.values())
