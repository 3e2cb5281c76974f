"""JSON fields of `ccgrep brief`."""

from typing import Any

from ccgrep.output.formatting import iso_time
from ccgrep.search.session_brief import SessionBrief


def brief_fields(sessions: list[SessionBrief]) -> dict[str, Any]:
    return {
        "sessions": [
            {
                "session_id": one.place.session,
                "short_id": one.short_id,
                "turn": one.place.turn,
                "timestamp": iso_time(one.started),
                "project": one.project,
                "title": one.title,
                "prompt": one.prompt,
                "answer": one.answer or None,
                "decisions": one.decisions,
                "open": one.todos,
            }
            for one in sessions
        ]
    }
