"""Formats marks: lines separated by tabs, and JSON fields."""

from collections.abc import Iterable
from typing import Any

from ccgrep.ops.marks import ListedMark
from ccgrep.output.formatting import iso_time
from ccgrep.output.style import Style
from ccgrep.text import clip, one_line

_MAX_NOTE = 200


def mark_line(listed: ListedMark, is_full_id: bool, style: Style) -> str:
    """Return REF, tags and note, separated by tabs. What is empty is `-`."""
    mark = listed.mark
    tags = ",".join(one_line(tag) for tag in mark.tags) or "-"
    note = clip(one_line(mark.note), _MAX_NOTE) or "-"
    return f"{style.magenta(_ref(listed, is_full_id))}\t{style.green(tags)}\t{note}"


def _ref(listed: ListedMark, is_full_id: bool) -> str:
    mark = listed.mark
    if listed.session is None:
        return f"@{mark.turn.hex()}" if mark.turn else one_line(mark.session)
    session = mark.session if is_full_id else listed.short_id
    return f"{session}:{mark.number}" if mark.turn else session


def mark_fields(marks: Iterable[ListedMark]) -> dict[str, Any]:
    return {"marks": [_fields(listed) for listed in marks]}


def _fields(listed: ListedMark) -> dict[str, Any]:
    mark, session = listed.mark, listed.session
    return {
        "session_id": mark.session,
        "turn": mark.number if mark.turn else None,
        "id": mark.turn.hex() if mark.turn else None,
        "tags": mark.tags,
        "note": mark.note or None,
        "marked_at": iso_time(mark.marked),
        "project_path": session.project if session else None,
        "title": session.title if session else None,
    }
