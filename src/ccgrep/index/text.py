"""The text index: the only module that knows tantivy.

A document is a turn at its place, `session:turn`, and an upsert by that. One field, `said`, has the
whole discussion and carries the score; fields for each kind of text serve `--type` and what is not
discussion. What a record line needs is stored, and what ranking needs are numbers that can be read
without opening the document. Imports nothing that a search does not need.
"""

from __future__ import annotations

import os
import time
import zlib

import tantivy
from tantivy import FieldType, Filter, Occur, Query, Tokenizer

from ccgrep.errors import TextIndexError
from ccgrep.index.surfaces import KEY_FIELDS, NO_TEXT, text_key
from ccgrep.index.terms import MAX_WORD_CHARS, expand, fold
from ccgrep.named import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ccgrep.index.document import Document

    Said = tuple[bytes, bytes]
    """A prompt and its answer, in UTF-8."""

__all__ = ["Hit", "Query", "Stored", "TextReader", "TextWriter", "key_of", "place_of"]

EXACT = ("source", "project", "branch", "model", "tool_name", "partial")
STEMMED = ("user", "assistant", "tool", "note")
TOKENS = ("output", "thinking")
KINDS = ("main", "subagent", "worker", "superseded")
_NUMBERS = ("session_key", "parent_key", "object_key", "turn", "kind", "started")
_MAX_TITLE_CHARS = 1000
_MOST_WAITING = 16_000_000  # characters that tantivy has not taken in
_CATCH_UP_S = 30.0
_MANY = 1000  # documents
_KEPT_BYTES = 16 * 1024 * 1024  # of what was looked at
NO_ADDRESS = tantivy.DocAddress(0, 0)
"""Of a hit that no index gave."""


class Means(NamedTuple):
    """What tantivy may use. Much memory gives few segments: less to merge, and fewer bytes."""

    threads: int
    heap: int  # bytes for each thread
    is_new: bool = True  # nothing to replace: what is added was never there


CHANGE = Means(1, 15_000_000, is_new=False)  # the least that it takes
NEW = Means(1, 80_000_000)
NEW_LARGE = Means(2, 80_000_000)
"""Two are fed by what makes the documents; with one, documents would queue up in memory."""
NEW_HUGE = Means(2, 36_000_000)
"""Merges have their files in memory too, and they are as large as what is merged."""


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


def key_of(name: str) -> int:
    """A number that stands for a name where numbers are faster."""
    from hashlib import blake2b  # noqa: PLC0415 - not needed by a plain search

    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest()) if name else 0


def place_of(session: str, turn: int) -> str:
    return f"{session}:{turn}"


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


def _open(directory: str | None) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=directory) if directory else tantivy.Index(_schema())
    index.register_tokenizer("words", _analyzer(Filter.stemmer("english")))
    index.register_tokenizer("tokens", _analyzer())
    trigrams = tantivy.TextAnalyzerBuilder(Tokenizer.ngram(3, 3, False))
    index.register_tokenizer("trigrams", trigrams.build())
    return index


def guarded(work: Any, *arguments: Any) -> Any:
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


