"""The text index, and how it is asked; with `text_writer` the only module that knows tantivy.

A document is a turn at its place, `session:turn`, and an upsert by that. One field, `said`, has the
whole discussion and carries the score; a mark in it tells prompt from answer. Fields for the other
kinds of text serve `--type` and what is not discussion. What a record line needs is stored; what
ranking needs are numbers that can be read without opening the document. Imports nothing that a
search does not need.
"""

from __future__ import annotations

import tantivy
from tantivy import FieldType, Filter, Occur, Query, Tokenizer

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.document_id import place_of, unpacked
from ccgrep.fulltext.surfaces import KEY_FIELDS
from ccgrep.fulltext.terms import ANSWER, MAX_WORD_CHARS, fold
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from ccgrep.fulltext.document_id import Said

__all__ = ["Hit", "Query", "Stored", "TextReader"]

EXACT = ("source", "project", "branch", "model", "tool_name", "partial")
STEMMED = ("tool", "note")
TOKENS = ("output", "thinking")
_NUMBERS = ("session_key", "parent_key", "object_key", "turn", "kind", "started")
_KEPT_BYTES = 16 * 1024 * 1024  # of what was looked at
NO_ADDRESS = tantivy.DocAddress(0, 0)
"""Of a hit that no index gave."""


class Hit(NamedTuple):
    """A document that a query matched, by its numbers alone."""

    score: float
    address: tantivy.DocAddress
    session_key: int
    parent_key: int
    object_key: int
    turn: int
    kind: int
    started: int


class Stored(NamedTuple):
    """What is kept of a place besides its words; the title with the first turn alone."""

    project: str
    source: str
    title: str
    prompt: str
    answer: str


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("place", "session", *EXACT):
        is_shown = name in ("place", "project", "source")
        builder.add_text_field(name, stored=is_shown, tokenizer_name="raw", index_option="basic")
    for name in _NUMBERS:
        builder.add_integer_field(name, indexed=name in ("kind", "started"), fast=True)
    for name in KEY_FIELDS:
        builder.add_integer_field(name, indexed=True, fast=True)
    builder.add_text_field("shown_title", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", tokenizer_name="words", index_option="position")
    builder.add_text_field("said", tokenizer_name="words", index_option="position")
    for name in STEMMED:
        builder.add_text_field(name, tokenizer_name="words", index_option="basic")
    for name in TOKENS:
        builder.add_text_field(name, tokenizer_name="tokens", index_option="basic")
    builder.add_text_field("trigram", tokenizer_name="trigrams", index_option="basic")
    builder.add_bytes_field("text", stored=True, indexed=False)
    return builder.build()


def _analyzer(*filters: Filter) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(Tokenizer.simple())
    for one in (Filter.remove_long(MAX_WORD_CHARS), Filter.lowercase(), *filters):
        builder = builder.filter(one)
    return builder.build()


def open_tantivy(directory: str | None) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=directory) if directory else tantivy.Index(_schema())
    index.register_tokenizer("words", _analyzer(Filter.stemmer("english")))
    index.register_tokenizer("tokens", _analyzer())
    trigrams = tantivy.TextAnalyzerBuilder(Tokenizer.ngram(3, 3, False))
    index.register_tokenizer("trigrams", trigrams.build())
    return index


def call_tantivy(work: Any, *arguments: Any) -> Any:
    """Calls into tantivy; what it raises on damaged files becomes one kind of error.

    Its panics are BaseExceptions of a class that cannot be imported.
    """
    try:
        return work(*arguments)
    except (ValueError, OSError) as error:
        raise TextIndexError(f"the text index cannot be read ({error})") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise TextIndexError("the text index is damaged") from error
        raise


def _unpacked(document: tantivy.Document) -> Said:
    try:
        return unpacked(bytes(document.get_first("text") or b""))
    except ValueError as error:
        raise TextIndexError("the text index is damaged") from error


def _place(document: tantivy.Document) -> tuple[str, int]:
    session, _, turn = str(document.get_first("place")).rpartition(":")
    return session, int(turn)


