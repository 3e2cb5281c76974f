"""Reads the titles that clients keep in files beside the transcripts.

Claude Code's `sessions-index.json` has summaries, and Claude Desktop's `local_*.json` has the title
of a session that it started. Codex's `session_index.jsonl` and `state_*.sqlite` have the names that
users gave to threads. A user's name is stronger than anything in a transcript, because later
versions of Codex write it only to these files.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ccgrep.kinds import TitleOrigin
from ccgrep.sources.files import open_side_file, read_side_json
from ccgrep.sources.history import read_sessions_index
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.scan import FoundFile
from ccgrep.sources.values import as_string

_MAX_TITLE_CHARS = 400


class SideTitle(Struct, frozen=True):
    text: str
    origin: TitleOrigin


class NameRecord(Struct):
    """A line of `session_index.jsonl`."""

    id: Any = None
    thread_name: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        return "thread_name" in value


def read_side_titles(files: Iterable[FoundFile]) -> dict[str, SideTitle]:
    """Return the titles in files of `TITLE_KINDS`, by session id.

    In `session_index.jsonl` the last name of a thread counts. A database counts more: Codex only
    warns if it cannot write the other file.
    """
    titles: dict[str, SideTitle] = {}
    for found in sorted(files, key=lambda file: (file.kind != "thread_names", file.path)):
        for id, text in _read_titles(found):
            if title := " ".join(text.split())[:_MAX_TITLE_CHARS]:
                origin: TitleOrigin = "name" if found.source == "codex" else "summary"
                titles[safe_id(id)] = SideTitle(title, origin)
    return titles


def _read_titles(found: FoundFile) -> Iterator[tuple[str, str]]:
    if found.kind == "sessions_index":
        for entry in read_sessions_index(found.path, found.root):
            yield entry.session_id, entry.title
    elif found.kind == "desktop_session":
        session = read_side_json(found.path, found.root)
        yield as_string(session.get("cliSessionId")), as_string(session.get("title"))
    elif found.kind == "thread_names":
        yield from _read_names(found)
    else:
        yield from _read_state(found)


def _read_names(found: FoundFile) -> Iterator[tuple[str, str]]:
    file = open_side_file(found.path, found.root)
    if file is not None:
        with file:
            for _, _, record in Records(file, Mark(0, 0), NameRecord):
                yield as_string(record.id), as_string(record.thread_name)


def _read_state(found: FoundFile) -> Iterator[tuple[str, str]]:
    from ccgrep.sources.sqlite_file import open_database  # noqa: PLC0415 - only for Codex

    with open_database(found.path.removesuffix("-wal"), found.root) as database:
        for id, name in database.rows("SELECT id, name FROM threads WHERE name <> ''"):
            yield as_string(id), as_string(name)
