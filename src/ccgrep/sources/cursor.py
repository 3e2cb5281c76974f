"""Reads the transcripts of Cursor: `projects/<project>/agent-transcripts/<id>/<id>.jsonl`.

The IDE's database has the same sessions with outputs and times (`cursor_ide.py`). A transcript of a
chat that is there is left out.

A line is a message, or the end of a turn. It has neither an id nor a directory, and a time only in
the text of a prompt. A folder is named after the project's path, which cannot be decoded: the
directory is the one among the paths in tool calls that has this name.
"""

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.model import Session, Text
from ccgrep.sources import cursor_ide
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import Input, Reading, SessionIdentity, SessionReading, make_reading
from ccgrep.sources.registry import ALL_APPS
from ccgrep.sources.scan import VIRTUAL, FoundFile, Listing, split_virtual
from ccgrep.sources.titles import MAX_TITLE_CHARS, choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import as_string, count_type, find_project, parse_time

_FOLDER = "agent-transcripts"
_IDE = ("Cursor", "User", "globalStorage")
_QUERY = re.compile(r"(?s)<user_query>\n?(.*?)\n?</user_query>")
_TIME = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}),? (?:at )?(\d{1,2}):(\d{2})[ \u202f]?([AP]M)"
    r"(?: \(UTC([+-]\d{1,2})?(?::(\d{2}))?\))?</timestamp>\s*"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OWN_PROMPTS = ("Briefly inform the user about the task result and perform any follow-up actions",)
"""How prompts begin that Cursor itself sends, after a task in the background."""
_REDACTED = re.compile(r"\s*\[REDACTED\]\s*\Z")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")
_MAX_PATH_CHARS = 1024


def list_files(listing: Listing) -> None:
    """Add the transcripts of each project and of sub-agents, or the chats of the IDE."""
    database = os.path.join(listing.root.path, cursor_ide.NAME)
    if os.path.exists(database):
        cursor_ide.list_chats(listing, database)
        return
    known = _list_chats_of_ide(listing.root.path)
    for project in listing.list_folder(os.path.join(listing.root.path, "projects")):
        if not project.is_dir(follow_symlinks=False):
            continue
        for entry in listing.list_folder(os.path.join(project.path, _FOLDER)):
            if entry.is_dir(follow_symlinks=False):
                listing.add_path(os.path.join(entry.path, f"{entry.name}.jsonl"), "session")
                for agent in listing.list_folder(os.path.join(entry.path, "subagents")):
                    if agent.name.endswith(".jsonl"):
                        listing.add_entry(agent, "session")
            elif entry.name.endswith(".jsonl"):
                listing.add_entry(entry, "session")
    listing.drop(
        lambda path: (
            path.startswith(listing.root.path + os.sep)
            and os.path.basename(path).removesuffix(".jsonl") in known
        )
    )


def _list_chats_of_ide(root: str) -> set[str]:
    """Return the ids of the chats in the database of the same home."""
    known: set[str] = set()
    for apps in ALL_APPS:
        folder = os.path.join(os.path.dirname(root), apps, *_IDE)
        database = os.path.join(folder, cursor_ide.NAME)
        if os.path.isfile(database):
            known |= cursor_ide.list_ids(database, folder)
    return known


def identify(path: str) -> SessionIdentity:
    """Return the id in the name of a transcript, and the session that started a sub-agent."""
    if VIRTUAL in path:
        return SessionIdentity(safe_id(split_virtual(path)[1]))
    folder, name = os.path.split(path)
    id = safe_id(name.removesuffix(".jsonl"))
    if os.path.basename(folder) != "subagents":
        return SessionIdentity(id)
    parent = os.path.basename(os.path.dirname(folder))
    return SessionIdentity(id, "subagent", safe_id(parent))


def read(input: Input, found: FoundFile) -> Reading:
    """Read a transcript from `input.start` to its end, or a chat of the IDE."""
    if found.container:
        return cursor_ide.read_chat(input, found)
    return _Transcript(input, found).read()


def export(found: FoundFile) -> Iterable[dict[str, Any]]:
    """Yield the rows of a chat of the IDE."""
    return cursor_ide.export(found)


class Record(Struct, gc=False):
    """One line of a transcript."""

    role: Any = None
    message: Any = None
    type: Any = None
    status: Any = None
    error: Any = None
    timestamp: Any = None

    @staticmethod
    def is_record(value: dict[str, Any]) -> bool:
        return "role" in value or "type" in value

    def blocks(self) -> list[dict[str, Any]]:
        """Return the content of a message as blocks."""
        content = self.message.get("content") if isinstance(self.message, dict) else None
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


class State(Struct, frozen=True, omit_defaults=True):
    """What earlier records said that later ones depend on."""

    cwd: str = ""
    first_prompt: str = ""
    unknown_types: dict[str, int] = {}