def _stored(document: tantivy.Document, said: Said) -> Stored:
    value = document.get_first
    try:
        prompt, answer = (text.decode() for text in said)
    except UnicodeDecodeError as error:
        raise TextIndexError("the text index is damaged") from error
    return Stored(
        project=value("project") or "",
        source=value("source") or "",
        title=value("shown_title") or "",
        prompt=prompt,
        answer=answer,
    )


class TextReader:
    """Searches a generation."""

    def __init__(self, of: str | tantivy.Index) -> None:
        self.index = call_tantivy(open_tantivy, of) if isinstance(of, str) else of
        self.path = of if isinstance(of, str) else ""
        self._schema = self.index.schema
        self._searcher = call_tantivy(self.index.searcher)
        self._words = _analyzer(Filter.stemmer("english"))
        self._tokens = _analyzer()
        self._kept: dict[tuple[str, int], tuple[tantivy.Document, Said]] = {}
        self._kept_bytes = 0

    def stems(self, text: str) -> list[str]:
        """The words of `text` as they are indexed, one after the other."""
        return self._words.analyze(fold(text))

    def tokens(self, text: str) -> list[str]:
        """The same of tool output, which is not stemmed."""
        return self._tokens.analyze(text)

    def values(self, field: str, prefix: str = "", among: Query | None = None) -> dict[str, int]:
        """The values of an exact field, and how many documents have each."""
        return dict(call_tantivy(self._searcher.terms_with_prefix, field, prefix, among))

    def session_ids(self, prefix: str) -> Collection[str]:
        return self.values("session", prefix)

    def newest(self) -> int:
        """When the most recent turn began."""
        found = self.search(self.everything(), 1, order_by="started")
        return found[0].started if found else 0

    def documents(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: Query, limit: int = 0, order_by: str | None = None) -> list[Hit]:
        """The best documents, or with `order_by` those with the highest number; 0 is all."""
        size = limit or max(self.documents(), 1)
        found = call_tantivy(self._searcher.search, query, size, False, order_by).hits
        addresses = [address for _, address in found]
        numbers = [
            call_tantivy(self._searcher.fast_field_values, name, addresses) for name in _NUMBERS
        ]
        scores = [float(score or 0) for score, _ in found]
        return [Hit(*fields) for fields in zip(scores, addresses, *numbers, strict=True)]

    def _numbers(self, field: str, addresses: Sequence[tantivy.DocAddress]) -> list[int]:
        return list(call_tantivy(self._searcher.fast_field_values, field, addresses))

    def keys(self, addresses: Sequence[tantivy.DocAddress], surface: str) -> list[int]:
        """The keys of the texts that documents have on a surface."""
        return self._numbers(f"{surface}_key", addresses)

    def with_keys(self, surfaces: Iterable[str], keys: Sequence[int]) -> Query:
        """The documents that have one of these texts on one of the surfaces."""
        fields = [f"{surface}_key" for surface in surfaces]
        return self.any_of([Query.term_set_query(self._schema, f, list(keys)) for f in fields])

    def count(self, query: Query) -> int:
        return int(call_tantivy(self._searcher.search, query, 1, True).count or 0)

    def newest_first(self, since: int | None) -> list[tantivy.DocAddress]:
        """All documents, or those of turns that began after `since`."""
        query = self.everything() if since is None else self.between(since, None)
        size = max(self.documents(), 1)
        return [
            a for _, a in call_tantivy(self._searcher.search, query, size, False, "started").hits
        ]

    def recent_sessions(self, query: Query, limit: int) -> list[tantivy.DocAddress]:
        """The newest document of each session, as far as the `limit` newest documents tell."""
        found = call_tantivy(self._searcher.search, query, limit, False, "started").hits
        addresses = [address for _, address in found]
        keys = self._numbers("session_key", addresses)
        newest: dict[int, tantivy.DocAddress] = {}
        for key, address in zip(keys, addresses, strict=True):
            newest.setdefault(key, address)
        return list(newest.values())

    def place(self, address: tantivy.DocAddress) -> tuple[str, int]:
        """The session and turn that a document is of."""
        return _place(call_tantivy(self._searcher.doc, address))

    def stored(self, session: str, turn: int) -> Stored | None:
        """What is stored of a place; nothing while only what was said is indexed."""
        if kept := self._kept.get((session, turn)):
            return _stored(*kept)
        query = self.term("place", place_of(session, turn))
        for _, address in call_tantivy(self._searcher.search, query, 1, False).hits:
            return self.stored_at(address)[1]
        return None

    def title(self, session: str) -> str:
        first = self.stored(session, 0)
        return first.title if first is not None else ""

    def titled(self, address: tantivy.DocAddress) -> tuple[str, str]:
        """The session that a document is of, and its title, which stands with its first turn."""
        document = call_tantivy(self._searcher.doc, address)
        session, turn = _place(document)
        if turn:
            query = self.term("place", place_of(session, 0))
            for _, first in call_tantivy(self._searcher.search, query, 1, False).hits:
                document = call_tantivy(self._searcher.doc, first)
        return session, str(document.get_first("shown_title") or "")

    def stored_at(self, address: tantivy.DocAddress) -> tuple[tuple[str, int], Stored | None]:
        """The place of a document, and what is stored of it."""
        document = call_tantivy(self._searcher.doc, address)
        has_text = document.get_first("text") is not None
        return _place(document), _stored(document, _unpacked(document)) if has_text else None

    def said_at(self, address: tantivy.DocAddress) -> tuple[tuple[str, int], Said | None]:
        """The place of a document, and what was said there."""
        document = call_tantivy(self._searcher.doc, address)
        place = _place(document)
        if document.get_first("text") is None:
            return place, None
        said = _unpacked(document)
        if self._kept_bytes < _KEPT_BYTES:  # It may be a hit, and will be asked for again.
            self._kept[place] = document, said
            self._kept_bytes += sum(map(len, said))
        return place, said

    # Queries are put together by hand: no syntax can come from what was typed.

    def term(self, field: str, word: str | int) -> Query:
        return Query.term_query(self._schema, field, word, _INDEX_OPTION.get(field, "basic"))

    def phrase(self, field: str, words: Sequence[str], slop: int = 0) -> Query:
        if len(words) == 1:
            return self.term(field, words[0])
        return Query.phrase_query(self._schema, field, list(words), slop)

    def asked(self, word: str) -> Query:
        """A word that stands in the prompt."""
        return self._in_order(word, (0, word), (_LONGEST, ANSWER))

    def answered(self, word: str) -> Query:
        """A word that stands in the answer."""
        return self._in_order(word, (0, ANSWER), (_LONGEST, word))

    def _in_order(self, word: str, first: tuple[int, str], then: tuple[int, str]) -> Query:
        """A word of what was said, where two words stand in this order, however far apart.

        By themselves they may be moved past each other: so they are expected as far apart as can
        be, and moved by less than that.
        """
        order = Query.phrase_query(self._schema, "said", [first, then], _LONGEST - 1)
        return self.filtered(self.term("said", word), [order])

    def any_value(self, field: str, values: Iterable[str]) -> Query:
        return Query.term_set_query(self._schema, field, list(values))

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
    def everything() -> Query:
        return Query.const_score_query(Query.all_query(), 1.0)

    @staticmethod
    def filtered(
        query: Query,
        must: Sequence[Query],
        never: Sequence[Query] = (),
        bonus: Sequence[Query] = (),
    ) -> Query:
        """`query` among what passes; `must` and `never` add nothing to the score, `bonus` does."""
        parts = [(Occur.Must, query)]
        parts += [(Occur.Must, Query.const_score_query(one, 0.0)) for one in must]
        parts += [(Occur.MustNot, one) for one in never]
        parts += [(Occur.Should, one) for one in bonus]
        return Query.boolean_query(parts)

    @staticmethod
    def constant(query: Query, score: float) -> Query:
        return Query.const_score_query(query, score)

    @staticmethod
    def boosted(query: Query, boost: float) -> Query:
        return Query.boost_query(query, boost)


_INDEX_OPTION = {"title": "position", "said": "position"}
_FAR = 2**62
_LONGEST = 2**24  # words of a discussion
