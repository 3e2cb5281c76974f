"""Ranking by meaning, alone or together with words.

    hybrid  = alpha × meaning + (1 − alpha) × words / the most words of any turn
    meaning = 0.85 × the nearest text of the turn + 0.15 × the other side of it

A convex combination, not one of ranks, which loses to words alone. A turn gains from the turns
before and after it, and the best of a session from the next best: docs/relevance.md has what each
gave. Filters come first: when few turns pass them, these are compared one by one; else the
nearest texts are looked up, more of them until enough pass. Pure but for what it asks.
"""

from __future__ import annotations

from ccgrep.fulltext.document_id import KINDS
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from ccgrep.search.filters import scope
from ccgrep.search.rank import SUPERSEDED, WORKER, at_most, rank, recency
from ccgrep.search.request import Answer, Hit, Passage, Place
from ccgrep.search.word_search import has_words, word_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccgrep.fulltext.reader import Hit as Found
    from ccgrep.fulltext.reader import TextReader
    from ccgrep.search.filters import Scope
    from ccgrep.search.rank import Ranked
    from ccgrep.search.request import Request

FLOOR = 0.25
"""What is less similar than this is about something else."""
_STRANGE = 0.42
"""How similar the best hit must be when no word of the query was ever said. 300 strings of random
letters, syllables and digits came up to 0.40 on five conversations, with a median of 0.23; the
best turn for 997 questions had 0.60 in the median, and 0.46 for all but one in a hundred."""

_OTHER_SIDE = 0.15
_NEIGHBOUR = 0.15
_NEXT_BEST = (0.2, 0.1)
_TITLE = 0.9
_FEW = 5000
"""So many turns are compared one by one rather than looked for among the nearest."""
_NEAREST = 256
_LEAST_WORDS = 0.4
_MACHINE = 0.25

Key = tuple[int, int]
"""A place by its numbers."""


class Near(Protocol):
    """How near a part of a text is to the query."""

    @property
    def similarity(self) -> float: ...

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class Meaning(Protocol):
    """A query, to be compared with the texts that were embedded."""

    @property
    def count(self) -> int: ...

    def nearest(self, limit: int) -> Mapping[int, Near]: ...

    def of(self, keys: Iterable[int]) -> Mapping[int, Near]: ...


class _Turn(NamedTuple):
    """A turn with what speaks for it."""

    found: Found
    meaning: float
    words: float
    passage: Passage | None
    nearest: float


def search_meaning(
    reader: TextReader,
    request: Request,
    newest: int,
    meaning: Meaning,
    surfaces: Sequence[str],
    alpha: float,
) -> Answer:
    """The turns that are nearest in meaning; with `alpha` below 1 those that have the words too."""
    run = _Run(reader, request, scope(reader, request.filters), meaning, surfaces)
    words = word_scores(reader, request) if alpha < 1 else []
    turns = run.turns(words)
    scores = {key: _fused(turn, alpha) for key, turn in turns.items()}
    least = FLOOR if has_words(reader, request) else _STRANGE
    is_sense = bool(words) or any(turn.nearest >= least for turn in turns.values())
    worded = {_key(one) for one in word_scores(reader, request, is_most=True)} if words else set()
    is_hit = {
        key
        for key, turn in turns.items()
        if is_sense and (turn.nearest >= FLOOR or (key in worded and turn.words >= _LEAST_WORDS))
    }
    final = _with_company(turns, scores)
    top = max(is_hit, key=lambda key: final[key], default=None)
    if top is None:
        return Answer([], 0, "hybrid" if alpha < 1 else "semantic")
    scale = scores[top] / final[top] if final[top] > 0 else 1.0
    hits = [turns[key].found._replace(score=max(final[key] * scale, 0.0)) for key in is_hit]
    ranked = _ranked(hits, newest)
    kept = at_most(ranked, request.limit, request.per_session)
    made = [_hit(reader, one, turns, newest) for one in kept]
    return Answer(made, len(ranked), "hybrid" if alpha < 1 else "semantic")


