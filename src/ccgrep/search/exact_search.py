"""Exact search: a pattern, matched on the text of the turns.

Candidates come from the full-text index, by trigrams or whole words, or from a scan of the store.
The scan is the oracle: both return the same hits, because every candidate is verified that could be
among them. Recency and kind bound the score of a turn before it is read, and its stored bytes do
before they are decoded. So candidates are read in the order of these bounds, until none of the rest
can pass the hits within the limit.
"""

from __future__ import annotations

import _thread
import time

from ccgrep.fulltext.reader import Hit as DocumentHit
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import filter_clauses
from ccgrep.search.rank import MACHINE_KINDS, limit_hits, make_hit, rank
from ccgrep.search.regex import Matcher, Plan, edge_words, trigrams, whole_words
from ccgrep.search.request import Answer, Place, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ccgrep.kinds import TextKind
    from ccgrep.search.score_bounds import ScoreBounds

    LoadText = Callable[[Place, TextKind, int], str]
    """Returns a kind of text of the turn at a place, whose key is known, from the store."""

DEFAULT_TYPES: tuple[TextKind, ...] = ("user", "assistant")
_MACHINE_FACTOR = 0.25
_MANY_DOCUMENTS = 20
_ESCAPE = b"\x1b"
_IN_NUMBERS = frozenset(b"0123456789+-.einfa")
_WORD_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "tool": ("input", "output"),
    "thinking": ("thinking",),
}


class Candidate(NamedTuple):
    """A turn that may match, with its text of the requested kinds in UTF-8."""

    document: DocumentHit
    place: Place
    texts: list[bytes]


def search_exact(
    candidates: Iterable[Candidate],
    matcher: Matcher,
    request: Request,
    newest: int,
    bounds: ScoreBounds | None = None,
) -> Answer:
    """Return the turns that match, or with `invert` those that do not, most matches first.

    With `bounds`, the candidates come in their order, and the search may stop at the limit.
    """
    places: dict[tuple[int, int], Place] = {}
    counts: dict[Place, int] = {}
    documents: list[DocumentHit] = []
    next_check = max(request.limit, 4)
    is_total = True

    def verify_candidates() -> None:
        nonlocal next_check, is_total
        for document, place, texts in candidates:
            if request.deadline is not None and time.process_time() > request.deadline:
                return
            count = sum([matcher.count(text) for text in texts if text])
            if bool(count) == request.invert:
                continue
            places[document.session_key, document.turn] = place
            counts[place] = count
            relevance = 1.0 if request.invert else count / (count + 1)
            documents.append(document._replace(score=relevance * _factor(document)))
            if bounds is not None and len(documents) >= next_check:
                ranked = rank(documents[:], newest)
                kept = limit_hits(ranked, request.limit, request.per_session)
                if len(kept) == request.limit and bounds.exclude_rest(kept):
                    is_total = bounds.is_empty
                    return
                next_check = len(documents) * 5 // 4  # at least one more

    is_complete = _run_until(request.deadline, verify_candidates)
    ranked = rank(documents[:], newest)
    kept = limit_hits(ranked, request.limit, request.per_session)
    hits = [make_hit(one, lambda found: places[found.session_key, found.turn]) for one in kept]
    hits = [hit._replace(matches=counts[hit.place]) for hit in hits]
    return Answer(hits, len(ranked), "exact", is_total=is_total, is_cut_short=not is_complete)


def _factor(document: DocumentHit) -> float:
    return _MACHINE_FACTOR if document.kind in MACHINE_KINDS else 1.0


def bound_scores(
    documents: Sequence[DocumentHit],
    newest: int,
    matcher: Matcher,
    request: Request,
    read: Callable[[int], bytes | None],
) -> ScoreBounds:
    """Return what the candidates of an exact search can score at most.

    `read` returns the stored bytes of the turn with a key. They have its texts as they are, so a
    literal is there at least as often. Decoding them takes longer. The texts lack colors, and
    numbers are stored in binary.
    """

    def lower(key: int) -> float:
        content = read(key)
        if content is None or _ESCAPE in content:
            return 1.0
        count = content.count(matcher.literal)
        return count / (count + 1)

    is_stored = not set(request.types) <= set(DEFAULT_TYPES) and not request.invert
    is_counted = is_stored and bool(set(matcher.literal) - _IN_NUMBERS)
    scored = [one._replace(score=_factor(one)) for one in documents]
    from ccgrep.search.score_bounds import ScoreBounds  # noqa: PLC0415 - only with a limit

    return ScoreBounds(scored, newest, lower if is_counted else None)


