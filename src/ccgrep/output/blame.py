"""Turns that touched a file: record lines and JSON."""

from typing import Any

from ccgrep.ops.blame import Blamed
from ccgrep.output import records
from ccgrep.output.json import iso
from ccgrep.output.style import Style


def record(blamed: Blamed, is_full_id: bool, style: Style) -> str:
    """A record line; SNIPPET says what was done to which file, and what was asked for."""
    done = "; ".join(f"{', '.join(actions)} {path}" for path, actions in _done(blamed).items())
    id = blamed.place.session if is_full_id else blamed.short_id
    text = f"{done}: {blamed.prompt}" if blamed.prompt.strip() else done
    snippet = records.plain_snippet(text, records.WIDTH)
    return records.record(id, blamed.place.turn, 1.0, snippet, style)


def fields(blamed: Blamed) -> dict[str, Any]:
    session = blamed.session
    return {
        "session_id": blamed.place.session,
        "turn": blamed.place.turn,
        "id": blamed.id,
        "timestamp": iso(blamed.started or None),
        "project_path": session.project if session else "",
        "source": session.source if session else None,
        "title": session.title if session else "",
        "files": [{"path": path, "actions": done} for path, done in _done(blamed).items()],
        "prompt": blamed.prompt,
    }


def _done(blamed: Blamed) -> dict[str, list[str]]:
    """What was done to each file, in order, each thing once."""
    done: dict[str, list[str]] = {}
    for touch in blamed.touches:
        actions = done.setdefault(touch.path, [])
        if touch.action not in actions:
            actions.append(touch.action)
    return done
