"""Reads the history of Tea, an agent that does not exist: `~/.tea/sessions/<id>.jsonl`.

    {"role": "user", "text": "where is it", "time": "2026-09-21T10:00:00Z", "cwd": "/home/sam"}
    {"role": "agent", "text": "Let me look.", "model": "oolong-2", "time": "2026-09-21T10:00:01Z",
     "tokens": {"input": 100, "output": 7}}
    {"role": "call", "id": "c1", "name": "shell", "input": {"command": "ls"}}
    {"role": "result", "id": "c1", "text": "kettle", "failed": false}

Each object is on one line.
"""

import os
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ccgrep.model import Session, Text, ToolResult, Usage
from ccgrep.sources.identity import safe_id
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.reading import Input, Reading, SessionIdentity, SessionReading, make_reading
from ccgrep.sources.registry import Place, Source
from ccgrep.sources.scan import FoundFile, Listing
from ccgrep.sources.titles import choose_title
from ccgrep.sources.turns import RecordInfo, TurnBuilder
from ccgrep.sources.values import as_count, as_string, find_project, parse_time, usage_key

SOURCE = Source(
    name="tea",
    title="Tea",
    module=__name__,
    places=(Place(".tea", marks=("sessions",), variable="TEA_HOME"),),
    watched=("sessions",),
    resume=("tea", "--session={id}"),
    form="JSON lines",
    lacks="images",
)


class Record(Struct):
    """A line. It may be damaged, so any field may have any value."""

    role: Any = None
    text: Any = None
    time: Any = None
    cwd: Any = None
    model: Any = None
    tokens: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    failed: Any = None

    @staticmethod
    def is_record(value: dict[str, Any], /) -> bool:
        """Return whether an object that was found on a damaged line is a record."""
        return "role" in value


class State(Struct, frozen=True):
    """What later records depend on. ccgrep stores it, and continues with it when a file grows."""

    cwd: str = ""
    first_prompt: str = ""


def list_files(listing: Listing) -> None:
    """Add the files of all sessions."""
    for entry in listing.list_folder(os.path.join(listing.root.path, "sessions")):
        if entry.name.endswith(".jsonl"):
            listing.add_entry(entry, "session")


def identify(path: str) -> SessionIdentity:
    """Return the id of a session, which is in the name of its file."""
    return SessionIdentity(safe_id(os.path.basename(path).removesuffix(".jsonl")))


def read(input: Input, _found: FoundFile) -> Reading:
    """Read the records from where the last reading ended."""
    turns = TurnBuilder(input.sink, input.checkpoint.entries)
    state = input.decode_state(State())
    records = Records(input.stream, input.start, Record)
    for mark, end, record in records:
        time, cwd = parse_time(record.time), as_string(record.cwd) or state.cwd
        turns.record = RecordInfo(mark, end, state, time, cwd)
        state = replace(state, cwd=cwd)
        if record.role == "user":
            prompt = as_string(record.text)
            turns.begin_turn(prompt)
            state = replace(state, first_prompt=state.first_prompt or prompt[:400])
        else:
            _read_answer(turns, record)
    entries, resume = turns.finish()
    bad = (*input.checkpoint.bad, *records.bad)
    session = SessionReading(_make_session(input.identity.id, state), tuple(entries), bad)
    return make_reading(input, records, [session], *(resume or (Mark(0, 0), State())))


def _read_answer(turns: TurnBuilder, record: Record) -> None:
    """Add what the agent said or did to the turn."""
    match record.role:
        case "agent":
            model, key = as_string(record.model), str(turns.record.mark.offset)
            turns.begin_message(key, model)
            turns.add_part(Text(as_string(record.text)))
            tokens = record.tokens if isinstance(record.tokens, dict) else {}
            counts = as_count(tokens.get("input")), as_count(tokens.get("output"))
            turns.add_usage(Usage(usage_key("tea", record.time, key), model, *counts))
        case "call":
            turns.add_call(as_string(record.id), as_string(record.name), record.input)
        case "result":
            result = ToolResult(as_string(record.text), record.failed is True)
            turns.add_result(as_string(record.id), result)


def _make_session(id: str, state: State) -> Session:
    title, is_titled = choose_title([], state.first_prompt)
    return Session(
        id=id,
        source="tea",
        project=find_project(state.cwd),
        cwd=state.cwd,
        title=title,
        title_origin="client" if is_titled else "prompt",
    )
