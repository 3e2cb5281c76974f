"""Answers requests: dispatches to the word, exact or semantic search, and fetches texts of hits.

Nothing heavy is imported here: start-up is most of the time of a search. What a rare case needs
is imported where that case begins.
"""

from __future__ import annotations

from ccgrep.config import Config
from ccgrep.errors import ModelError, UsageError
from ccgrep.fulltext.reader import StoredTurn, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.refs import short_ids
from ccgrep.search.filters import filter_clauses
from ccgrep.search.index_opener import OpenIndex
from ccgrep.search.request import (
    DISCUSSION_SCORE,
    SEMANTIC_MODES,
    Answer,
    Filters,
    Hit,
    Place,
    Request,
)
from ccgrep.search.snippet import MatchedText, pattern_finder, word_finder
from ccgrep.text import redact_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ccgrep.errors import StoreError
    from ccgrep.kinds import TextKind
    from ccgrep.model import Turn
    from ccgrep.search.request import Embedded, Passage
    from ccgrep.search.snippet import MatchFinder
    from ccgrep.search.store_scan import StoreScan
    from ccgrep.search.turn_reader import TurnReader
    from ccgrep.search.word_candidates import CompleteTurns
    from ccgrep.semantic.embedding import EmbedProgress


_MAX_READ_CHARS = 16 * 1024 * 1024


class FoundHit(NamedTuple):
    """A hit with what is needed to show it. `texts` are where to look for the match."""

    hit: Hit
    short_id: str
    stored: StoredTurn
    texts: list[MatchedText]


class SearchOptions(NamedTuple):
    """How a search may work, and where its warnings go."""

    use_index: bool = True
    embed_pending: bool = False  # whether a semantic search first embeds new texts, for a second
    warn: Callable[[str], None] = lambda _: None
    on_embed: Callable[[EmbedProgress], None] = lambda _: None


