"""The fields of a document in the full-text index, and how Tantivy opens one.

A document is a turn at a place, `session:turn`. The field `said` holds the whole discussion and
carries the score; a mark in it separates prompt and answer. Fields for the other text kinds serve
`--type` and matches outside the discussion. A change of fields or analyzers needs a new `VERSION`
in `generations`. Only this module, `reader` and `writer` import Tantivy.
"""

from __future__ import annotations

import tantivy
from tantivy import Filter, Tokenizer

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.surfaces import KEY_FIELDS
from ccgrep.fulltext.terms import MAX_WORD_CHARS
from ccgrep.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

EXACT = ("source", "project", "branch", "model", "tool_name", "partial")
STEMMED = ("tool", "note")
TOKENS = ("input", "output", "thinking")
NUMBERS = ("session_key", "parent_key", "object_key", "turn", "kind", "started")
DAMAGED = "the full-text index is damaged"


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("place", "session", *EXACT):
        is_shown = name in ("place", "project", "source")
        builder.add_text_field(name, stored=is_shown, tokenizer_name="raw", index_option="basic")
    for name in NUMBERS:
        builder.add_integer_field(
            name, indexed=name in ("object_key", "kind", "started"), fast=True
        )
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


def make_analyzer(*filters: Filter) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.remove_long(MAX_WORD_CHARS), Filter.lowercase(), *filters):
        builder = builder.filter(step)
    return builder.build()


def open_tantivy(directory: str | None) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=directory) if directory else tantivy.Index(_schema())
    index.register_tokenizer("words", make_analyzer(Filter.stemmer("english")))
    index.register_tokenizer("tokens", make_analyzer())
    trigrams = tantivy.TextAnalyzerBuilder(Tokenizer.ngram(3, 3, False))
    index.register_tokenizer("trigrams", trigrams.build())
    return index


def call_tantivy(function: Any, *arguments: Any) -> Any:
    """Call Tantivy, and raise TextIndexError for whatever it raises on damaged files.

    Its panics are BaseExceptions of a class that cannot be imported.
    """
    try:
        return function(*arguments)
    except (ValueError, OSError) as error:
        raise TextIndexError(f"cannot read the full-text index ({error})") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise TextIndexError(DAMAGED) from error
        raise
