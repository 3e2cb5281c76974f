"""Counts the turns that match, and finds every place of the hits, without ranking all of them."""

from __future__ import annotations

from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.rank import RankedHit, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence


def find_every_place(
    reader: TextReader, query: Query, hits: Sequence[RankedHit]
) -> tuple[int, list[RankedHit]]:
    """Return how many turns match the query, and the hits with all their places."""
    keys, addresses = reader.matching_turns(query)
    kept = {hit.document.object_key for hit in hits}
    pairs = zip(keys, addresses, strict=True)
    places: dict[int, list[DocumentHit]] = {key: [] for key in kept}
    for document in reader.hits_at([address for key, address in pairs if key in kept]):
        places[document.object_key].append(document)
    return len(set(keys)), [_add_places(hit, places[hit.document.object_key]) for hit in hits]


def _add_places(hit: RankedHit, documents: list[DocumentHit]) -> RankedHit:
    for document in documents:
        hit = merge_places(hit, RankedHit(0.0, document))
    return hit