class TextWriter:
    """Changes a generation; `commit` makes the changes visible and durable.

    Without a directory it is in memory, and `reader` the only way to it.
    """

    def __init__(self, directory: str | None, means: Means) -> None:
        self._is_new = means.is_new
        self._directory = directory or "the memory"
        self._is_in_memory = directory is None
        self._index = self._guarded(_open, directory)
        heap = means.heap * means.threads
        self._writer = self._guarded(self._index.writer, heap, means.threads)
        self.added = 0
        self._waiting = 0
        self._keeps_small: Callable[[], object] | None = None

    def put(self, document: Document) -> None:
        """Writes a turn anew."""
        if not self._is_new:
            self.delete(place_of(document.session, document.turn))
        self._guarded(self._writer.add_document, _made(document))
        self.added += 1
        if self.added == _MANY and not self._is_in_memory:
            self._keep_small()
        content = document.content
        self._waiting += len(content.said) + sum(map(len, content.words.values()))
        if self._waiting > _MOST_WAITING:
            self._catch_up()

    def _catch_up(self) -> None:
        """Waits until tantivy has taken in what was added. It lets ten thousand documents wait,
        whatever their size, and does not say how many do; its threads sleep when there are none."""
        self._waiting = 0
        deadline = time.monotonic() + _CATCH_UP_S
        while _is_at_work() and time.monotonic() < deadline:
            time.sleep(0.002)

    def _keep_small(self) -> None:
        """What is written is merged meanwhile: that is not to fill the memory."""
        from weakref import finalize  # noqa: PLC0415 - not for an append

        from ccgrep.index.mapped import keep_small  # noqa: PLC0415

        self._keeps_small = finalize(self, keep_small(self._directory))

    def delete(self, place: str) -> None:
        self._guarded(self._writer.delete_documents_by_term, "place", place)

    def delete_session(self, session: str) -> None:
        self._guarded(self._writer.delete_documents_by_term, "session", session)

    def commit(self) -> None:
        if self._keeps_small is not None:
            from ccgrep.index.mapped import give_back  # noqa: PLC0415

            give_back()  # What documents took that are written.
        self._guarded(self._writer.commit)

    def close(self) -> None:
        """Waits for merges, so that nothing changes behind the caller's back."""
        self._guarded(self._writer.wait_merging_threads)
        if self._keeps_small is not None:
            self._keeps_small()

    def _guarded(self, work: Any, *arguments: Any) -> Any:
        """In a new directory there is nothing that could be damaged: it cannot be written."""
        try:
            return guarded(work, *arguments)
        except TextIndexError as error:
            if not self._is_new:
                raise
            from ccgrep.store.fsio import refused  # noqa: PLC0415 - only if it fails

            raise refused(str(error.__cause__), self._directory) from error

    def reader(self) -> TextReader:
        """A reader of what was committed, without opening the index once more."""
        self._guarded(self._index.reload)
        return TextReader(self._index)


def _is_at_work() -> bool:
    """Whether a thread that takes in documents is running; where that cannot be told, none is."""
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/stat", "rb") as file:
                name, _, state = file.read().partition(b"(")[2].rpartition(b") ")
            if name.startswith(b"thrd-tantivy") and state[:1] in (b"R", b"D"):
                return True
    except OSError:  # It ended meanwhile, or there is no such directory.
        return False
    return False


def _made(document: Document) -> tantivy.Document:
    content = document.content
    made = tantivy.Document()
    made.add_text("place", place_of(document.session, document.turn))
    made.add_text("session", document.session)
    for name, values in document.exact.items():
        for value in values:
            made.add_text(name, value)
    made.add_integer("session_key", key_of(document.session))
    made.add_integer("parent_key", key_of(document.parent))
    made.add_integer("object_key", int(document.object[:14], 16))
    made.add_integer("turn", document.turn)
    made.add_integer("kind", KINDS.index(document.kind))
    made.add_integer("started", document.started)
    keys = (*(content.keys or (NO_TEXT,) * 3), text_key(document.title))
    for name, key in zip(KEY_FIELDS, keys, strict=True):
        made.add_integer(name, key)
    if document.title:
        made.add_text("title", expand(document.title))
        made.add_text("shown_title", document.title[:_MAX_TITLE_CHARS])
    made.add_text("said", content.said)
    for name, words in content.words.items():
        made.add_text(name, words)
    if content.said or content.words:
        # What was said alone is soon replaced: as fast as can be.
        level = 3 if content.words else 0
        made.add_bytes("text", _packed(content.prompt, content.answer, level))
    return made


def _packed(prompt: str, answer: str, level: int) -> bytes:
    said = prompt.encode()
    return zlib.compress(b"%d\n%s%s" % (len(said), said, answer.encode()), level)


