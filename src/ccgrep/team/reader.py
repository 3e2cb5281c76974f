"""The fetched documents of a team's server, with the interface of the full-text index.

So words are ranked by the same code as in a store. Queries are expressions, not Tantivy's.
"""

from __future__ import annotations

from typing import cast

from ccgrep.fulltext.reader import Hit, Query, StoredTurn, TextReader
from ccgrep.fulltext.surfaces import SURFACES
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.search.exact_search import encode_text
from ccgrep.team.expressions import (
    AtLeast,
    Best,
    Boosted,
    Combined,
    Constant,
    Everything,
    Exact,
    Expression,
    Phrase,
    Sided,
    Trigram,
    Word,
)
from ccgrep.team.lexemes import lexeme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ccgrep.fulltext.document_id import Discussion
    from ccgrep.fulltext.reader import Address
    from ccgrep.team.candidate import Candidate
    from ccgrep.team.expressions import Statistics

_EXACT_FIELDS = frozenset(["kind", "session", "object_key", "partial"])


class TeamReader(TextReader):
    """Searches candidates. `session_ids` are those of the server with the same first letters."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        statistics: Statistics,
        session_ids: Callable[[str], Sequence[str]],
    ) -> None:
        self._open_analyzers()
        self.candidates = candidates
        self._statistics = statistics
        self._list_ids = session_ids
        self._by_place = {one.place: one for one in candidates}

    def candidate(self, session: str, turn: int) -> Candidate | None:
        return self._by_place.get((session, turn))

    def document_count(self) -> int:
        return self._statistics.documents

    def keys(self, addresses: Sequence[Address], surface: str) -> list[int]:
        """Return made-up keys of texts: the position of their candidate, and the surface."""
        number = SURFACES.index(surface) + 1
        return [address.doc * len(SURFACES) + number for address in addresses]

    def has_any(self, query: Query) -> bool:
        """Return whether a candidate matches, or by the counts another turn of the server."""
        return bool(self.search(query, 1)) or _expression(query).occurs()

    def rarity(self, field: str, word: str) -> float:
        return self._statistics.rarity(lexeme(field, word))

    def session_ids(self, prefix: str) -> Sequence[str]:
        return self._list_ids(prefix)

    def value_counts(
        self, field: str, prefix: str = "", among: Query | None = None
    ) -> dict[str, int]:
        found = [one for one in self.candidates if among is None or self._score(among, one)]
        counts: dict[str, int] = {}
        for one in found:
            for value in map(str, one.values(field)):
                if value.startswith(prefix):
                    counts[value] = counts.get(value, 0) + 1
        return counts

    def search(self, query: Query, limit: int = 0, order_by: str | None = None) -> list[Hit]:
        hits = [
            one.hit(number, score)
            for number, one in enumerate(self.candidates)
            if (score := self._score(query, one)) is not None
        ]
        hits.sort(key=lambda hit: (-hit.started if order_by else -hit.score, hit.address.doc))
        return hits[: limit or None]

    def count(self, query: Query) -> int:
        return len(self.search(query))

    def count_turns(self, query: Query) -> int:
        return len({hit.object_key for hit in self.search(query)})

    def with_turns(self, keys: Sequence[int]) -> Query:
        return _query(Exact("object_key", frozenset(keys)))

    def turn_key(self, session: str, turn: int) -> int | None:
        found = self.candidate(session, turn)
        return found.object_key if found else None

    def place(self, address: Address) -> tuple[str, int]:
        return self.candidates[address.doc].place

    def discussion_at(self, address: Address) -> tuple[tuple[str, int], Discussion | None]:
        found = self.candidates[address.doc]
        if not found.has_body:
            return found.place, None
        stored = found.stored_turn()
        return found.place, (encode_text(stored.prompt), encode_text(stored.answer))

    def stored_turn(self, session: str, turn: int) -> StoredTurn | None:
        found = self.candidate(session, turn)
        return found.stored_turn() if found is not None and found.has_body else None

    def title(self, session: str) -> str:
        found = self.candidate(session, 0)
        return found.title if found else ""

    def term(self, field: str, word: str | int) -> Query:
        if field == "trigram":
            return _query(Trigram(str(word)))
        if field in _EXACT_FIELDS:
            return _query(Exact(field, frozenset([word])))
        return _query(Word(self._statistics, field, str(word), lexeme(field, str(word))))

    def phrase(self, field: str, words: Sequence[str], slop: int = 0) -> Query:
        if len(words) == 1:
            return self.term(field, words[0])
        weight = sum(self.rarity(field, word) for word in words)
        return _query(Phrase(self._statistics, field, words, weight, slop))

    def in_prompt(self, word: str) -> Query:
        return _query(Sided(_expression(self.term("said", word)), word, is_prompt=True))

    def in_answer(self, word: str) -> Query:
        return _query(Sided(_expression(self.term("said", word)), word, is_prompt=False))

    def any_value(self, field: str, values: Iterable[str]) -> Query:
        return _query(Exact(field, frozenset(values)))

    @staticmethod
    def all_of(queries: Sequence[Query]) -> Query:
        return _query(AtLeast(_expressions(queries), len(queries)))

    @staticmethod
    def any_of(queries: Sequence[Query], at_least: int = 1) -> Query:
        return _query(AtLeast(_expressions(queries), at_least))

    @staticmethod
    def best_of(queries: Sequence[Query]) -> Query:
        return _query(Best(_expressions(queries)))

    @staticmethod
    def constant(query: Query, score: float) -> Query:
        return _query(Constant(_expression(query), score))

    @staticmethod
    def boost(query: Query, factor: float) -> Query:
        return _query(Boosted(_expression(query), factor))

    @staticmethod
    def everything() -> Query:
        return _query(Everything())

    @staticmethod
    def combine(
        query: Query,
        must: Sequence[Query],
        never: Sequence[Query] = (),
        bonus: Sequence[Query] = (),
    ) -> Query:
        parts = map(_expressions, (must, never, bonus))
        return _query(Combined(_expression(query), *parts))

    @staticmethod
    def _score(query: Query, document: Candidate) -> float | None:
        return _expression(query).score(document)


def _query(expression: Expression) -> Query:
    return cast(Query, expression)


def _expression(query: Query) -> Expression:
    return cast(Expression, query)


def _expressions(queries: Iterable[Query]) -> list[Expression]:
    return [_expression(query) for query in queries]
