"""Chooses what a hook of Claude Code adds to a session: quoted history, or nothing.

At the start of a session this is the brief of the project, for a prompt the relevant past turns.
Nothing here refreshes the store or repairs the index: a hook has no time for that.
"""

import os
from typing import Any

from msgspec import Struct

from ccgrep.config import Config
from ccgrep.fulltext.reader import TextReader
from ccgrep.search.index_opener import open_index
from ccgrep.search.relevance import RelevantTurn, find_relevant
from ccgrep.search.request import Filters
from ccgrep.search.searcher import Searcher
from ccgrep.search.session_brief import SessionBrief, brief_sessions

EVENTS = ("SessionStart", "UserPromptSubmit")
_RECENT_MS = 30 * 86_400_000
_MAX_SESSIONS = 3
_MAX_TURNS = 3
_SEEN_BYTES = 4_000_000


class Recall(Struct, frozen=True):
    """What to quote: sessions at the start of one, turns for a prompt, with their short ids."""

    sessions: tuple[SessionBrief, ...] = ()
    turns: tuple[tuple[str, RelevantTurn], ...] = ()


def recall(config: Config, event: dict[str, Any], home: str, now_ms: int) -> Recall:
    """Return what is relevant for a hook's event."""
    directory, session = str(event.get("cwd") or ""), str(event.get("session_id") or "")
    if not _is_project(directory, home):
        return Recall()
    filters = Filters(
        here=directory,
        subagents="exclude",
        documents="exclude",
        except_ids=frozenset([session]) if session else frozenset(),
    )
    index = open_index(config.store_dir, is_latest_enough=True)
    if index is None or not isinstance(index.texts, TextReader):
        return Recall()
    searcher = Searcher(config, index)
    if event.get("hook_event_name") == "SessionStart":
        recent = filters._replace(since=now_ms - _RECENT_MS)
        return Recall(tuple(brief_sessions(searcher, index.texts, recent, _MAX_SESSIONS)))
    prompt = str(event.get("prompt") or "")
    if prompt.lstrip().startswith("/"):
        return Recall()  # a command of the client
    found = find_relevant(index.texts, prompt, filters, _MAX_TURNS)
    short = searcher.short_ids(turn.place.session for turn in found)
    seen = _read_end(str(event.get("transcript_path") or ""))
    refs = [(f"{short[turn.place.session]}:{turn.place.turn}", turn) for turn in found]
    unseen = [(ref, turn) for ref, turn in refs if ref.encode() not in seen]
    return Recall(turns=tuple(unseen))


def _is_project(directory: str, home: str) -> bool:
    """Return whether a directory can be a project: the home and all above it are none."""
    if not os.path.isabs(directory):
        return False
    return os.path.commonpath([directory, home]) != os.path.normpath(directory)


def _read_end(path: str) -> bytes:
    """Return the end of the session's transcript, which has the turns that were quoted before."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _SEEN_BYTES, 0))
            return file.read()
    except OSError:
        return b""
