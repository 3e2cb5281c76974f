"""Formats the turns that touched a file, for `ccgrep blame`: record lines and JSON fields."""

from typing import Any

from ccgrep.blame.access_log import BlamedTurn
from ccgrep.output import record_line
from ccgrep.output.formatting import iso_time
from ccgrep.output.style import Style


def format_blame(blamed: BlamedTurn, is_full_id: bool, style: Style) -> str:
    """Return a record line whose snippet names the actions, the files and the prompt."""
    files = _actions_by_file(blamed)
    text = "; ".join(f"{', '.join(actions)} {path}" for path, actions in files.items())
    if blamed.prompt.strip():
        text = f"{text}: {blamed.prompt}"
    id = blamed.place.session if is_full_id else blamed.short_id
    snippet = record_line.plain_snippet(text, record_line.WIDTH)
    return record_line.format_record(id, blamed.place.turn, 1.0, snippet, style)


def blame_fields(blamed: BlamedTurn) -> dict[str, Any]:
    files = _actions_by_file(blamed)
    return {
        **turn_fields(blamed),
        "files": [{"path": path, "actions": actions} for path, actions in files.items()],
        "prompt": blamed.prompt,
    }


def turn_fields(blamed: BlamedTurn) -> dict[str, Any]:
    """Return the fields of a turn and its session, whatever the turn is blamed for."""
    session = blamed.session
    return {
        "session_id": blamed.place.session,
        "turn": blamed.place.turn,
        "id": blamed.id,
        "timestamp": iso_time(blamed.started or None),
        "project_path": session.project if session else "",
        "source": session.source if session else None,
        "title": session.title if session else "",
    }


def _actions_by_file(blamed: BlamedTurn) -> dict[str, list[str]]:
    """Return the distinct actions on each file, in order."""
    files: dict[str, list[str]] = {}
    for access in blamed.accesses:
        actions = files.setdefault(access.path, [])
        if access.action not in actions:
            actions.append(access.action)
    return files
