"""Answers requests from a team's server: fetches candidates, then ranks them as a store does.

A word search is one call. Its answer has the texts of the turns that come first. A further call
fetches each shown turn that it lacks: one that matches only outside of the discussion, or that the
server ranked far back.
"""

from __future__ import annotations

from ccgrep.fulltext.document import turn_text
from ccgrep.fulltext.reader import StoredTurn
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.exact_search import DEFAULT_TYPES, Candidate, encode_text, search_exact
from ccgrep.search.index_opener import OpenIndex
from ccgrep.search.regex import Matcher
from ccgrep.search.request import SEMANTIC_MODES, Answer, Filters, Place, Request
from ccgrep.search.searcher import Searcher, SearchOptions, request_finder
from ccgrep.search.snippet import pattern_finder
from ccgrep.search.time_order import run_in_time_order
from ccgrep.search.word_search import search_words
from ccgrep.team.candidate import Candidate as TeamCandidate
from ccgrep.team.candidate import decode_turn
from ccgrep.team.expressions import FIELDS, Statistics
from ccgrep.team.lexemes import split_words
from ccgrep.team.question import exact_question, filter_fields, words_question
from ccgrep.team.reader import TeamReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ccgrep.config import Config
    from ccgrep.model import Turn
    from ccgrep.search.snippet import MatchFinder
    from ccgrep.team.server import Server

_NOTES = {
    "pg_textsearch": "the server has no pg_textsearch: of many matches, only the newest are ranked",
    "pg_trgm": "the server has no pg_trgm: -F and -E compare only the newest 20,000 turns",
}
_EMPTY = Statistics(0, dict.fromkeys(FIELDS, 0), {})


