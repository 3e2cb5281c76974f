"""Make the document of a redacted turn, as `cc.put` takes it. Pure.

The words are those of the full-text index, so that a server finds what a store finds.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ccgrep.fulltext.document import Content, document_fields, turn_content
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.surfaces import KEY_FIELDS
from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.store import objects
from ccgrep.team.expressions import FIELDS
from ccgrep.team.lexemes import LETTERS

MAX_LEXEME_BYTES = 900_000
"""A tsvector holds less than a megabyte. Words beyond that are found only by reading the text."""
_MAX_STREAM_BYTES = 600_000
"""The words of a discussion beyond this are not ranked: an index of the server has to hold them."""


class DocumentMaker:
    """Makes documents. `reader` splits texts into words."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def make(
        self, session: Session, number: int, entry: Entry, turn: Turn, is_superseded: bool
    ) -> dict[str, Any]:
        raw = objects.encode(turn)
        id = objects.object_id("turn", raw)
        entry = Entry(
            ObjectId(id), 0, 0, entry.started, entry.ended, entry.cwd, entry.branch, entry.messages,
            entry.tools, entry.usage, is_rolled_back=entry.is_rolled_back,
        )  # fmt: skip
        content = turn_content(turn)
        fields = document_fields(session, number, entry, content, is_superseded)
        words = {name: self._words(fields, name) for name in LETTERS}
        lexemes, is_cut = _lexemes(words)
        discussion = content.words.get("trigram", "")
        return {
            "number": number,
            "started": fields["started"],
            "branch": clean(entry.branch or session.branch),
            "models": list(map(clean, content.models)),
            "tools": list(map(clean, content.tools)),
            "partial": _partial(content, is_cut),
            "turn": id.hex(),
            "lengths": [len(words[name]) for name in FIELDS],
            "title": session.title,
            "titled": " ".join(words["title"]),
            "said": _cut_words(words["said"]),
            "words": lexemes,
            "folded": clean(discussion),
            "entry": _text(objects.encode(entry)),
            "body": _text(objects.compress(raw)),
            "keys": [fields[name] for name in KEY_FIELDS],
        }

    def _words(self, fields: dict[str, Any], name: str) -> list[str]:
        text = fields.get(name, "")
        return self._reader.analyze(name, text) if text else []


def _lexemes(words: dict[str, list[str]]) -> tuple[str, bool]:
    """Return the different lexemes, and whether some had to be left out."""
    found = [
        letter + word for name, letter in LETTERS.items() for word in dict.fromkeys(words[name])
    ]
    text = " ".join(found)
    if len(text.encode()) + 2 * len(found) <= MAX_LEXEME_BYTES:
        return text, False
    size = 0
    for position, lexeme in enumerate(found):
        size += len(lexeme.encode()) + 3
        if size > MAX_LEXEME_BYTES:
            return " ".join(found[:position]), True
    return text, False


def _partial(content: Content, is_cut: bool) -> list[str]:
    return ["user", "assistant", "tool", "thinking"] if is_cut else content.partial


def _cut_words(words: list[str]) -> str:
    """Return words in order, without those beyond the limit."""
    text = " ".join(words)
    if len(text.encode()) <= _MAX_STREAM_BYTES:
        return text
    return text.encode()[:_MAX_STREAM_BYTES].decode("utf-8", "ignore").rpartition(" ")[0]


def clean(text: str) -> str:
    """Return a text without what PostgreSQL cannot store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _text(data: bytes) -> str:
    return b64encode(data).decode()
