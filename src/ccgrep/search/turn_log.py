"""The turns of the history in time order, each once, at the most recent of its places.

They are read from the full-text index in pages, so that the first ones come before the last ones
are read. A pattern without words, such as `;`, is searched in the texts, all of them at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, StoredTurn, TextReader
from ccgrep.search.filters import filter_clauses
from ccgrep.search.request import Filters, Place, Request
from ccgrep.search.searcher import Searcher
from ccgrep.search.word_candidates import CompleteTurns

_FIRST_PAGE = 500
_MAX_PAGE = 8_000


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
    request = Request((pattern,), "words", filters, limit=limit, needs_all_words=True)
    matching = searcher.find_complete(request) if pattern else None
    if pattern and matching is None:
        answer, _ = searcher.run(request._replace(order="time"))
        yield from _log_turns(searcher, [(hit.place, hit.started, None) for hit in answer.hits])
        return
    for page in _pages(texts, filters, limit, matching):
        documents = ((texts.stored_at(hit.address), hit.started) for hit in page)
        found = [(Place(*place), started, stored) for (place, stored), started in documents]
        yield from _log_turns(searcher, found)


def _pages(
    texts: TextReader, filters: Filters, limit: int, matching: CompleteTurns | None
) -> Iterator[list[DocumentHit]]:
    """Yield the documents in order, each turn once.

    Documents that started together with the last of a page may go on in the next one. So they are
    left to it.
    """
    superseded = texts.term("kind", KINDS.index("superseded"))
    everything = CompleteTurns(texts.everything(), lambda _: True)
    wanted, is_match = matching or everything
    query = filter_clauses(texts, filters).apply(wanted, never=[superseded])
    size, seen = _FIRST_PAGE, set[int]()
    until: int | None = None
    while True:
        found = texts.search(_before(texts, query, until), size, order_by="started")
        is_last = len(found) < size
        last = found[-1].started if found and not is_last else None
        page = [hit for hit in found if last is None or hit.started > last]
        if page or is_last:
            each = _each_once(sorted(page, key=_newest_first), seen, is_match)
            yield list(islice(each, limit - len(seen) if limit else None))
            until = last
        if is_last or (limit and len(seen) >= limit):
            return
        size = min(size * 4, _MAX_PAGE) if page else size * 4


def _before(texts: TextReader, query: Query, until: int | None) -> Query:
    return query if until is None else texts.combine(query, [texts.between(None, until)])


def _each_once(
    documents: Iterable[DocumentHit], seen: set[int], is_match: Callable[[DocumentHit], bool]
) -> Iterator[DocumentHit]:
    for document in documents:
        if document.object_key not in seen and is_match(document):
            seen.add(document.object_key)
            yield document


def _newest_first(document: DocumentHit) -> tuple[int, int, int]:
    return -document.started, document.session_key, -document.turn


def _log_turns(
    searcher: Searcher, found: Sequence[tuple[Place, int, StoredTurn | None]]
) -> Iterator[LoggedTurn]:
    """Yield the turns of places with their times, and with their texts if these are known."""
    short = searcher.short_ids(place.session for place, _, _ in found)
    for place, started, known in found:
        stored = known or searcher.stored_turn(place)
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
