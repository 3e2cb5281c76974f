"""Summarizes recent sessions: what was worked on, decided and left open.

No model writes the summary. Its parts are quoted from the sessions: the title, the last prompt, the
final answer, sentences that state a decision, and the items of a TODO list that are not done.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ccgrep.fulltext.document_id import KINDS
from ccgrep.fulltext.reader import TextReader
from ccgrep.model import Turn
from ccgrep.search.filters import filter_clauses
from ccgrep.search.request import Filters, Place
from ccgrep.search.searcher import Searcher
from ccgrep.text import redact

_FETCHED_TURNS = 500
_READ_TURNS = 5
"""The last turns of a session in which decisions and TODO lists are looked for."""
_MAX_DECISIONS = 2
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s)[^.!?\n]*)*[.!?]?")
_DECISION = re.compile(
    r"\b(?:decided|agreed|chose|settled on|going with"
    r"|we(?:'ll| will) (?:use|keep|go with)|let's (?:use|keep|go with))\b",
    re.IGNORECASE,
)
_MIN_SENTENCE, _MAX_SENTENCE = 20, 300
_DONE = ("completed", "cancelled", "deleted")


class SessionBrief(Struct, frozen=True):
    """What is worth knowing of one session, each text as it stands in the transcript."""

    place: Place  # of the last turn
    short_id: str
    started: int  # the start of the last turn
    project: str
    title: str
    prompt: str
    answer: str  # empty if the last turn has none
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()


def brief_sessions(
    searcher: Searcher, texts: TextReader, filters: Filters, limit: int | None
) -> list[SessionBrief]:
    """Return the most recent sessions that pass the filters."""
    superseded = texts.term("kind", KINDS.index("superseded"))
    query = filter_clauses(texts, filters).apply(texts.everything(), never=[superseded])
    newest: dict[int, Any] = {}
    for hit in texts.search(query, _FETCHED_TURNS, order_by="started"):
        newest.setdefault(hit.session_key, hit)
    hits = list(newest.values())[:limit]
    places = [Place(*texts.place(hit.address)) for hit in hits]
    short = searcher.short_ids(place.session for place in places)
    return [
        _brief(searcher, place, short[place.session], hit.started)
        for place, hit in zip(places, hits, strict=True)
    ]


def _brief(searcher: Searcher, place: Place, short_id: str, started: int) -> SessionBrief:
    numbers = range(place.turn, max(place.turn - _READ_TURNS, -1), -1)
    turns = [searcher.turn(Place(place.session, number)) for number in numbers]
    read = [turn for turn in turns if turn is not None]
    stored = searcher.stored_turn(place)
    last = turns[0]
    answers = last.assistant_texts() if last is not None else []
    return SessionBrief(
        place=place,
        short_id=short_id,
        started=started,
        project=stored.project if stored is not None else "",
        title=searcher.title(place.session),
        prompt=last.prompt if last is not None else stored.prompt if stored is not None else "",
        answer=next((text for text in reversed(answers) if text.strip()), ""),
        decisions=_decisions(read),
        todos=next((items for turn in read if (items := open_todos(turn)) is not None), ()),
    )


def _decisions(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the latest sentences that state a decision."""
    found: dict[str, None] = {}
    for turn in turns:
        for text in (*reversed(turn.assistant_texts()), turn.prompt):
            found.update(dict.fromkeys(_deciding_sentences(text)))
            if len(found) >= _MAX_DECISIONS:
                return tuple(found)[:_MAX_DECISIONS]
    return tuple(found)


def _deciding_sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(redact(text)):  # A part of a secret is not recognized.
        sentence = match.group().strip(" \t*-#>")
        if _MIN_SENTENCE <= len(sentence) <= _MAX_SENTENCE and _DECISION.search(sentence):
            yield sentence


def open_todos(turn: Turn) -> tuple[str, ...] | None:
    """Return what the turn's last TODO list leaves open, or None if the turn has no list."""
    for call in reversed(turn.calls()):
        given = call.input if isinstance(call.input, dict) else {}
        items = given.get("todos" if call.name == "TodoWrite" else "plan")
        if call.name in ("TodoWrite", "update_plan") and isinstance(items, list):
            return tuple(_item_text(item) for item in items if _is_open(item))
    return None


def _is_open(item: Any) -> bool:
    return isinstance(item, dict) and bool(_item_text(item)) and item.get("status") not in _DONE


def _item_text(item: dict[str, Any]) -> str:
    text = item.get("content", item.get("step"))
    return text if isinstance(text, str) else ""
