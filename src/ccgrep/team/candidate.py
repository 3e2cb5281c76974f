"""A turn as a team's server describes it: enough to rank it, and often enough to show it."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from ccgrep.errors import CorruptError
from ccgrep.fulltext.document import turn_text
from ccgrep.fulltext.document_id import hash_session_id
from ccgrep.fulltext.reader import Hit, StoredTurn, make_address
from ccgrep.fulltext.terms import trigram_text
from ccgrep.light_typing import TYPE_CHECKING
from ccgrep.model import Turn
from ccgrep.semantic.similarity_scale import Match
from ccgrep.store import objects

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_TURN_BYTES = 2**28


class Candidate:
    """A document that a server returned. `lexemes` are those of the query that it has."""

    def __init__(self, fields: dict[str, Any], lexemes: Sequence[str]) -> None:
        self.owner: str = fields["owner"]
        self.session: str = fields["session"]
        self.number: int = fields["number"]
        self.kind: int = fields["kind"]
        self.started: int = fields["started"]
        self.lengths: list[int] = fields["lengths"]
        self.lexemes = frozenset(lexemes[position] for position in fields["words"])
        self.title: str = fields["title"]
        self.mark: int = fields["mark"] or 0
        self.session_key = hash_session_id(self.session)
        self.object_key = int(fields["turn"][:14], 16)
        self._parent_key = hash_session_id(fields["parent"])
        self._fields = fields
        self._turn: Turn | None = None

    @property
    def place(self) -> tuple[str, int]:
        return self.session, self.number

    @property
    def has_body(self) -> bool:
        return self._turn is not None or bool(self._fields["body"])

    @property
    def id(self) -> str:
        return str(self._fields["turn"])

    def positions(self, field: str, word: str) -> list[int]:
        """Return where a word of the query is in the discussion or in the title."""
        known = self._fields["said" if field == "said" else "titled"]
        return list(known.get(word, ())) if known else []

    def similarity(self, model: int, surface: int) -> Match | None:
        """Return the part of a text that is most similar to the query, if it has vectors."""
        for number, kind, *match in self._fields.get("near") or ():
            if (number, kind) == (model, surface):
                return Match(*match)
        return None

    def values(self, field: str) -> Sequence[str | int]:
        """Return the values of an exact field."""
        match field:
            case "kind":
                return (self.kind,)
            case "session":
                return (self.session,)
            case "object_key":
                return (self.object_key,)
        return tuple(self._fields.get(field, ()))

    def hit(self, number: int, score: float) -> Hit:
        """Return this document as a hit whose address is `number`."""
        return Hit(
            score,
            make_address(number),
            self.session_key,
            self._parent_key,
            self.object_key,
            self.number,
            self.kind,
            self.started,
        )

    def turn(self) -> Turn:
        if self._turn is None:
            self._turn = decode_turn(self._fields["body"])
        return self._turn

    def set_turn(self, turn: Turn) -> None:
        self._turn = turn

    def fold_discussion(self) -> str:
        turn = self.turn()
        return trigram_text(f"{turn_text(turn, 'user')}\n{turn_text(turn, 'assistant')}")

    def stored_turn(self) -> StoredTurn:
        turn = self.turn()
        path, source = self._fields["path"], self._fields["source"]
        title = self.title if not self.number else ""
        texts = turn_text(turn, "user"), turn_text(turn, "assistant")
        return StoredTurn(path, source, title, *texts)


def decode_turn(body: str) -> Turn:
    """Return a pushed turn. Another person wrote it, perhaps with a program that does harm."""
    try:
        return objects.decode(objects.decompress(b64decode(body), _MAX_TURN_BYTES), Turn)
    except (CorruptError, ValueError):
        return Turn("[this turn cannot be read]")
