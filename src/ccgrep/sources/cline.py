"""Finds and reads the sessions of Cline and Roo Code, which are JSON files with messages.

sessions/<id>/<id>.messages.json             since 2026, with `<id>.json` beside it; sub-agents
                                             have `<agent>.messages.json` in the same folder
tasks/<id>/api_conversation_history.json     before, and Roo Code; `ui_messages.json` beside it
                                             has the times and tokens
"""

import os
from typing import Any

from ccgrep.model import Session
from ccgrep.sources.cline_messages import Messages, read_messages
from ccgrep.sources.cline_tasks import read_task
from ccgrep.sources.files import read_side_json
from ccgrep.sources.identity import safe_id
from ccgrep.sources.json_document import read_document
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.reading import (
    Input,
    NoState,
    Reading,
    SessionIdentity,
    SessionReading,
    make_reading,
)
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import TurnBuilder
from ccgrep.sources.values import as_dict, as_string, find_project

_MESSAGES = ".messages.json"
_HISTORY = "api_conversation_history.json"
_SIDE_FILES = ("ui_messages.json", "task_metadata.json", "history_item.json")


def list_files(listing: Listing) -> None:
    """Add every session and task below the root."""
    root = listing.root.path
    for entry in listing.list_folder(os.path.join(root, "tasks")):
        if entry.is_dir(follow_symlinks=False):
            listing.add_path(os.path.join(entry.path, _HISTORY), "session")
    for entry in listing.list_folder(os.path.join(root, "sessions")):
        if entry.is_dir(follow_symlinks=False):
            for file in listing.list_folder(entry.path):
                if file.name.endswith(_MESSAGES):
                    listing.add_entry(file, "session")


def identify(path: str) -> SessionIdentity:
    """Return the session's id: the name of its folder, and for a sub-agent that of its file."""
    folder, name = os.path.split(path)
    id = os.path.basename(folder)
    stem = name.removesuffix(_MESSAGES)
    if name == _HISTORY or stem == id:
        return SessionIdentity(safe_id(id))
    return SessionIdentity(safe_id(f"{id}__{stem}"), "subagent", safe_id(id), stem, stem)


def list_side_files(path: str) -> list[str]:
    """Return the files beside a session that tell more about it."""
    folder, name = os.path.split(path)
    if name == _HISTORY:
        return [os.path.join(folder, side) for side in _SIDE_FILES]
    return [os.path.join(folder, name.removesuffix(_MESSAGES) + ".json")]


def read(input: Input, found: FoundFile) -> Reading:
    """Read a session or task as a whole."""
    document = read_document(input)
    turns = TurnBuilder(input.sink)
    messages = Messages(turns, document.end.offset)
    if os.path.basename(found.path) == _HISTORY:
        facts = read_task(messages, document.value, os.path.dirname(found.path), found.root)
    else:
        facts = _read_manifest(found)
        messages.cwd = facts["cwd"]
        facts |= read_messages(messages, as_dict(document.value))
    entries, _ = turns.finish()
    session = _make_session(input, found, messages, facts)
    reading = SessionReading(session, tuple(entries), document.bad)
    return make_reading(input, document, [reading], Mark(0, 0), NoState(), is_rewritten=True)


def _read_manifest(found: FoundFile) -> dict[str, Any]:
    """Return what the file beside the messages says of the session."""
    manifest = read_side_json(found.path.removesuffix(_MESSAGES) + ".json", found.root)
    metadata = as_dict(manifest.get("metadata"))
    fork = as_dict(metadata.get("fork"))
    return {
        "cwd": as_string(manifest.get("cwd")),
        "title": as_string(metadata.get("title")),
        "forked_from": as_string(fork.get("forkedFromSessionId")),
    }


def _make_session(
    input: Input, found: FoundFile, messages: Messages, facts: dict[str, Any]
) -> Session:
    identity, cwd = input.identity, messages.cwd
    given, first = as_string(facts.get("title")), messages.first_prompt
    is_given = bool(given) and not first.startswith(given[:60])  # else cut from the first prompt
    title, is_titled = choose_title([given] if is_given else [], first or given)
    parent = identity.parent or safe_id_of(facts.get("parent"))
    return Session(
        id=identity.id,
        source=found.source,
        kind="subagent" if parent else "main",
        parent=parent,
        forked_from=safe_id_of(facts.get("forked_from")),
        agent=identity.agent or as_string(facts.get("agent")),
        project=find_project(cwd),
        cwd=cwd,
        title=title or identity.description,
        title_origin="client" if is_titled else "prompt",
        models=messages.models,
        versions=facts.get("versions") or tuple(filter(None, [as_string(facts.get("version"))])),
        unknown_types=messages.unknown,
        cost_usd=messages.cost_usd,
    )


def safe_id_of(value: Any) -> str:
    """Return a valid session id, or an empty string if there is none."""
    return safe_id(value) if isinstance(value, str) and value else ""
