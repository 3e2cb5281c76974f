"""Exact search: a pattern over the text of the turns, verified on that text.

Candidates come from the text index, by trigrams or whole words, or from a scan of every turn,
which is the oracle: both give the same answer. What happens to a candidate is the same too.
"""

from __future__ import annotations

import _thread
import time

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import Hit as Found
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import scope
from ccgrep.search.rank import SUPERSEDED, WORKER, Ranked, at_most, rank
from ccgrep.search.regex import Matcher, Plan, trigrams, whole_words
from ccgrep.search.request import Answer, Hit, Place, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ccgrep.kinds import TextKind

    Load = Callable[[Place, TextKind], str]
    """Gives a kind of text of the turn at a place, from the store."""

DEFAULT_TYPES: tuple[TextKind, ...] = ("user", "assistant")
_MACHINE = 0.25
_WORD_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}


class Candidate(NamedTuple):
    """A turn that may match, and its text of the wanted kinds, in UTF-8."""

    found: Found
    place: Place
    texts: list[bytes]


def search_exact(
    candidates: Iterable[Candidate], matcher: Matcher, request: Request, newest: int
) -> Answer:
    """The turns that match, or with `invert` those that do not; more matches rank higher."""
    places: dict[tuple[int, int], Place] = {}
    counts: dict[tuple[int, int], int] = {}
    hits: list[Found] = []

    def gather() -> None:
        for candidate in candidates:
            if request.deadline is not None and time.monotonic() > request.deadline:
                return
            count = sum([matcher.count(text) for text in candidate.texts if text])
            if bool(count) == request.invert:
                continue
            found = candidate.found
            key = (found.session_key, found.turn)
            places[key], counts[key] = candidate.place, count
            relevance = 1.0 if request.invert else count / (count + 1)
            machine = _MACHINE if found.kind in (WORKER, SUPERSEDED) else 1.0
            hits.append(found._replace(score=relevance * machine))

    is_done = _is_done_by(request.deadline, gather)
    ranked = rank(hits[:], newest)
    kept = at_most(ranked, request.limit, request.per_session)
    made = [_hit(one, places, counts) for one in kept]
    return Answer(made, len(ranked), "exact", is_cut_short=not is_done)


def _is_done_by(deadline: float | None, work: Callable[[], None]) -> bool:
    """Whether `work` was done in time; if not, it is left behind.

    One match of a pattern of a thousand parts in a line of a megabyte takes RE2 half a minute, and
    nothing stops it; but others may go on meanwhile, and the process ends without waiting.
    """
    if deadline is None:
        work()
        return True
    errors: list[BaseException] = []
    is_under_way = _thread.allocate_lock()  # threading takes a millisecond to import
    is_under_way.acquire()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            is_under_way.release()

    _thread.start_new_thread(run, ())
    is_done = is_under_way.acquire(timeout=max(deadline - time.monotonic(), 0))
    if errors:
        raise errors[0]
    return is_done and time.monotonic() <= deadline


def _hit(
    ranked: Ranked, places: dict[tuple[int, int], Place], counts: dict[tuple[int, int], int]
) -> Hit:
    found = ranked.found
    key = (found.session_key, found.turn)
    return Hit(
        place=places[key],
        score=ranked.score,
        started=found.started,
        kind=KINDS[found.kind],
        also_in=tuple(places[other.session_key, other.turn] for other in ranked.others),
        matches=counts[key],
    )


def indexed_candidates(
    reader: TextReader, matcher: Matcher, request: Request, load: Load
) -> Iterator[Candidate]:
    """The turns that the index cannot rule out."""
    types = request.types or DEFAULT_TYPES
    limits = scope(reader, request.filters)
    query = reader.everything() if request.invert else _query(reader, matcher, types)
    for found in reader.search(reader.filtered(query, limits.must, limits.never)):
        place, said = reader.said_at(found.address)
        where = Place(*place)
        known: dict[TextKind, bytes] = {"user": said[0], "assistant": said[1]} if said else {}
        texts = [known[k] if k in known else in_utf8(load(where, k)) for k in types]
        yield Candidate(found, where, texts)


def in_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _query(reader: TextReader, matcher: Matcher, types: tuple[TextKind, ...]) -> Query:
    """What a turn must have to match in one of the kinds of text."""
    ways = []
    if {"user", "assistant"} & set(types):
        ways.append(_planned(reader, matcher.plan, lambda text: _grams(reader, matcher, text)))
    for kind in _WORD_FIELDS:
        if kind in types:
            ways.append(_planned(reader, matcher.plan, _words_in(reader, matcher, kind)))
    if not all(ways):
        return reader.everything()
    unsure = reader.any_value("partial", types)
    return reader.any_of([*(way for way in ways if way), unsure])


def _planned(
    reader: TextReader, plan: Plan | str | None, make: Callable[[str], list[Query]]
) -> Query | None:
    """A plan as a query; `None` when it rules nothing out."""
    if plan is None:
        return None
    if isinstance(plan, str):
        parts = make(plan)
        return reader.all_of(parts) if parts else None
    made = [_planned(reader, part, make) for part in plan.parts]
    kept = [query for query in made if query is not None]
    if plan.kind == "any":
        return reader.any_of(kept) if len(kept) == len(made) else None
    return reader.all_of(kept) if kept else None


def _grams(reader: TextReader, matcher: Matcher, literal: str) -> list[Query]:
    return [reader.term("trigram", gram) for gram in trigrams(literal, matcher.ignore_case)]


def _words_in(reader: TextReader, matcher: Matcher, kind: TextKind) -> Callable[[str], list[Query]]:
    """Makes queries of the words of a literal that stand whole in a kind of text."""

    def queries(literal: str) -> Iterator[Query]:
        for word in whole_words(literal, matcher.ignore_case):
            (token,), (stem,) = reader.tokens(word), reader.stems(word)
            fields = _WORD_FIELDS[kind]
            yield reader.any_of([reader.term(f, stem if f == "tool" else token) for f in fields])

    return lambda literal: list(queries(literal))