def _run_until(deadline: float | None, work: Callable[[], None]) -> bool:
    """Run `work`, abandon it at the deadline, and return whether it finished in time.

    The deadline is CPU time of this process, so that a busy machine cuts no search short.
    RE2 may need half a minute for one match of a long pattern in a line of a megabyte, and cannot
    be interrupted. It releases the interpreter lock, so this thread can go on without it.
    """
    if deadline is None:
        work()
        return True
    errors: list[BaseException] = []
    is_running = _thread.allocate_lock()  # Importing threading takes a millisecond.
    is_running.acquire()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            is_running.release()

    _thread.start_new_thread(run, ())
    is_finished = False
    # Waiting takes at least as long as the other thread needs for this much CPU time.
    while not is_finished and (left := deadline - time.process_time()) > 0:
        is_finished = is_running.acquire(timeout=left)
    if errors:
        raise errors[0]
    return is_finished and time.process_time() <= deadline


def find_documents(reader: TextReader, matcher: Matcher, request: Request) -> list[DocumentHit]:
    """Return the turns that the full-text index cannot rule out."""
    types = request.types or DEFAULT_TYPES
    clauses = filter_clauses(reader, request.filters)
    query = reader.everything() if request.invert else _candidate_query(reader, matcher, types)
    documents = reader.search(clauses.apply(query))
    if len(documents) > _MANY_DOCUMENTS and not set(types) <= set(DEFAULT_TYPES):
        from ccgrep.hashing import load_openssl  # noqa: PLC0415 - imports typing

        load_openssl()  # Objects of the store are hashed.
    return documents


def read_candidates(
    documents: Iterable[DocumentHit], reader: TextReader, request: Request, load: LoadText
) -> Iterator[Candidate]:
    """Yield turns with their texts."""
    types = request.types or DEFAULT_TYPES
    # The output of all hits needs it anyway.
    has_discussion = not request.limit or not set(types).isdisjoint(DEFAULT_TYPES)
    for document in documents:
        if has_discussion:
            session_and_turn, said = reader.discussion_at(document.address)
        else:
            session_and_turn, said = reader.place(document.address), None
        place, key = Place(*session_and_turn), document.object_key
        known: dict[TextKind, bytes] = {"user": said[0], "assistant": said[1]} if said else {}
        texts = [known[k] if k in known else encode_text(load(place, k, key)) for k in types]
        yield Candidate(document, place, texts)


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _candidate_query(reader: TextReader, matcher: Matcher, types: tuple[TextKind, ...]) -> Query:
    """Return a query for the turns that may match in one of the kinds of text."""

    def in_trigrams(literal: str) -> list[Query]:
        return [reader.term("trigram", gram) for gram in trigrams(literal, matcher.ignore_case)]

    builders = [_words_in(reader, matcher, kind) for kind in _WORD_FIELDS if kind in types]
    if {"user", "assistant"} & set(types):
        builders.append(in_trigrams)
    queries = [_plan_query(reader, matcher.plan, build) for build in builders]
    if not all(queries):
        return reader.everything()
    partly_indexed = reader.any_value("partial", types)
    return reader.any_of([*(query for query in queries if query), partly_indexed])


def _plan_query(
    reader: TextReader, plan: Plan | str | None, literal_queries: Callable[[str], list[Query]]
) -> Query | None:
    """Return a query for a plan, or None if the plan rules out no turn."""
    if plan is None:
        return None
    if isinstance(plan, str):
        queries = literal_queries(plan)
        return reader.all_of(queries) if queries else None
    parts = [_plan_query(reader, part, literal_queries) for part in plan.parts]
    known = [query for query in parts if query is not None]
    if plan.kind == "any":
        return reader.any_of(known) if len(known) == len(parts) else None
    return reader.all_of(known) if known else None


def _words_in(reader: TextReader, matcher: Matcher, kind: TextKind) -> Callable[[str], list[Query]]:
    """Return a function that turns the words of a literal into queries on a kind of text.

    Words that may continue outside of the literal are compared with every word of the index. That
    takes longer, so they count only if there are no others.
    """

    def queries(literal: str) -> list[Query]:
        fields, ignore_case = _WORD_FIELDS[kind], matcher.ignore_case
        if words := whole_words(literal, ignore_case):
            return [reader.any_of([reader.term(f, w.lower()) for f in fields]) for w in words]
        patterns = edge_words(literal, ignore_case)
        return [reader.any_of([reader.words_like(f, p) for f in fields]) for p in patterns]

    return queries
