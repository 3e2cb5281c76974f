"""Searching: fresh if it can be, from the index if there is one, never for want of it.

Nothing heavy is imported here: that is what makes a search as fast as starting Python. What a
rare case needs is imported where that case begins.
"""

from __future__ import annotations

import time

from ccgrep.config import Config
from ccgrep.errors import NotFoundError, RefError, TextIndexError, UsageError
from ccgrep.fulltext import generations
from ccgrep.fulltext.reader import Stored, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.refresh.check import begin_check
from ccgrep.refresh.look import Check, Look
from ccgrep.refs import short_ids
from ccgrep.search.filters import TurnLookup, scope
from ccgrep.search.request import Answer, Filters, Hit, Place, Request
from ccgrep.search.snippet import Marked, Marks, WordMarks
from ccgrep.store.access import check_usable
from ccgrep.store.refs import read_head
from ccgrep.text import redact_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ccgrep.errors import StoreError
    from ccgrep.ingest.run import Progress
    from ccgrep.kinds import TextKind
    from ccgrep.model import Turn
    from ccgrep.refresh.look import Outcome
    from ccgrep.search.request import Passage
    from ccgrep.search.semantic_search import Covered
    from ccgrep.search.turn_reader import TurnReader


MEANING = ("semantic", "hybrid")
_FEW_HITS = 20


class FoundHit(NamedTuple):
    """A hit with what is needed to show it. `texts` are where to look for the match."""

    hit: Hit
    short_id: str
    stored: Stored
    texts: list[Marked]


class Coverage(NamedTuple):
    """How much of what is on disk was searched."""

    is_fresh: bool = True
    behind_files: int = 0
    behind_bytes: int = 0
    is_whole: bool = True  # False: tools and sub-agents are still being indexed
    embedded: Covered | None = None  # how many texts, when searched by meaning


class Result(NamedTuple):
    answer: Answer
    marks: Marks
    coverage: Coverage
    seconds: float


