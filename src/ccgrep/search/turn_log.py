"""The turns of the history in time order, each once, at the most recent of its places.

Without a pattern, turns are read from the full-text index in pages, so that the first ones come
before the last ones are read.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.search.filters import filter_clauses
from ccgrep.search.request import Filters, Place, Request
from ccgrep.search.searcher import Searcher

_FIRST_PAGE = 500
_MAX_PAGE = 64_000


class LoggedTurn(Struct, frozen=True):
    """A turn with what a line of the log shows."""

    place: Place
    short_id: str
    started: int
    project: str
    source: str
    prompt: str
    answer: str


def log_turns(
    searcher: Searcher, texts: TextReader, filters: Filters, pattern: str = "", limit: int = 0
) -> Iterator[LoggedTurn]:
    """Yield the turns that pass the filters and have all words of the pattern, newest first."""
    if pattern:
        request = Request((pattern,), "words", filters, limit=limit, order="time")
        answer, _ = searcher.run(request._replace(needs_all_words=True))
        yield from _logged(searcher, [(hit.place, hit.started) for hit in answer.hits])
        return
    for page in _pages(texts, filters, limit):
        places = [(Place(*texts.place(hit.address)), hit.started) for hit in page]
        yield from _logged(searcher, places)


def _pages(texts: TextReader, filters: Filters, limit: int) -> Iterator[list[DocumentHit]]:
    """Yield the documents in order, each turn once.

    Documents that started together with the last of a page may go on in the next one. So they are
    left to it.
    """
    superseded = texts.term("kind", KINDS.index("superseded"))
    query = filter_clauses(texts, filters).apply(texts.everything(), never=[superseded])
    size, seen = _FIRST_PAGE, set[int]()
    until: int | None = None
    while True:
        found = texts.search(_before(texts, query, until), size, order_by="started")
        is_last = len(found) < size
        last = found[-1].started if found and not is_last else None
        page = [hit for hit in found if last is None or hit.started > last]
        if page or is_last:
            kept = list(_each_once(sorted(page, key=_newest_first), seen))
            yield kept[: limit - len(seen) + len(kept)] if limit else kept
            until = last
        if is_last or (limit and len(seen) >= limit):
            return
        size = min(size * 4, _MAX_PAGE) if page else size * 4


def _before(texts: TextReader, query: Query, until: int | None) -> Query:
    return query if until is None else texts.combine(query, [texts.between(None, until)])


def _each_once(documents: Iterable[DocumentHit], seen: set[int]) -> Iterator[DocumentHit]:
    for document in documents:
        if document.object_key not in seen:
            seen.add(document.object_key)
            yield document


def _newest_first(document: DocumentHit) -> tuple[int, int, int]:
    return -document.started, document.session_key, -document.turn


def _logged(searcher: Searcher, places: Sequence[tuple[Place, int]]) -> Iterator[LoggedTurn]:
    short = searcher.short_ids(place.session for place, _ in places)
    for place, started in places:
        stored = searcher.stored(place)
        if stored is not None:
            yield LoggedTurn(
                place=place,
                short_id=short[place.session],
                started=started,
                project=stored.project,
                source=stored.source,
                prompt=stored.prompt,
                answer=stored.answer,
            )