class _LossWarning:
    """Warns once that the answer is incomplete.

    Not a method of the searcher, whose reader holds it: a cycle would keep the index open.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._is_reported = False

    def __call__(self, error: StoreError) -> None:
        if not self._is_reported:
            self._is_reported = True
            self._warn(f"some turns cannot be read: {error}")


class Searcher:
    """Answers requests from a full-text index, or from the store alone."""

    def __init__(
        self, config: Config, index: OpenIndex, options: SearchOptions | None = None
    ) -> None:
        self._config = config
        self._options = options or SearchOptions()
        self.embedded: Embedded | None = None
        self._texts, self._newest, self.is_whole = index
        self._turns: TurnReader | None = None
        self._on_lost = _LossWarning(self._options.warn)
        self._read_texts: dict[tuple[Place, TextKind], str] = {}
        self._read_chars = 0
        self._last_turn: tuple[Place, Turn | None] | None = None

    def without_side_effects(self) -> Searcher:
        """Return a searcher of the same index that neither embeds nor warns."""
        index = OpenIndex(self._texts, self._newest, self.is_whole)
        return Searcher(self._config, index, SearchOptions(self._options.use_index))

    def run(self, request: Request) -> tuple[Answer, MatchFinder]:
        """Answer a request; leave out hits in ccgrep's own output if the request says so."""
        if not request.excludes_own_output or request.invert:
            return self._run(request)
        from ccgrep.search.own_output import drop_own_output  # noqa: PLC0415 - only for agents

        return drop_own_output(self._run, self, request)

    def _run(self, request: Request) -> tuple[Answer, MatchFinder]:
        """Answer a request. A query without any word becomes a literal search."""
        if request.order != "score":
            from ccgrep.search.time_order import run_in_time_order  # noqa: PLC0415 - on request

            return run_in_time_order(self._run, request)
        if request.mode in SEMANTIC_MODES:
            return self._run_semantic(request)
        if request.mode == "words" and isinstance(self._texts, TextReader):
            from ccgrep.search.word_search import search_words  # noqa: PLC0415 - not for exact searches

            answer = search_words(self._texts, request, self._newest, self._field_text)
            if answer is not None:
                return answer, request_finder(self._texts, request, answer)
            request = request._replace(mode="literal")
        return self._run_exact(request)

    def _run_semantic(self, request: Request) -> tuple[Answer, MatchFinder]:
        if not self._options.use_index or not isinstance(self._texts, TextReader):
            raise UsageError("--no-index reads turns, not embeddings: drop --semantic or --hybrid")
        try:
            from ccgrep.search.semantic_search import search_embeddings  # noqa: PLC0415 - heavy

            answer, self.embedded = search_embeddings(
                self._config, self._texts, request, self._newest, self._options
            )
        except (ModelError, ImportError):
            if not request.is_mode_chosen:
                raise
            from ccgrep.search.default_mode import limit_to_surfaces  # noqa: PLC0415 - rare

            return self._run(limit_to_surfaces(request._replace(mode="words")))
        return answer, request_finder(self._texts, request, answer)

    def _run_exact(self, request: Request) -> tuple[Answer, MatchFinder]:
        from ccgrep.search import exact_search  # noqa: PLC0415 - not for words
        from ccgrep.search.regex import Matcher  # noqa: PLC0415

        is_literal = request.mode != "regex"
        matcher = Matcher(request.patterns, is_literal, request.ignore_case, request.whole_word)
        finder = pattern_finder(matcher, request.finds_every_match)
        if isinstance(self._texts, TextReader):
            documents = exact_search.find_documents(self._texts, matcher, request)
            bounds = None
            if request.limit and not request.needs_total:
                bounds = exact_search.bound_scores(
                    documents, self._newest, matcher, request, self._stored_bytes
                )
            ordered = bounds.ordered() if bounds else documents
            found = exact_search.read_candidates(ordered, self._texts, request, self.turn_text)
            answer = exact_search.search_exact(found, matcher, request, self._newest, bounds)
            return answer, finder
        scan = self._scan(request.filters)
        found = scan.candidates(request)
        return exact_search.search_exact(found, matcher, request, scan.newest), finder

    def count_hits(self, request: Request, answer: Answer) -> int | None:
        """Return how many hits there are without a limit, or None if counting takes long."""
        shown = len(answer.hits)
        if not request.limit or shown < request.limit:
            return shown
        if answer.tier == "exact" or (request.order != "score" and answer.tier == "all"):
            return answer.total if answer.is_total else None
        is_strict = answer.tier == "all" and not answer.relaxed and not request.per_session
        if not is_strict or request.excludes_own_output or not isinstance(self._texts, TextReader):
            return None
        from ccgrep.search.word_candidates import count_complete  # noqa: PLC0415 - on a terminal

        return count_complete(self._texts, request)

    def load_hits(
        self, answer: Answer, finder: MatchFinder, kinds: Sequence[TextKind]
    ) -> list[FoundHit]:
        """Return the hits of an answer with their texts."""
        short = self.short_ids(hit.place.session for hit in answer.hits)
        found = []
        complete = answer.complete if answer.relaxed else len(answer.hits)
        for number, hit in enumerate(answer.hits):
            if (stored := self.stored_turn(hit.place)) is None:
                continue
            has_all = answer.tier == "all" and number < complete
            in_tools = has_all and hit.score <= DISCUSSION_SCORE
            texts = self._texts_of(hit, stored, kinds, finder, in_tools)
            found.append(FoundHit(hit, short[hit.place.session], stored, texts))
        return found

    def _texts_of(
        self,
        hit: Hit,
        stored: StoredTurn,
        kinds: Sequence[TextKind],
        finder: MatchFinder,
        in_tools: bool,
    ) -> list[MatchedText]:
        """Return the texts to show. If `in_tools`, the discussion alone does not match."""
        if hit.passage is not None:
            return _find_matches([self._passage(hit.place, hit.passage, stored)], finder)
        discussion = [("user", stored.prompt), ("assistant", stored.answer)]
        if kinds:
            known = dict(discussion)
            texts = [(k, known[k] if k in known else self.turn_text(hit.place, k)) for k in kinds]
            return _find_matches(texts, finder)
        matched = _find_matches([*discussion, ("title", stored.title)], finder)
        is_enough = any(one.spans for one in matched) and not in_tools
        turn = None if is_enough else self.turn(hit.place)
        return matched if turn is None else [*matched, *_find_matches(_other_texts(turn), finder)]

    def _passage(self, place: Place, passage: Passage, stored: StoredTurn) -> tuple[str, str]:
        from ccgrep.fulltext.surfaces import surface_text  # noqa: PLC0415

        kind = {"prompt": "user", "title": "title"}.get(passage.surface, "assistant")
        if kind == "title":
            text = self.title(place.session)
        elif (turn := self.turn(place)) is not None:
            text = surface_text(turn, passage.surface, "")
        else:  # The object is lost: the indexed text is all that is left.
            return kind, stored.prompt if kind == "user" else stored.answer
        text, ((start, end),) = redact_spans(text, [(passage.start, passage.end)])
        return kind, text[start:end]

    def stored_turn(self, place: Place) -> StoredTurn | None:
        """Return what is shown of a turn, or None; from the store if the index is incomplete."""
        stored = self._texts.stored_turn(*place)
        if stored is not None or self.is_whole:
            return stored
        turn = self.turn(place)
        if turn is None:
            return None
        from ccgrep.fulltext.document import turn_text  # noqa: PLC0415

        texts = turn_text(turn, "user"), turn_text(turn, "assistant")
        return StoredTurn("", "", "", *texts)

    def short_ids(self, ids: Iterable[str]) -> dict[str, str]:
        return short_ids(ids, self._texts.session_ids)

    def sessions(self, filters: Filters) -> list[str]:
        """Return every session with a turn that passes the filters."""
        if isinstance(self._texts, TextReader):
            query = filter_clauses(self._texts, filters).apply(self._texts.everything())
            return sorted(self._texts.value_counts("session", "", query))
        return sorted({place.session for _, place, _ in self._scan(filters).turns()})

    def count_turns(self, filters: Filters) -> int | None:
        """Return how many turns pass the filters, or None without an index."""
        if not isinstance(self._texts, TextReader):
            return None
        query = filter_clauses(self._texts, filters).apply(self._texts.everything())
        return self._texts.count(query)

    def count_words(self, request: Request) -> dict[str, int]:
        """Return how many turns have each word of a request, whatever else they have."""
        if not isinstance(self._texts, TextReader):
            return {}
        from ccgrep.search.word_candidates import count_words  # noqa: PLC0415 - only without hits

        return count_words(self._texts, request)

    def find_complete(self, request: Request) -> CompleteTurns | None:
        """Return the turns that have all words of a request, or None if it has no words."""
        assert isinstance(self._texts, TextReader)
        from ccgrep.search.word_candidates import find_complete  # noqa: PLC0415 - only for the log

        return find_complete(self._texts, request, self._field_text)

    def _scan(self, filters: Filters) -> StoreScan:
        from ccgrep.search.store_scan import StoreScan  # noqa: PLC0415 - only without an index
        from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

        return StoreScan(open_store(self._config.store_dir), filters, self._on_lost)

    def title(self, session: str) -> str:
        first = self._texts.stored_turn(session, 0)
        return first.title if first else ""

    def turn(self, place: Place, key: int | None = None) -> Turn | None:
        """Return a turn. The last one is kept: each of its fields asks for it.

        `key` is that of the turn in the index, if it is known.
        """
        if self._last_turn is None or self._last_turn[0] != place:
            self._last_turn = place, self._turn_reader().turn(place.session, place.turn, key)
        return self._last_turn[1]

    def _stored_bytes(self, key: int) -> bytes | None:
        return self._turn_reader().stored_bytes(key)

    def owner(self, place: Place) -> str:  # noqa: ARG002 - for other searchers
        """Return who pushed a turn to a team's server, or "" if this machine has it."""
        return ""

    def turn_id(self, place: Place) -> str:
        """Return the hash under which a turn is stored."""
        return self._turn_reader().turn_id(place.session, place.turn)

    def _turn_reader(self) -> TurnReader:
        if self._turns is None:
            from ccgrep.search.turn_reader import TurnReader  # noqa: PLC0415
            from ccgrep.store.lifecycle import open_store  # noqa: PLC0415

            store = open_store(self._config.store_dir)
            if isinstance(self._texts, TextReader):
                self._turns = TurnReader(store, self._on_lost, self._texts.turn_key)
            else:
                self._turns = TurnReader(store, self._on_lost)
        return self._turns

    def _field_text(self, place: Place, key: int, field: str) -> str:
        """Return the text that a field of the index was built from."""
        if field in ("said", "user", "assistant", "title"):
            stored = self.stored_turn(place)
            if field == "title":
                return stored.title if stored else ""
            sides = {"user": stored.prompt, "assistant": stored.answer} if stored else {}
            return sides[field] if field in sides else "\n".join(sides.values())
        from ccgrep.fulltext.document import field_text  # noqa: PLC0415

        turn = self.turn(place, key)
        return field_text(turn, field) if turn is not None else ""

    def turn_text(self, place: Place, kind: TextKind, key: int | None = None) -> str:
        """Return a text of a turn. Some are kept, because the output needs them again."""
        if (place, kind) in self._read_texts:
            return self._read_texts[place, kind]
        from ccgrep.fulltext.document import turn_text  # noqa: PLC0415

        turn = self.turn(place, key)
        text = turn_text(turn, kind) if turn is not None else ""
        if self._read_chars < _MAX_READ_CHARS:
            self._read_texts[place, kind] = text
            self._read_chars += len(text)
        return text


def _find_matches(texts: Iterable[tuple[str, str]], finder: MatchFinder) -> list[MatchedText]:
    return [MatchedText(kind, text, finder(text)) for kind, text in texts if text]


def _other_texts(turn: Turn) -> Iterator[tuple[str, str]]:
    from ccgrep.fulltext.document import field_text, turn_text  # noqa: PLC0415

    yield "tool", turn_text(turn, "tool")
    yield "thinking", turn_text(turn, "thinking")
    yield "note", field_text(turn, "note")


def request_finder(reader: TextReader, request: Request, answer: Answer) -> MatchFinder:
    """Return a function that finds the words of an answered request."""
    from ccgrep.search.query import content_units, parse  # noqa: PLC0415 - not for exact searches

    units = [unit for text in request.patterns for unit in parse(text, reader.stems, reader.tokens)]
    if answer.relaxed or answer.tier == "most":
        units = content_units(units)
    return word_finder(units, reader.stems)
