"""Ranked word search on a text index.

Hits come in bands that never mix. First turns in whose discussion everything was found; below
them those that need tool input, output or thinking; below these compact summaries and what
machines said to machines. The first tier asks for all words, the second, if nothing at all
was found, for most of them.
"""

from __future__ import annotations

from itertools import pairwise

from ccgrep.fulltext.document_id import KINDS, key_of
from ccgrep.fulltext.reader import Hit as Found
from ccgrep.fulltext.reader import Query, TextReader
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple
from ccgrep.search.filters import Scope, scope
from ccgrep.search.phrases import Need, Phrases
from ccgrep.search.query import Unit, content_units, most, parse
from ccgrep.search.rank import SUPERSEDED, WORKER, Ranked, at_most, joined, rank, scaled
from ccgrep.search.request import Answer, Filters, Hit, Place, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.kinds import TextKind, Tier

    Load = Callable[[Place, str], str]
    """Gives the text of a field of the turn at a place."""

_TITLE = 0.6
_NEAR = 0.7  # the same for all: how near is counted differently in each segment
_NEAR_SLOP = 8
_STOP_WORD = 0.2
_FIRST_FETCH = 100
_MANY_WORDS = 1000
_MANY = 200
_LEAST = 0.4  # of the best score, for a hit that has not all words
_SURE = 0.94
"""What a hit can lose by recency and rank, see rank.py; below that it cannot pass another."""

_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}
_ALL = ("said", "tool", "output", "thinking")
_POSITIONS = frozenset(["said", "title"])
_TOKENS = frozenset(["output", "thinking"])


class Band(NamedTuple):
    """A query over one kind of document, and where its scores lie.

    `fields` are those that do not know the order of words: a phrase is looked up in the text.
    """

    query: Query
    never: tuple[Query, ...]
    fields: tuple[str, ...]
    lowest: float
    highest: float


def search_words(reader: TextReader, request: Request, newest: int, load: Load) -> Answer | None:
    """The turns that match; `None` when there is no word in what was typed."""
    queries = [parse(text, reader.stems, reader.tokens) for text in request.patterns]
    queries = [units for units in queries if units]
    if not queries:
        return None
    run = _Run(reader, request, scope(reader, request.filters), newest, load)
    answer = run.answer("all", [Need(units, len(units)) for units in queries])
    if answer.hits:
        return answer
    relaxed = [content_units(units) for units in queries]
    needs = [Need(units, most(len(units))) for units in relaxed]
    found = run.answer("most", needs, [u for units in queries for u in units if u.is_stop_word])
    words = dict.fromkeys(unit.typed for units in relaxed for unit in units)
    return found._replace(relaxed=tuple(words))


def word_scores(
    reader: TextReader, request: Request, limit: int = _MANY_WORDS, is_most: bool = False
) -> list[Found]:
    """The turns with any of the words in what was said, the best first, scored by words alone.

    With `is_most` those only that have as many of the words as a search for words asks for.
    """
    queries = [parse(text, reader.stems, reader.tokens) for text in request.patterns]
    queries = [units for units in queries if units]
    if not queries:
        return []
    run = _Run(reader, request, scope(reader, request.filters), 0, lambda _place, _field: "")
    stops = [unit for units in queries for unit in units if unit.is_stop_word]
    relaxed = [content_units(units) for units in queries]
    needs = [Need(units, most(len(units)) if is_most else 1) for units in relaxed]
    return run.discussion(needs, stops, limit)


def has_words(reader: TextReader, request: Request) -> bool:
    """Whether any word that matters was ever said, whatever the filters."""
    plain = request._replace(filters=Filters(), types=())
    return bool(word_scores(reader, plain, 1))


