"""Reads the documents that Claude Code's agents write for themselves: project memory and plans.

A document is a session of the kind `document` with one turn: the text, as the agent's message.
"""

from ccgrep.model import Entry, Message, ObjectId, Session, Text, Turn
from ccgrep.sources.files import read_side_file
from ccgrep.sources.identity import document_id
from ccgrep.sources.reading import SessionReading, add_totals
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.titles import take_sentence

_MAX_BYTES = 4 * 1024 * 1024
_MAX_TITLE_CHARS = 400


def read_document(found: FoundFile) -> Turn | None:
    """Return the turn of a document, or None if it is unreadable, empty or too large."""
    data = read_side_file(found.path, found.root, _MAX_BYTES)
    text = (data or b"").decode("utf-8", "replace").strip()
    return Turn(steps=(Message((Text(text),)),)) if text else None


def describe_document(found: FoundFile, turn: Turn, id: ObjectId) -> SessionReading:
    """Return the session of a document; its time is that of the last change."""
    time = max(found.mtime_ns // 1_000_000, 0)
    entry = Entry(id, 0, found.size, time, time, messages=1)
    (text,) = turn.assistant_texts()
    session = Session(
        id=document_id(found.path),
        source=found.source,
        kind="document",
        title=_find_title(text) or take_sentence(text),
    )
    return SessionReading(add_totals(session, (entry,)), (entry,))


def _find_title(text: str) -> str:
    """Return the first heading."""
    headings = (line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#"))
    return next(filter(None, headings), "")[:_MAX_TITLE_CHARS]