class How(NamedTuple):
    """How a search is done, and whom it tells what it does."""

    is_refreshed: bool = True
    is_indexed: bool = True
    on_progress: Callable[[Progress], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None


class Searcher:
    """Answers requests from an open text index, or from the store alone."""

    def __init__(
        self,
        config: Config,
        texts: TurnLookup,
        newest: int = 0,
        is_whole: bool = True,
        how: How | None = None,
    ) -> None:
        self._config = config
        self._how = how or How()
        self.embedded: Covered | None = None
        self._texts = texts
        self._newest = newest
        self.is_whole = is_whole
        self._turns: TurnReader | None = None
        self._is_lost_noted = False
        self._prepared: list[FoundHit] = []

    @property
    def reader(self) -> TextReader | None:
        return self._texts if isinstance(self._texts, TextReader) else None

    def run(self, request: Request) -> tuple[Answer, Marks]:
        """Answers a request; what ccgrep itself printed counts for nothing, if so asked."""
        if not request.is_own_left_out or request.invert:
            return self._run(request)
        from ccgrep.search.own_output import without_own  # noqa: PLC0415 - only for agents

        return without_own(self._run, self, request)

    def _run(self, request: Request) -> tuple[Answer, Marks]:
        """Answers a request. A query without a word in it is searched for as it stands."""
        if request.mode in MEANING:
            return self._run_meaning(request)
        if request.mode == "words" and isinstance(self._texts, TextReader):
            from ccgrep.search.word_search import search_words  # noqa: PLC0415 - not for exact searches

            answer = search_words(self._texts, request, self._newest, self._field_text)
            if answer is not None:
                return answer, _word_marks(self._texts, request, answer)
            request = request._replace(mode="literal")
        return self._run_exact(request)

    def _run_meaning(self, request: Request) -> tuple[Answer, Marks]:
        if not self._how.is_indexed or not isinstance(self._texts, TextReader):
            raise UsageError("--no-index reads every turn: what they mean is only in the index")
        from ccgrep.search.semantic_search import search_by_meaning  # noqa: PLC0415 - imports numpy

        answer, self.embedded = search_by_meaning(
            self._config, self._texts, request, self._newest, self._how
        )
        return answer, _word_marks(self._texts, request, answer)

    def _run_exact(self, request: Request) -> tuple[Answer, Marks]:
        from ccgrep.search.exact_search import indexed_candidates, search_exact  # noqa: PLC0415
        from ccgrep.search.regex import Matcher  # noqa: PLC0415
        from ccgrep.search.snippet import MAX_SPANS, PatternMarks  # noqa: PLC0415

        is_literal = request.mode != "regex"
        matcher = Matcher(request.patterns, is_literal, request.ignore_case, request.whole_word)
        marks = PatternMarks(matcher, None if request.is_every_match else MAX_SPANS)
        if isinstance(self._texts, TextReader):
            found = indexed_candidates(self._texts, matcher, request, self.turn_text)
            return search_exact(found, matcher, request, self._newest), marks
        from ccgrep.search.store_scan import StoreScan  # noqa: PLC0415
        from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

        scan = StoreScan(open_store(self._config.store_dir), request.filters, self._note_lost)
        return search_exact(scan.candidates(request), matcher, request, scan.newest), marks

    def prepare(self, answer: Answer, marks: Marks, kinds: Sequence[TextKind]) -> None:
        """Gets the texts of a few hits while there is something to wait for."""
        if len(answer.hits) <= _FEW_HITS:
            self._prepared = self._found(answer, marks, kinds)

    def found(self, result: Result, kinds: Sequence[TextKind]) -> list[FoundHit]:
        """The hits of an answer with their text."""
        return self._prepared or self._found(result.answer, result.marks, kinds)

    def _found(self, answer: Answer, marks: Marks, kinds: Sequence[TextKind]) -> list[FoundHit]:
        short = self.short_ids(hit.place.session for hit in answer.hits)
        return [
            FoundHit(
                hit, short[hit.place.session], stored, self._texts_of(hit, stored, kinds, marks)
            )
            for hit in answer.hits
            if (stored := self.stored(hit.place)) is not None
        ]

    def _texts_of(
        self, hit: Hit, stored: Stored, kinds: Sequence[TextKind], marks: Marks
    ) -> list[Marked]:
        if hit.passage is not None:
            return _marked([self._passage(hit.place, hit.passage, stored)], marks)
        said = [("user", stored.prompt), ("assistant", stored.answer)]
        if kinds:
            known = dict(said)
            texts = [(k, known[k] if k in known else self.turn_text(hit.place, k)) for k in kinds]
            return _marked(texts, marks)
        marked = _marked([*said, ("title", stored.title)], marks)
        if any(one.spans for one in marked):
            return marked
        turn = self.turn(hit.place)
        return marked if turn is None else [*marked, *_marked(_rest(turn), marks)]

    def _passage(self, place: Place, passage: Passage, stored: Stored) -> tuple[str, str]:
        from ccgrep.fulltext.surfaces import surface_text  # noqa: PLC0415

        kind = {"prompt": "user", "title": "title"}.get(passage.surface, "assistant")
        if kind == "title":
            text = self.title(place.session)
        elif (turn := self.turn(place)) is not None:
            text = surface_text(turn, passage.surface, "")
        else:  # It is lost, and what is indexed of it is all there is.
            return kind, stored.prompt if kind == "user" else stored.answer
        text, ((start, end),) = redact_spans(text, [(passage.start, passage.end)])
        return kind, text[start:end]

    def stored(self, place: Place) -> Stored | None:
        """What is shown of a turn, from the index or, while that is being built, the store."""
        stored = self._texts.stored(*place)
        if stored is not None or self.is_whole:
            return stored
        turn = self.turn(place)
        if turn is None:
            return None
        from ccgrep.fulltext.document import turn_text  # noqa: PLC0415

        return Stored("", "", "", turn.prompt, turn_text(turn, "assistant"))

    def short_ids(self, ids: Iterable[str]) -> dict[str, str]:
        return short_ids(ids, self._texts.session_ids)

    def sessions(self, filters: Filters) -> list[str]:
        """Every session that has a turn which passes the filters."""
        if isinstance(self._texts, TextReader):
            limits = scope(self._texts, filters)
            query = self._texts.filtered(self._texts.everything(), limits.must, limits.never)
            return sorted(self._texts.values("session", "", query))
        from ccgrep.search.store_scan import StoreScan  # noqa: PLC0415
        from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

        scan = StoreScan(open_store(self._config.store_dir), filters)
        return sorted({one.place.session for one in scan.candidates(Request(()))})

    def title(self, session: str) -> str:
        first = self._texts.stored(session, 0)
        return first.title if first else ""

    def turn(self, place: Place) -> Turn | None:
        return self._opened_turns().turn(place.session, place.turn)

    def turn_id(self, place: Place) -> str:
        """The hash under which a turn is stored."""
        return self._opened_turns().turn_id(place.session, place.turn)

    def _opened_turns(self) -> TurnReader:
        if self._turns is None:
            from ccgrep.search.turn_reader import TurnReader  # noqa: PLC0415
            from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

            self._turns = TurnReader(open_store(self._config.store_dir), self._note_lost)
        return self._turns

    def _note_lost(self, error: StoreError) -> None:
        """Says once that something is missing from the answer."""
        if not self._is_lost_noted:
            self._is_lost_noted = True
            self._how.warn(f"not every turn can be read: {error}")

    def _field_text(self, place: Place, field: str) -> str:
        """The text that a field of the index is made of."""
        if field in ("said", "user", "assistant"):
            stored = self.stored(place)
            said = {"user": stored.prompt, "assistant": stored.answer} if stored else {}
            return said[field] if field in said else "\n".join(said.values())
        from ccgrep.fulltext.document import field_text  # noqa: PLC0415

        turn = self.turn(place)
        return field_text(turn, field) if turn is not None else ""

    def turn_text(self, place: Place, kind: TextKind) -> str:
        from ccgrep.fulltext.document import turn_text  # noqa: PLC0415

        turn = self.turn(place)
        return turn_text(turn, kind) if turn is not None else ""


def open_index(config: Config) -> TextReader | None:
    """The text index, if it is whole and reflects HEAD."""
    check_usable(config.store_dir)
    found = generations.current(config.store_dir)
    if found is None or found.level != "whole" or found.snapshot != read_head(config.store_dir):
        return None
    try:
        return generations.open_reader(found.path)
    except TextIndexError:
        return None


def open_searcher(config: Config, reader: TextReader | None) -> Searcher:
    """A searcher of the store as it is, by what `open_index` gave or without an index."""
    if reader is not None:
        return Searcher(config, reader)
    from ccgrep.search.store_scan import StoreLookup  # noqa: PLC0415
    from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

    return Searcher(config, StoreLookup(open_store(config.store_dir)))


def _marked(texts: Iterable[tuple[str, str]], marks: Marks) -> list[Marked]:
    return [Marked(kind, text, marks.spans(text)) for kind, text in texts if text]


def _rest(turn: Turn) -> Iterator[tuple[str, str]]:
    from ccgrep.fulltext.document import field_text, turn_text  # noqa: PLC0415

    yield "tool", turn_text(turn, "tool")
    yield "thinking", turn_text(turn, "thinking")
    yield "note", field_text(turn, "note")


def _word_marks(reader: TextReader, request: Request, answer: Answer) -> Marks:
    from ccgrep.search.query import content_units, parse  # noqa: PLC0415 - not for exact searches

    units = [unit for text in request.patterns for unit in parse(text, reader.stems, reader.tokens)]
    return WordMarks(units if answer.tier == "all" else content_units(units))


Tried = tuple[Searcher, Answer, Marks]
Written = tuple[TextReader, int]
"""A text index, and when its newest turn began."""


def search(
    config: Config, request: Request, how: How, check: Look | None = None
) -> tuple[Result, Searcher]:
    """Answers a request from a store that is up to date, as far as that is quickly done.

    `check` is a look at the source files that was begun before; who began it, closes it.
    """
    if not any(pattern.strip() for pattern in request.patterns):
        raise UsageError("Query required: give a word to search for")
    check_usable(config.store_dir)
    started = time.monotonic()
    patterns = (text.encode("utf-8", "replace").decode() for text in request.patterns)
    request = request._replace(patterns=tuple(patterns))
    coverage = Coverage()
    if how.is_refreshed:
        look = check or begin_check(config)
        tried, coverage = _search_fresh(config, request, how, look)
        if check is None:
            look.close()
    else:
        tried, coverage = _try(config, request, how), Coverage(is_fresh=False)
    if tried is None:
        from ccgrep.refresh.foreground import open_texts  # noqa: PLC0415

        searcher = Searcher(config, *open_texts(config, request.mode, how), how)
        tried = searcher, *searcher.run(request)
    searcher, answer, marks = tried
    coverage = coverage._replace(is_whole=searcher.is_whole, embedded=searcher.embedded)
    seconds = time.monotonic() - started
    return Result(answer, marks, coverage, seconds), searcher


def _search_fresh(
    config: Config, request: Request, how: How, check: Look
) -> tuple[Tried | None, Coverage]:
    """Searches while a child looks for changes; what was found counts if there are none."""
    early, error = None, None
    is_decided = check.is_decided()
    try:
        # By meaning it is searched once, when everything is there: that takes longer than to look.
        # By words it is searched even in vain, so that everything is at hand when it counts.
        if request.mode == "words" or not (is_decided or request.mode in MEANING):
            early = _try(config, request, how, is_strict=True)
        if early is not None:
            searcher, answer, marks = early
            searcher.prepare(answer, marks, request.types)
    except (NotFoundError, RefError) as none:
        error = none  # What is asked for may be what has changed.
    finally:
        outcome, written = _awaited(check, early[0].reader if early else None)
    if outcome == "taken in" and written is not None and how.is_indexed:
        searcher = Searcher(config, *written, how=how)
        return (searcher, *searcher.run(request)), Coverage()
    if outcome == "fresh" and error is not None:
        raise error
    if outcome == "fresh" and early is not None:
        return early, Coverage()
    coverage = Coverage()
    if outcome == "stale":
        from ccgrep.refresh.foreground import refresh  # noqa: PLC0415

        coverage = refresh(config, how)
    return _try(config, request, how, is_strict=True), coverage


def _awaited(check: Look, opened: TextReader | None) -> tuple[Outcome, Written | None]:
    """What has become of a look, and the text index if what has changed was written to it here."""
    outcome = check.outcome(is_writing=True)
    if outcome != "handed over":
        return outcome, None
    assert isinstance(check, Check)  # No other look hands anything over.
    written = _written(check, opened)
    if written is None:
        return check.outcome(), None
    return "taken in" if check.is_all() else "stale", written


def _written(check: Check, opened: TextReader | None) -> Written | None:
    """Writes what a child has taken in to the text index; nothing if that cannot be done here."""
    from ccgrep.fulltext.writer import CHANGE, TextWriter  # noqa: PLC0415
    from ccgrep.refresh.handover import write  # noqa: PLC0415 - only if something changed

    writer, found = None, generations.current(check.store_dir)
    if found is not None:
        is_opened = opened is not None and opened.path == found.path
        try:
            generations.check(found.path)
            writer = TextWriter(found.path, CHANGE, opened if is_opened else None)
        except TextIndexError:
            writer = None
    return write(check.line, writer, found.newest if found is not None else 0)


def _try(config: Config, request: Request, how: How, is_strict: bool = False) -> Tried | None:
    """An answer from the text index as it is; with `is_strict` only if it reflects HEAD."""
    found = generations.current(config.store_dir)
    if found is None or not how.is_indexed:
        return None
    is_current = found.snapshot == read_head(config.store_dir) and found.level == "whole"
    if is_strict and not is_current:
        return None
    try:
        reader = generations.open_reader(found.path)
        searcher = Searcher(config, reader, found.newest, found.level == "whole", how)
        return searcher, *searcher.run(request)
    except TextIndexError:
        return None