class TeamSearcher(Searcher):
    """A searcher whose turns are on a server. `owners` limits it to those of some people."""

    def __init__(
        self, config: Config, server: Server, owners: tuple[str, ...], options: SearchOptions
    ) -> None:
        self._server = server
        self._owners = owners
        self._reader = TeamReader((), _EMPTY, self._list_ids)
        self._candidates: list[TeamCandidate] = []
        self._owner_of: dict[str, str] = {}
        self._ids: set[str] = set()
        self._background: list[Any] = []
        self._warned: set[str] = set()
        self._fetched: dict[Place, TeamCandidate | None] = {}
        super().__init__(config, OpenIndex(self._reader), options)

    def without_side_effects(self) -> Searcher:
        return TeamSearcher(self._config, self._server, self._owners, SearchOptions())

    def _run(self, request: Request) -> tuple[Answer, MatchFinder]:
        if request.order != "score":
            return run_in_time_order(self._run, request)
        if request.mode in SEMANTIC_MODES:
            return self._search_by_meaning(request)
        if request.mode == "words":
            words = split_words(self._reader, request.patterns)
            if words.groups:
                reader = self._fetch_words(request, words_question(request, words, self._owners))
                ranked = request._replace(filters=Filters())
                answer = search_words(reader, ranked, self._newest, self._field_text)
                if answer is not None:
                    return answer, request_finder(reader, request, answer)
            request = request._replace(mode="literal")
        return self._search_exact(request)

    def _search_by_meaning(self, request: Request) -> tuple[Answer, MatchFinder]:
        from ccgrep.team.meaning import Meaning  # noqa: PLC0415 - imports numpy and a model

        meaning = Meaning(self._config, request, self._warn_once)
        words = split_words(self._reader, request.patterns)
        question = words_question(request, words, self._owners) | meaning.question()
        reader = self._fetch_words(request, question)
        ranked = request._replace(filters=Filters())
        answer = meaning.rank(reader, ranked, self._background, self._newest)
        return answer, request_finder(reader, request, answer)

    def _fetch_words(self, request: Request, question: dict[str, Any]) -> TeamReader:
        lexemes = split_words(self._reader, request.patterns).lexemes
        first, *rows = self._server.call("near" if "models" in question else "search", question)
        self._background = first["background"]
        self._note(first)
        statistics = Statistics(
            first["documents"],
            dict(zip(FIELDS, (total or 0 for total in first["totals"]), strict=True)),
            dict(zip(lexemes, first["counts"], strict=True)),
        )
        return self._set_candidates(rows, lexemes, statistics, first)

    def _search_exact(self, request: Request) -> tuple[Answer, MatchFinder]:
        is_literal = request.mode != "regex"
        matcher = Matcher(request.patterns, is_literal, request.ignore_case, request.whole_word)
        first, *rows = self._server.call("grep", exact_question(request, matcher, self._owners))
        if not first["is_complete"]:
            self._warn_once("the server compared only a part of the turns: add filters")
        self._note(first)
        self._set_candidates(rows, [], _EMPTY, first)
        found = self._exact_candidates(request)
        answer = search_exact(found, matcher, request, self._newest)
        return answer, pattern_finder(matcher, request.finds_every_match)

    def _exact_candidates(self, request: Request) -> Iterator[Candidate]:
        types = request.types or DEFAULT_TYPES
        for number, one in enumerate(self._candidates):
            texts = [encode_text(turn_text(one.turn(), kind)) for kind in types]
            yield Candidate(one.hit(number, 0.0), Place(*one.place), texts)

    def _set_candidates(
        self, rows: list[Any], lexemes: Sequence[str], statistics: Statistics, first: dict[str, Any]
    ) -> TeamReader:
        found: dict[tuple[str, int], TeamCandidate] = {}
        for row in rows:  # The rows of who pushed a place first come first.
            candidate = TeamCandidate(row, lexemes)
            found.setdefault(candidate.place, candidate)
        self._candidates = list(found.values())
        self._owner_of = {one.session: one.owner for one in reversed(self._candidates)}
        self._newest = first["newest"] or 0
        self._reader = TeamReader(self._candidates, statistics, self._list_ids)
        self._texts = self._reader
        self._ids.update(first.get("ids", ()))
        return self._reader

    def _note(self, first: dict[str, Any]) -> None:
        for name in first["notes"]:
            self._warn_once(_NOTES[name])

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._options.warn(text)

    def _list_ids(self, prefix: str) -> list[str]:
        return sorted(id for id in self._ids if id.startswith(prefix))

    def stored_turn(self, place: Place) -> StoredTurn | None:
        found = self._candidate(place)
        return found.stored_turn() if found is not None else None

    def turn(self, place: Place, key: int | None = None) -> Turn | None:  # noqa: ARG002
        found = self._candidate(place)
        return found.turn() if found is not None else None

    def owner(self, place: Place) -> str:
        found = self._candidate(place)
        return found.owner if found is not None else ""

    def turn_id(self, place: Place) -> str:
        found = self._candidate(place)
        return found.id if found is not None else ""

    def title(self, session: str) -> str:
        known = next((one for one in self._candidates if one.session == session), None)
        return known.title if known is not None else ""

    def count_hits(self, request: Request, answer: Answer) -> int | None:
        shown = len(answer.hits)
        return shown if not request.limit or shown < request.limit else None

    def sessions(self, filters: Filters) -> list[str]:
        question = {"filters": filter_fields(filters, self._owners), "ids_only": True}
        return sorted(row["session"] for row in self._server.call("list", question))

    def count_turns(self, filters: Filters) -> int | None:  # noqa: ARG002 - not worth a call
        return None

    def count_words(self, request: Request) -> dict[str, int]:  # noqa: ARG002 - not worth a call
        return {}

    def _candidate(self, place: Place) -> TeamCandidate | None:
        """Return a turn with its text; fetch it if it is not among the candidates."""
        found = self._reader.candidate(*place)
        if found is not None and found.has_body:
            return found
        if place not in self._fetched:
            self._fetched[place] = self._fetch(place, found)
        return self._fetched[place]

    def _fetch(self, place: Place, known: TeamCandidate | None) -> TeamCandidate | None:
        question: dict[str, Any] = {
            "session": place.session, "from": place.turn, "to": place.turn,
        }  # fmt: skip
        if owner := known.owner if known else self._owner_of.get(place.session):
            question["owner"] = owner
        rows = [row for row in self._server.call("get", question) if "body" in row]
        if not rows:
            return None
        if known is not None:
            known.set_turn(decode_turn(rows[0]["body"]))
            return known
        return TeamCandidate(rows[0], ())
