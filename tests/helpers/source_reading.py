"""Reads files with the reader of any source, whole or in parts as ingestion does."""

import io
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ccgrep.model import Entry, Note, ObjectId, Session, ToolCall, Turn
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.readers import load_reader
from ccgrep.sources.reading import Checkpoint, Input, Reading
from ccgrep.sources.scan import FoundFile
from ccgrep.store.objects import make_frame

_TURNS: dict[ObjectId, Turn] = {}


class ReadSession(NamedTuple):
    """A session with its turns."""

    session: Session
    entries: tuple[Entry, ...]
    turns: list[Turn]

    @property
    def prompts(self) -> list[str]:
        return [turn.prompt for turn in self.turns]

    @property
    def texts(self) -> list[list[str]]:
        return [turn.assistant_texts() for turn in self.turns]

    @property
    def thoughts(self) -> list[str]:
        return [text for turn in self.turns for text in turn.thinking_texts()]

    @property
    def calls(self) -> list[ToolCall]:
        return [call for turn in self.turns for call in turn.calls()]

    @property
    def notes(self) -> list[tuple[str, str]]:
        steps = [step for turn in self.turns for step in turn.steps]
        return [(step.kind, step.text) for step in steps if isinstance(step, Note)]

    @property
    def rolled_back(self) -> list[str]:
        pairs = zip(self.entries, self.turns, strict=True)
        return [turn.prompt for entry, turn in pairs if entry.is_rolled_back]


def read_sessions(source: str, path: Path, root: Path) -> list[ReadSession]:
    """Read a file, and return its sessions, the main one first."""
    reading = read_bytes(source, path.read_bytes(), path, root)
    return [
        ReadSession(part.session, part.entries, [_TURNS[entry.turn] for entry in part.entries])
        for part in reading.sessions
    ]


def read_session(source: str, path: Path, root: Path) -> ReadSession:
    (session,) = read_sessions(source, path, root)
    return session


def read_bytes(
    source: str,
    data: bytes,
    path: Path,
    root: Path,
    start: Mark = Mark(0, 0),  # noqa: B008 - a mark is immutable
    before: Checkpoint | None = None,
) -> Reading:
    stream = io.BytesIO(data)
    stream.seek(start.offset)
    reader = load_reader(source)
    container = str(path).rpartition("#")[0]
    found = FoundFile(str(path), source, "session", str(root), len(data), 0, 0, 0, container)
    identity = reader.identify(str(path))
    return reader.read(Input(stream, start, identity, _keep, before or Checkpoint()), found)


def read_in_pieces(source: str, data: bytes, path: Path, root: Path, cuts: list[int]) -> Reading:
    """Read a file as it grows, each time from where the first open turn began."""
    reading: Reading | None = None
    for cut in [*sorted(cuts), len(data)]:
        start, before = Mark(0, 0), None
        if reading is not None and reading.resume:
            own = reading.sessions[0]
            start = Mark(reading.resume, reading.resume_crc)
            before = Checkpoint(
                tuple(entry for entry in own.entries if entry.start < start.offset),
                tuple(spot for spot in own.bad if spot.offset < start.offset),
                reading.state,
            )
        reading = read_bytes(source, data[:cut], path, root, start, before)
    assert reading is not None
    return replace(reading, start=0, bytes_read=0)


def _keep(turn: Turn) -> ObjectId:
    frame = make_frame("turn", turn)
    _TURNS[frame.id] = turn
    return frame.id
