"""Reads transcripts in memory, whole or in parts as ingestion does."""

import io

from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.model import ObjectId, Turn
from ccgrep.sources.claude import ClaudeReader
from ccgrep.sources.codex import CodexReader
from ccgrep.sources.jsonl import Mark
from ccgrep.sources.reading import Checkpoint, Input, Reading, SessionIdentity
from ccgrep.sources.spills import Spills
from ccgrep.store.objects import make_frame

_NO_SPILLS = Spills("/nonexistent/none.jsonl")
_START = Mark(0, 0)


def turn_id(turn: Turn) -> ObjectId:
    return make_frame("turn", turn).id


def read(
    reader: str,
    data: bytes,
    start: Mark = _START,
    before: Checkpoint | None = None,
    kind: SessionKind = "main",
) -> Reading:
    stream = io.BytesIO(data)
    stream.seek(start.offset)
    identity = SessionIdentity("some-session", kind)
    input = Input(stream, start, identity, turn_id, before or Checkpoint())
    if reader == "codex":
        return CodexReader(input).read()
    return ClaudeReader(input, _NO_SPILLS).read()


def read_in_pieces(
    reader: str, data: bytes, cuts: list[int], kind: SessionKind = "main"
) -> Reading:
    """Read a transcript as it grows, each time from where the first open turn began."""
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
        reading = read(reader, data[:cut], start, before, kind)
    assert reading is not None
    return reading


def without_progress(reading: Reading) -> Reading:
    """Return a reading without the fields that tell how the transcript was read."""
    return replace(reading, start=0, bytes_read=0)
