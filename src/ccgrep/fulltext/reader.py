"""Search the full-text index.

Queries are built from parts, never parsed. Stored fields hold what a record line prints; numbers
for ranking are read without opening the document. Imports nothing that a search does not need.
"""

from __future__ import annotations

from math import log

import tantivy
from tantivy import FieldType, Filter, Occur, Query

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.document_id import format_place, unpack_discussion
from ccgrep.fulltext.schema import (
    DAMAGED,
    NUMBERS,
    TOKENS,
    call_tantivy,
    make_analyzer,
    open_tantivy,
)
from ccgrep.fulltext.terms import ANSWER_MARK, fold
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from ccgrep.fulltext.document_id import Discussion

__all__ = ["Hit", "Query", "StoredTurn", "TextReader"]

_MAX_CACHED_BYTES = 16 * 1024 * 1024
Address = tantivy.DocAddress
NO_ADDRESS = tantivy.DocAddress(0, 0)
"""The address of a hit that does not come from an index."""


def make_address(number: int) -> tantivy.DocAddress:
    """Return the address of a document that has a number instead of a place in an index."""
    return tantivy.DocAddress(0, number)


class Hit(NamedTuple):
    """A matching document: its score, address and numbers."""

    score: float
    address: tantivy.DocAddress
    session_key: int
    parent_key: int
    object_key: int
    turn: int
    kind: int
    started: int


class StoredTurn(NamedTuple):
    """The stored fields of a document. Only a session's first turn has the title."""

    project: str
    source: str
    title: str
    prompt: str
    answer: str


def _discussion(document: tantivy.Document) -> Discussion:
    try:
        return unpack_discussion(bytes(document.get_first("text") or b""))
    except ValueError as error:
        raise TextIndexError(DAMAGED) from error


def _place(document: tantivy.Document) -> tuple[str, int]:
    session, _, turn = str(document.get_first("place")).rpartition(":")
    return session, int(turn)


def _stored_turn(document: tantivy.Document, discussion: Discussion) -> StoredTurn:
    value = document.get_first
    try:
        prompt, answer = (text.decode() for text in discussion)
    except UnicodeDecodeError as error:
        raise TextIndexError(DAMAGED) from error
    return StoredTurn(
        project=value("project") or "",
        source=value("source") or "",
        title=value("shown_title") or "",
        prompt=prompt,
        answer=answer,
    )