def _unpacked(document: tantivy.Document) -> Said:
    try:
        said = zlib.decompress(bytes(document.get_first("text") or b""))
        start = said.index(b"\n") + 1
        end = start + int(said[:start])
    except (ValueError, zlib.error) as error:
        raise TextIndexError("the text index is damaged") from error
    return said[start:end], said[end:]


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
        self._index = guarded(_open, of) if isinstance(of, str) else of
        self._schema = self._index.schema
        self._searcher = guarded(self._index.searcher)
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
        return dict(guarded(self._searcher.terms_with_prefix, field, prefix, among))

    def newest(self) -> int:
        """When the most recent turn began."""
        found = self.search(self.everything(), 1, order_by="started")
        return found[0].started if found else 0

    def documents(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: Query, limit: int = 0, order_by: str | None = None) -> list[Hit]:
        """The best documents, or with `order_by` those with the highest number; 0 is all."""
        size = limit or max(self.documents(), 1)
        found = guarded(self._searcher.search, query, size, False, order_by).hits
        addresses = [address for _, address in found]
        numbers = [guarded(self._searcher.fast_field_values, name, addresses) for name in _NUMBERS]
        scores = [float(score or 0) for score, _ in found]
        return [Hit(*fields) for fields in zip(scores, addresses, *numbers, strict=True)]

    def keys(self, addresses: Sequence[tantivy.DocAddress], surface: str) -> list[int]:
        """The keys of the texts that documents have on a surface."""
        return list(guarded(self._searcher.fast_field_values, f"{surface}_key", addresses))

    def with_keys(self, surfaces: Iterable[str], keys: Sequence[int]) -> Query:
        """The documents that have one of these texts on one of the surfaces."""
        fields = [f"{surface}_key" for surface in surfaces]
        return self.any_of([Query.term_set_query(self._schema, f, list(keys)) for f in fields])

    def count(self, query: Query) -> int:
        return int(guarded(self._searcher.search, query, 1, True).count or 0)

    def newest_first(self, since: int | None) -> list[tantivy.DocAddress]:
        """All documents, or those of turns that began after `since`."""
        query = self.everything() if since is None else self.between(since, None)
        size = max(self.documents(), 1)
        return [a for _, a in guarded(self._searcher.search, query, size, False, "started").hits]

    def recent_sessions(self, query: Query, limit: int) -> list[tantivy.DocAddress]:
        """The newest document of each session, as far as the `limit` newest documents tell."""
        found = guarded(self._searcher.search, query, limit, False, "started").hits
        addresses = [address for _, address in found]
        keys = guarded(self._searcher.fast_field_values, "session_key", addresses)
        newest: dict[int, tantivy.DocAddress] = {}
        for key, address in zip(keys, addresses, strict=True):
            newest.setdefault(key, address)
        return list(newest.values())

    def place(self, address: tantivy.DocAddress) -> tuple[str, int]:
        """The session and turn that a document is of."""
        return _place(guarded(self._searcher.doc, address))

    def stored(self, session: str, turn: int) -> Stored | None:
        """What is stored of a place; nothing while only what was said is indexed."""
        if kept := self._kept.get((session, turn)):
            return _stored(*kept)
        query = self.term("place", place_of(session, turn))
        for _, address in guarded(self._searcher.search, query, 1, False).hits:
            return self.stored_at(address)[1]
        return None

    def titled(self, address: tantivy.DocAddress) -> tuple[str, str]:
        """The session that a document is of, and its title, which stands with its first turn."""
        document = guarded(self._searcher.doc, address)
        session, turn = _place(document)
        if turn:
            query = self.term("place", place_of(session, 0))
            for _, first in guarded(self._searcher.search, query, 1, False).hits:
                document = guarded(self._searcher.doc, first)
        return session, str(document.get_first("shown_title") or "")

    def stored_at(self, address: tantivy.DocAddress) -> tuple[tuple[str, int], Stored | None]:
        """The place of a document, and what is stored of it."""
        document = guarded(self._searcher.doc, address)
        has_text = document.get_first("text") is not None
        return _place(document), _stored(document, _unpacked(document)) if has_text else None

    def said_at(self, address: tantivy.DocAddress) -> tuple[tuple[str, int], Said | None]:
        """The place of a document, and what was said there."""
        document = guarded(self._searcher.doc, address)
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