class _Run:
    def __init__(
        self,
        reader: TextReader,
        request: Request,
        limits: Scope,
        meaning: Meaning,
        surfaces: Sequence[str],
    ) -> None:
        self._reader = reader
        self._request = request
        self._limits = limits
        self._meaning = meaning
        self._surfaces = surfaces

    def turns(self, words: Sequence[Found]) -> dict[Key, _Turn]:
        """Every turn that may be a hit, and those beside them."""
        found = {_key(one): one for one in (*self._candidates(), *words)}
        most = max((one.score for one in words), default=0.0) or 1.0
        scores = {_key(one): one.score / most for one in words}
        return self._weighed(list(found.values()), scores)

    def _candidates(self) -> Sequence[Found]:
        reader, limits = self._reader, self._limits
        everything = reader.filtered(reader.everything(), limits.must, limits.never)
        if reader.count(everything) <= _FEW:
            return reader.search(everything)
        limit = _NEAREST
        while True:
            near = self._meaning.nearest(limit)
            near = {key: one for key, one in near.items() if one.similarity >= FLOOR}
            query = reader.with_keys(self._surfaces, list(near))
            found = reader.search(reader.filtered(query, limits.must, limits.never))
            is_all = len(near) < limit or limit >= self._meaning.count
            if is_all or self._is_enough(found):
                return found
            limit *= 8

    def _is_enough(self, found: Sequence[Found]) -> bool:
        """Whether among these are several times as many as are asked for."""
        wanted, per_session = 4 * self._request.limit, self._request.per_session
        if not per_session:
            return 0 < wanted <= len({one.object_key for one in found})
        sessions: dict[int, set[int]] = {}
        for one in found:
            sessions.setdefault(one.session_key, set()).add(one.object_key)
        return 0 < wanted <= sum(min(len(some), per_session) for some in sessions.values())

    def _weighed(self, found: list[Found], words: Mapping[Key, float]) -> dict[Key, _Turn]:
        addresses = [one.address for one in found]
        keys = [self._reader.keys(addresses, surface) for surface in self._surfaces]
        near = self._meaning.of({key for some in keys for key in some})
        turns = {}
        for one, own in zip(found, zip(*keys, strict=True), strict=True):
            sides = {
                surface: near[key]
                for surface, key in zip(self._surfaces, own, strict=True)
                if key in near
            }
            turns[_key(one)] = _turn(one, sides, words.get(_key(one), 0.0))
        return turns


def _turn(found: Found, sides: Mapping[str, Near], words: float) -> _Turn:
    if not sides:
        return _Turn(found, 0.0, words, None, 0.0)
    weighed = {
        surface: max(near.similarity, 0.0) * (_TITLE if surface == "title" else 1.0)
        for surface, near in sides.items()
    }
    best = max(weighed, key=lambda surface: weighed[surface])
    pair = [weighed[surface] for surface in ("prompt", "answer") if surface in weighed]
    other = min(pair) if len(pair) == 2 else 0.0
    near = sides[best]
    return _Turn(
        found,
        meaning=(1 - _OTHER_SIDE) * weighed[best] + _OTHER_SIDE * other,
        words=words,
        passage=Passage(best, near.start, near.end),
        nearest=weighed[best],
    )


def _fused(turn: _Turn, alpha: float) -> float:
    return alpha * turn.meaning + (1 - alpha) * turn.words


def _with_company(turns: Mapping[Key, _Turn], scores: Mapping[Key, float]) -> dict[Key, float]:
    """The scores with what speaks for a turn around it: its neighbours, its session."""
    near = {
        (session, turn): score
        + _NEIGHBOUR * (scores.get((session, turn - 1), 0.0) + scores.get((session, turn + 1), 0.0))
        for (session, turn), score in scores.items()
    }
    sessions: dict[int, list[Key]] = {}
    for key in turns:
        sessions.setdefault(key[0], []).append(key)
    for keys in sessions.values():
        keys.sort(key=lambda key: (-near[key], key))
        others = [near[key] for key in keys[1:3]]
        near[keys[0]] += sum(w * score for w, score in zip(_NEXT_BEST, others, strict=False))
    return near


def _ranked(hits: Iterable[Found], newest: int) -> list[Ranked]:
    """What people and agents said first; what machines said to machines below all of it."""
    groups: tuple[list[Found], list[Found]] = ([], [])
    for one in hits:
        groups[one.kind in (WORKER, SUPERSEDED)].append(one)
    said, machine = (rank(group, newest) for group in groups)
    ceiling = min((one.score for one in said), default=1.0) * _MACHINE
    known = {one.found.object_key for one in said}
    below = [one._replace(score=one.score * ceiling) for one in machine]
    return [*said, *(one for one in below if one.found.object_key not in known)]


def _hit(reader: TextReader, ranked: Ranked, turns: Mapping[Key, _Turn], newest: int) -> Hit:
    found = ranked.found
    turn = turns[_key(found)]
    parts = {"meaning": turn.meaning, "words": turn.words}
    return Hit(
        place=Place(*reader.place(found.address)),
        score=ranked.score,
        started=found.started,
        kind=KINDS[found.kind],
        also_in=tuple(Place(*reader.place(other.address)) for other in ranked.others),
        passage=turn.passage,
        parts=tuple({**parts, "recency": recency(found.started, newest)}.items()),
    )


def _key(found: Found) -> Key:
    return found.session_key, found.turn