class TextReader:
    """A generation open for searching."""

    def __init__(self, index: str | tantivy.Index) -> None:
        """Search an index, or the one in a directory."""
        opened = call_tantivy(open_tantivy, index) if isinstance(index, str) else index
        self._schema = opened.schema
        self._searcher = call_tantivy(opened.searcher)
        self._open_analyzers()
        self._cache: dict[tuple[str, int], tuple[tantivy.Document, Discussion]] = {}
        self._cached_bytes = 0

    @classmethod
    def analyzers(cls) -> TextReader:
        """Return a reader without an index, which only splits texts into words."""
        reader = cls.__new__(cls)
        reader._open_analyzers()
        return reader

    def _open_analyzers(self) -> None:
        self._words = make_analyzer(Filter.stemmer("english"))
        self._tokens = make_analyzer()

    def stems(self, text: str) -> list[str]:
        """Return the words of `text` as they are indexed."""
        return self._words.analyze(fold(text))

    def tokens(self, text: str) -> list[str]:
        """Return the words of tool output as they are indexed, without stemming."""
        return self._tokens.analyze(text)

    def analyze(self, field: str, text: str) -> list[str]:
        """Return the words of a document's field, in order."""
        return (self._tokens if field in TOKENS else self._words).analyze(text)

    def rarity(self, field: str, word: str) -> float:
        """Return the weight that BM25 gives to a word: the rarer, the higher."""
        found = int(call_tantivy(self._searcher.doc_freq, field, word))
        return log(1 + (self.document_count() - found + 0.5) / (found + 0.5))

    def value_counts(
        self, field: str, prefix: str = "", among: Query | None = None
    ) -> dict[str, int]:
        """Return the values of an exact field with their numbers of documents."""
        return dict(call_tantivy(self._searcher.terms_with_prefix, field, prefix, among))

    def session_ids(self, prefix: str) -> Collection[str]:
        return self.value_counts("session", prefix)

    def newest_start(self) -> int:
        """Return when the newest turn started, 0 if there is none."""
        hits = self.search(self.everything(), 1, order_by="started")
        return hits[0].started if hits else 0

    def document_count(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: Query, limit: int = 0, order_by: str | None = None) -> list[Hit]:
        """Return the best documents, or those with the highest `order_by`; limit 0 is all."""
        found = self._find(query, limit, order_by)
        addresses = [address for _, address in found]
        numbers = [self._numbers(name, addresses) for name in NUMBERS]
        scores = [float(score or 0) for score, _ in found]
        return [Hit(*fields) for fields in zip(scores, addresses, *numbers, strict=True)]

    def count_turns(self, query: Query) -> int:
        """Return how many different turns match: forks and copies share theirs."""
        return len({key for key, _ in self._find(query, order_by="object_key")})

    def with_turns(self, keys: Sequence[int]) -> Query:
        return Query.term_set_query(self._schema, "object_key", list(keys))

    def turn_key(self, session: str, turn: int) -> int | None:
        """Return the key of the turn at a place, or None if there is no document of it."""
        found = self._find(self.term("place", format_place(session, turn)), 1)
        keys = self._numbers("object_key", [address for _, address in found])
        return keys[0] if keys else None

    def _find(
        self, query: Query, limit: int = 0, order_by: str | None = None
    ) -> list[tuple[Any, tantivy.DocAddress]]:
        size = limit or max(self.document_count(), 1)
        return list(call_tantivy(self._searcher.search, query, size, False, order_by).hits)

    def _document(self, address: tantivy.DocAddress) -> tantivy.Document:
        document: tantivy.Document = call_tantivy(self._searcher.doc, address)
        return document

    def _numbers(self, field: str, addresses: Sequence[tantivy.DocAddress]) -> list[int]:
        return list(call_tantivy(self._searcher.fast_field_values, field, addresses))

    def object_keys(self, addresses: Sequence[tantivy.DocAddress]) -> list[int]:
        """Return the keys of the documents' turns."""
        return self._numbers("object_key", addresses)

    def keys(self, addresses: Sequence[tantivy.DocAddress], surface: str) -> list[int]:
        """Return the keys of the documents' texts on a surface."""
        return self._numbers(f"{surface}_key", addresses)

    def with_keys(self, surfaces: Iterable[str], keys: Sequence[int]) -> Query:
        """Match documents that have one of these texts on one of the surfaces."""
        fields = [f"{surface}_key" for surface in surfaces]
        return self.any_of([Query.term_set_query(self._schema, f, list(keys)) for f in fields])

    @property
    def is_empty(self) -> bool:
        return not self._searcher.num_docs

    def has_any(self, query: Query) -> bool:
        """Return whether any document matches, whatever the filters of a request."""
        return bool(self.search(query, 1))

    def count(self, query: Query) -> int:
        return int(call_tantivy(self._searcher.search, query, 1, True).count or 0)

    def newest_first(self, since: int | None, until: int | None = None) -> list[tantivy.DocAddress]:
        """Return all documents, or those of turns that started between these times."""
        is_all = since is None and until is None
        query = self.everything() if is_all else self.between(since, until)
        return [address for _, address in self._find(query, order_by="started")]

    def recent_sessions(self, query: Query, limit: int) -> list[tantivy.DocAddress]:
        """Return the newest document of each session among the `limit` newest documents."""
        addresses = [address for _, address in self._find(query, limit, "started")]
        newest: dict[int, tantivy.DocAddress] = {}
        for key, address in zip(self._numbers("session_key", addresses), addresses, strict=True):
            newest.setdefault(key, address)
        return list(newest.values())

    def place(self, address: tantivy.DocAddress) -> tuple[str, int]:
        """Return the session and turn number of a document."""
        return _place(self._document(address))

    def stored_turn(self, session: str, turn: int) -> StoredTurn | None:
        """Return the stored fields of a place, or None if it has no text."""
        if cached := self._cache.get((session, turn)):
            return _stored_turn(*cached)
        for _, address in self._find(self.term("place", format_place(session, turn)), 1):
            return self.stored_at(address)[1]
        return None

    def title(self, session: str) -> str:
        first = self.stored_turn(session, 0)
        return first.title if first is not None else ""

    def session_and_title(self, address: tantivy.DocAddress) -> tuple[str, str]:
        """Return the session of a document and its title, which its first turn has."""
        document = self._document(address)
        session, turn = _place(document)
        if turn:
            for _, first in self._find(self.term("place", format_place(session, 0)), 1):
                document = self._document(first)
        return session, str(document.get_first("shown_title") or "")

    def stored_at(self, address: tantivy.DocAddress) -> tuple[tuple[str, int], StoredTurn | None]:
        """Return the place of a document, and its stored fields if it has text."""
        document = self._document(address)
        has_text = document.get_first("text") is not None
        stored = _stored_turn(document, _discussion(document)) if has_text else None
        return _place(document), stored

    def discussion_at(
        self, address: tantivy.DocAddress
    ) -> tuple[tuple[str, int], Discussion | None]:
        """Return the place of a document, and its discussion if it has text."""
        document = self._document(address)
        place = _place(document)
        if document.get_first("text") is None:
            return place, None
        discussion = _discussion(document)
        if self._cached_bytes < _MAX_CACHED_BYTES:  # If it matches, its output needs it again.
            self._cache[place] = document, discussion
            self._cached_bytes += sum(map(len, discussion))
        return place, discussion

    # Queries are built from parts, never parsed: nothing that a user types is query syntax.

    def term(self, field: str, word: str | int) -> Query:
        return Query.term_query(self._schema, field, word, _INDEX_OPTION.get(field, "basic"))

    def phrase(self, field: str, words: Sequence[str], slop: int = 0) -> Query:
        if len(words) == 1:
            return self.term(field, words[0])
        return Query.phrase_query(self._schema, field, list(words), slop)

    def in_prompt(self, word: str) -> Query:
        return self._in_order(word, (0, word), (_MAX_DISCUSSION_WORDS, ANSWER_MARK))

    def in_answer(self, word: str) -> Query:
        return self._in_order(word, (0, ANSWER_MARK), (_MAX_DISCUSSION_WORDS, word))

    def _in_order(self, word: str, first: tuple[int, str], then: tuple[int, str]) -> Query:
        """Match a word of discussions in which `first` comes before `then`, at any distance.

        Slop allows words to swap. So the phrase asks for the largest distance, and slop reduces it
        by less than that.
        """
        slop = _MAX_DISCUSSION_WORDS - 1
        order = Query.phrase_query(self._schema, "said", [first, then], slop)
        return self.combine(self.term("said", word), [order])

    def any_value(self, field: str, values: Iterable[str]) -> Query:
        return Query.term_set_query(self._schema, field, list(values))

    def words_like(self, field: str, pattern: str) -> Query:
        """Return a query for words that match a regular expression as a whole."""
        query: Query = call_tantivy(Query.regex_query, self._schema, field, pattern)
        return query

    def between(self, lower: int | None, upper: int | None) -> Query:
        low, high = lower if lower is not None else -_FAR, upper if upper is not None else _FAR
        return Query.range_query(self._schema, "started", FieldType.Integer, low, high)

    @staticmethod
    def all_of(queries: Sequence[Query]) -> Query:
        return Query.boolean_query([(Occur.Must, query) for query in queries])

    @staticmethod
    def any_of(queries: Sequence[Query], at_least: int = 1) -> Query:
        return Query.boolean_query([(Occur.Should, query) for query in queries], at_least)

    @staticmethod
    def best_of(queries: Sequence[Query]) -> Query:
        return Query.disjunction_max_query(list(queries))

    @staticmethod
    def constant(query: Query, score: float) -> Query:
        return Query.const_score_query(query, score)

    @staticmethod
    def boost(query: Query, factor: float) -> Query:
        return Query.boost_query(query, factor)

    @staticmethod
    def everything() -> Query:
        return Query.const_score_query(Query.all_query(), 1.0)

    @staticmethod
    def combine(
        query: Query,
        must: Sequence[Query],
        never: Sequence[Query] = (),
        bonus: Sequence[Query] = (),
    ) -> Query:
        """Restrict a query: `must` and `never` do not change the score, `bonus` adds to it."""
        parts = [(Occur.Must, query)]
        parts += [(Occur.Must, Query.const_score_query(part, 0.0)) for part in must]
        parts += [(Occur.MustNot, part) for part in never]
        parts += [(Occur.Should, part) for part in bonus]
        return Query.boolean_query(parts)


_INDEX_OPTION = {"title": "position", "said": "position"}
_FAR = 2**62
_MAX_DISCUSSION_WORDS = 2**24