class _Transcript:
    """Reads one transcript."""

    def __init__(self, input: Input, found: FoundFile) -> None:
        self._input = input
        self._turns = TurnBuilder(input.sink, input.checkpoint.entries)
        self._state = input.decode_state(State())
        projects = os.path.join(found.root, "projects", "")
        self._project = found.path.removeprefix(projects).partition(os.sep)[0]

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def read(self) -> Reading:
        """Read to the end of the stream."""
        records = Records(self._input.stream, self._input.start, Record)
        for mark, end, record in records:
            id = f"{self._input.identity.id}/{mark.offset}"
            time = parse_time(record.timestamp)
            self._turns.record = RecordInfo(mark, end, self._state, time, self._state.cwd)
            if record.role == "user":
                self._read_prompt(record)
            elif record.role == "assistant":
                self._read_answer(record, id)
            elif record.type == "turn_ended":
                self._read_end(record)
            else:
                kind = record.role or record.type
                self._update(unknown_types=count_type(self._state.unknown_types, kind))
        entries, resume = self._turns.finish()
        bad = (*self._input.checkpoint.bad, *records.bad)
        part = SessionReading(self._make_session(), tuple(entries), bad)
        return make_reading(self._input, records, [part], *(resume or (Mark(0, 0), State())))

    def _read_prompt(self, record: Record) -> None:
        """Begin a turn with what the user typed. The rest of the text is the client's."""
        text = "\n".join(as_string(block.get("text")) for block in record.blocks())
        if match := _TIME.search(text):
            info = self._turns.record
            self._turns.record = info._replace(time=_make_time(match) or info.time)
            text = text[: match.start()] + text[match.end() :]
        queries = _QUERY.findall(text)
        prompt = "\n".join(queries).strip() if queries else text.strip()
        added = _QUERY.sub("", text).strip() if queries else ""
        if prompt.startswith(_OWN_PROMPTS) and self._turns.count:
            self._turns.add_note("notification", prompt)
        elif prompt:
            self._turns.begin_turn(prompt)
            first = self._state.first_prompt or prompt[:MAX_TITLE_CHARS]
            self._update(first_prompt=first)
        if added:
            self._turns.add_note("context", added)

    def _read_answer(self, record: Record, id: str) -> None:
        self._turns.begin_message(id, "")
        for number, block in enumerate(record.blocks()):
            if block.get("type") == "text":
                text = _REDACTED.sub("", as_string(block.get("text")))
                if text.strip():
                    self._turns.add_part(Text(text))
            elif block.get("type") in ("tool_use", "tool_call"):
                name = as_string(block.get("name")) or as_string(block.get("toolName"))
                call_input = block.get("input", block.get("args"))
                self._turns.add_call(f"{id}/{number}", name or "unknown", call_input)
                self._find_cwd(call_input)
            else:
                kind = f"assistant/{block.get('type')}"
                self._update(unknown_types=count_type(self._state.unknown_types, kind))

    def _read_end(self, record: Record) -> None:
        status, error = as_string(record.status), as_string(record.error)
        if status == "aborted":
            self._turns.add_note("interrupted", error or "The turn was aborted")
        elif status == "error" or error:
            self._turns.add_note("error", error or "The turn failed")
        else:
            self._turns.touch()

    def _find_cwd(self, call_input: Any) -> None:
        """Set the directory to the part of a path in a call that has the project's name."""
        if self._state.cwd or not isinstance(call_input, dict):
            return
        name = _encode(self._project)
        for value in call_input.values():
            path = value if isinstance(value, str) and len(value) < _MAX_PATH_CHARS else ""
            if not os.path.isabs(path) or "\n" in path:
                continue
            path = os.path.normpath(path)
            while path != os.path.dirname(path):
                if _encode(path) == name:
                    self._update(cwd=path)
                    return
                path = os.path.dirname(path)

    def _make_session(self) -> Session:
        state, identity = self._state, self._input.identity
        title, _ = choose_title([], state.first_prompt)
        return Session(
            id=identity.id,
            source="cursor",
            kind=identity.kind,
            parent=identity.parent,
            project=find_project(state.cwd),
            cwd=state.cwd,
            title=title,
            title_origin="prompt",
            unknown_types=state.unknown_types,
        )


def _encode(path: str) -> str:
    """Return a path as the name of a project, without the differences between versions."""
    return _NOT_IN_NAME.sub("-", path).strip("-").lower()


def _make_time(match: re.Match[str]) -> int | None:
    """Return the time in a prompt in milliseconds since 1970, or None if there is no such time."""
    month, day, year, hour, minute, half, offset, offset_minutes = match.groups()
    if month not in _MONTHS:
        return None
    hours = int(offset or 0)
    minutes = int(offset_minutes or 0) * (-1 if hours < 0 else 1)
    try:
        zone = timezone(timedelta(hours=hours, minutes=minutes)) if offset else UTC
        clock = int(hour) % 12 + (12 if half == "PM" else 0)
        date = int(year), _MONTHS.index(month) + 1, int(day)
        return int(datetime(*date, clock, int(minute), tzinfo=zone).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
