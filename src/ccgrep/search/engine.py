"""Ranked word search on a text index.

Hits come in bands that never mix. First turns in whose discussion everything was found; below
them those that need tool input, output or thinking; below these compact summaries and what
machines said to machines. The first tier asks for all words, the second, if nothing at all
was found, for most of them.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ccgrep.index.text import KINDS, Query, TextReader, key_of
from ccgrep.index.text import Hit as Found
from ccgrep.kinds import TextKind
from ccgrep.search.filters import Scope, scope
from ccgrep.search.query import Unit, content_units, most, parse
from ccgrep.search.rank import Ranked, at_most, rank, scaled
from ccgrep.search.request import Answer, Hit, Place, Request, Tier

_TITLE = 0.6
_NEAR = 0.1
_NEAR_SLOP = 8
_STOP_WORD = 0.2
_FIRST_FETCH = 100
_MANY = 200
_SURE = 0.94
"""What a hit can lose by recency and rank, see rank.py; below that it cannot pass another."""

_FIELDS: dict[TextKind, tuple[str, ...]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool", "output"),
    "thinking": ("thinking",),
}
_REST = ("user", "assistant", "tool", "output", "thinking")
_POSITIONS = frozenset(["said", "title", "tool"])
_TOKENS = frozenset(["output", "thinking"])


class Band(NamedTuple):
    """A query over one kind of document, and where its scores lie."""

    query: Query
    never: tuple[Query, ...]
    must: tuple[Query, ...]
    lowest: float
    highest: float


def search_words(reader: TextReader, request: Request, newest: int) -> Answer | None:
    """The turns that match; `None` when there is no word in what was typed."""
    queries = [parse(text, reader.stems, reader.tokens) for text in request.patterns]
    queries = [units for units in queries if units]
    if not queries:
        return None
    limits = scope(reader, request.filters)
    run = _Run(reader, request, limits, newest)
    answer = run.answer("all", [_Need(units, len(units)) for units in queries])
    if answer.hits:
        return answer
    relaxed = [content_units(units) for units in queries]
    needs = [_Need(units, most(len(units)), units) for units in relaxed]
    found = run.answer("most", needs, [u for units in queries for u in units if u.is_stop_word])
    words = dict.fromkeys(unit.typed for units in relaxed for unit in units)
    return found._replace(relaxed=tuple(words))


class _Need(NamedTuple):
    """Units, and how many of them a turn must have."""

    units: list[Unit]
    at_least: int
    bonus: Sequence[Unit] = ()


class _Run:
    def __init__(self, reader: TextReader, request: Request, limits: Scope, newest: int) -> None:
        self._reader = reader
        self._request = request
        self._limits = limits
        self._newest = newest

    def answer(self, tier: Tier, needs: list[_Need], stops: Sequence[Unit] = ()) -> Answer:
        bands = self._typed(needs) if self._request.types else self._bands(needs, stops)
        ranked: list[Ranked] = []
        total = 0
        seen: set[tuple[int, int]] = set()
        wanted = self._request.limit
        for band in bands:
            found, count = self._search(band, tier == "most")
            new = [one for one in found if _key(one.found) not in seen]
            for one in new:
                seen |= {_key(one.found), *map(_key, one.others)}
            ranked += scaled(new, band.lowest, band.highest)
            total += count - (len(found) - len(new))
            if wanted and len(at_most(ranked, wanted, self._request.per_session)) == wanted:
                break
        kept = at_most(ranked, wanted, self._request.per_session)
        place = self._place_by_key() if len(kept) > _MANY else self._place
        return Answer([_hit(one, place) for one in kept], max(total, len(kept)), tier)

    def _place(self, found: Found) -> Place:
        return Place(*self._reader.place(found.address))

    def _place_by_key(self) -> Callable[[Found], Place]:
        """The same for many hits: by the key of each session, without opening documents."""
        sessions = {key_of(id): id for id in self._reader.values("session")}
        return lambda found: Place(sessions[found.session_key], found.turn)

    def _search(self, band: Band, by_session: bool) -> tuple[list[Ranked], int]:
        """The hits of a band, and how many there are in all."""
        query = self._reader.filtered(
            band.query, [*self._limits.must, *band.must], [*self._limits.never, *band.never]
        )
        wanted = self._request.limit
        fetch = max(_FIRST_FETCH, 4 * wanted) if wanted else 0
        while True:
            found = self._reader.search(query, fetch)
            ranked = rank(found, self._newest, by_session)
            if not fetch or len(found) < fetch:
                return ranked, len(ranked)
            kept = at_most(ranked, wanted, self._request.per_session)
            if len(kept) == wanted and found[-1].score < _SURE * kept[-1].score:
                return ranked, self._reader.count(query)
            fetch *= 8

    # Bands.

    def _bands(self, needs: list[_Need], stops: Sequence[Unit]) -> list[Band]:
        machine = tuple(self._reader.term("kind", KINDS.index(k)) for k in ("worker", "superseded"))
        said = self._any(needs, self._in_discussion)
        bonus = [self._near(need.units) for need in needs]
        bonus += [[self._boosted(self._in("said", unit), _STOP_WORD) for unit in stops]]
        discussion = self._reader.filtered(said, [], [], [one for many in bonus for one in many])
        rest = self._any(needs, lambda unit: self._in_any(_REST, unit))
        below = self._any(needs, lambda unit: self._in_any((*_REST, "note"), unit))
        return [
            Band(discussion, machine, (), 0.5, 1.0),
            Band(rest, machine, (), 0.25, 0.5),
            Band(below, (), (), 0.0, 0.25),
        ]

    def _typed(self, needs: list[_Need]) -> list[Band]:
        fields = tuple(f for kind in self._request.types for f in _FIELDS[kind])
        return [Band(self._any(needs, lambda unit: self._in_any(fields, unit)), (), (), 0.0, 1.0)]

    def _any(self, needs: list[_Need], make: Callable[[Unit], Query]) -> Query:
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
        words = unit.tokens if field in _TOKENS else unit.stems
        parts = [reader.term(field, gram) for gram in unit.grams]
        if words and field in _POSITIONS:
            parts.append(reader.phrase(field, words))
        else:
            parts += [reader.term(field, word) for word in words]
        return parts[0] if len(parts) == 1 else reader.all_of(parts)

    def _near(self, units: Sequence[Unit]) -> list[Query]:
        """A little more for words that stand close together."""
        words = [unit.stems[0] for unit in units if len(unit.stems) == 1]
        pairs = pairwise(words)
        return [
            self._boosted(self._reader.phrase("said", pair, _NEAR_SLOP), _NEAR)
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
    )


def _key(found: Found) -> tuple[int, int]:
    return found.session_key, found.turn