class _Run:
    def __init__(
        self, reader: TextReader, request: Request, limits: Scope, newest: int, load: Load
    ) -> None:
        self._reader = reader
        self._request = request
        self._limits = limits
        self._newest = newest
        self._phrases = Phrases(reader, load)
        self._wanted = 0 if request.is_counted else request.limit

    def answer(self, tier: Tier, needs: list[Need], stops: Sequence[Unit] = ()) -> Answer:
        bands = self._typed(needs) if self._request.types else self._bands(needs, stops)
        ranked: dict[int, Ranked] = {}
        for band in bands:
            for one in scaled(self._search(band, needs, tier), band.lowest, band.highest):
                known = ranked.get(one.found.object_key)
                ranked[one.found.object_key] = joined(known, one) if known else one
            if self._wanted and len(self._kept(ranked.values())) == self._wanted:
                break
        kept = at_most(ranked.values(), self._request.limit, self._request.per_session)
        place = self._place_by_key() if len(kept) > _MANY else self._place
        return Answer([_hit(one, place) for one in kept], len(ranked), tier)

    def discussion(self, needs: list[Need], stops: Sequence[Unit], limit: int) -> list[Found]:
        bands = self._typed(needs) if self._request.types else self._bands(needs, stops)
        query = bands[0].query
        limits = self._limits
        return self._reader.search(self._reader.filtered(query, limits.must, limits.never), limit)

    def _kept(self, ranked: Iterable[Ranked]) -> list[Ranked]:
        return at_most(ranked, self._wanted, self._request.per_session)

    def _place(self, found: Found) -> Place:
        return Place(*self._reader.place(found.address))

    def _place_by_key(self) -> Callable[[Found], Place]:
        """The same for many hits: by the key of each session, without opening documents."""
        sessions = {key_of(id): id for id in self._reader.values("session")}
        return lambda found: Place(sessions[found.session_key], found.turn)

    def _search(self, band: Band, needs: list[Need], tier: Tier) -> list[Ranked]:
        """The hits of a band, at least as many as are wanted."""
        query = self._reader.filtered(
            band.query, self._limits.must, [*self._limits.never, *band.never]
        )
        fetch = max(_FIRST_FETCH, 4 * self._wanted) if self._wanted else 0
        while True:
            found = self._reader.search(query, fetch)
            if tier == "most":
                least = _LEAST * max((one.score for one in found), default=0.0)
                enough = [one for one in found if one.score >= least]
                ranked = rank(enough, self._newest, by_session=True)
            else:
                ranked = rank(found, self._newest)
            if band.fields and any(unit.is_phrase for need in needs for unit in need.units):
                ranked = self._verified(ranked, needs, band.fields)
            if not fetch or len(found) < fetch:
                return ranked
            kept = self._kept(ranked)
            if len(kept) == self._wanted and found[-1].score < _SURE * kept[-1].score:
                return ranked
            fetch *= 8

    def _verified(
        self, ranked: Iterable[Ranked], needs: list[Need], fields: tuple[str, ...]
    ) -> list[Ranked]:
        """Those in whose text phrases stand as such, until there are enough."""
        kept: list[Ranked] = []
        for one in ranked:
            if self._phrases.holds(self._place(one.found), needs, fields):
                kept.append(one)
                if self._wanted and len(self._kept(kept)) == self._wanted:
                    break
        return kept

    # Bands.

    def _bands(self, needs: list[Need], stops: Sequence[Unit]) -> list[Band]:
        machine = self._machine()
        said = self._any(needs, self._in_discussion)
        bonus = [query for need in needs for query in self._near(need.units)]
        bonus += [self._boosted(self._in("said", unit), _STOP_WORD) for unit in stops]
        discussion = self._reader.filtered(said, [], [], bonus)
        rest = self._any(needs, lambda unit: self._in_any(_ALL, unit))
        below = self._any(needs, lambda unit: self._in_any((*_ALL, "note"), unit))
        return [
            Band(discussion, machine, (), 0.5, 1.0),
            Band(rest, machine, _ALL, 0.25, 0.5),
            Band(below, (), (*_ALL, "note"), 0.0, 0.25),
        ]

    def _typed(self, needs: list[Need]) -> list[Band]:
        fields = tuple(field for kind in self._request.types for field in _FIELDS[kind])
        query = self._any(needs, lambda unit: self._in_any(fields, unit))
        return [
            Band(query, self._machine(), fields, 0.25, 1.0),
            Band(query, (), fields, 0.0, 0.25),
        ]

    def _machine(self) -> tuple[Query, ...]:
        """What machines said to machines, and what stood in files that were rewritten."""
        return tuple(self._reader.term("kind", kind) for kind in (WORKER, SUPERSEDED))

    def _any(self, needs: list[Need], make: Callable[[Unit], Query]) -> Query:
        """The alternatives, each with as many of its units as it needs."""
        made = [
            self._reader.any_of([make(unit) for unit in need.units], need.at_least)
            for need in needs
        ]
        return made[0] if len(made) == 1 else self._reader.best_of(made)

    def _in_discussion(self, unit: Unit) -> Query:
        title = self._boosted(self._in("title", unit), _TITLE)
        return self._reader.best_of([self._in("said", unit), title])

    def _in_any(self, fields: Sequence[str], unit: Unit) -> Query:
        return self._reader.best_of([self._in(field, unit) for field in fields])

    def _in(self, field: str, unit: Unit) -> Query:
        """A unit in a field: its words as a phrase where the field knows their order."""
        reader = self._reader
        if field in _TOKENS:
            both = [reader.term(field, word) for word in unit.tokens]
            return both[0] if len(both) == 1 else reader.all_of(both)
        parts = [self._word(field, gram) for gram in unit.grams]
        if unit.stems and field in _POSITIONS:
            parts.append(reader.phrase(field, unit.stems))
        else:
            parts += [self._word(field, word) for word in unit.stems]
        whole = parts[0] if len(parts) == 1 else reader.all_of(parts)
        if len(unit.parts) > 1 and field in _POSITIONS:
            return reader.best_of([whole, reader.phrase(field, unit.parts)])
        return whole

    def _word(self, field: str, word: str) -> Query:
        match field:
            case "user":
                return self._reader.asked(word)
            case "assistant":
                return self._reader.answered(word)
        return self._reader.term(field, word)

    def _near(self, units: Sequence[Unit]) -> list[Query]:
        """A little more for words that stand close together."""
        words = [unit.stems[0] for unit in units if len(unit.stems) == 1]
        pairs = pairwise(words)
        return [
            self._reader.constant(self._reader.phrase("said", pair, _NEAR_SLOP), _NEAR)
            for pair in pairs
            if pair[0] != pair[1]
        ]

    def _boosted(self, query: Query, boost: float) -> Query:
        return self._reader.boosted(query, boost)


def _hit(ranked: Ranked, place: Callable[[Found], Place]) -> Hit:
    found = ranked.found
    return Hit(
        place=place(found),
        score=ranked.score,
        started=found.started,
        kind=KINDS[found.kind],
        also_in=tuple(place(other) for other in ranked.others),
        parts=(("words", found.score),),
    )


def _key(found: Found) -> tuple[int, int]:
    return found.session_key, found.turn
