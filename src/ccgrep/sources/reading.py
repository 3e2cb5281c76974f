"""The input and output types that the readers of all sources share."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.model import BadSpot, Entry, ObjectId, Session
from ccgrep.sources.jsonl import Mark, Readable
from ccgrep.sources.turns import Sink
from ccgrep.sources.values import sum_known

S = TypeVar("S", bound=Struct)


class SessionIdentity(Struct, frozen=True):
    """What the path of a transcript says about its session."""

    id: str
    kind: SessionKind = "main"
    parent: str = ""
    description: str = ""
    agent: str = ""
    nesting_call: str = ""  # the id of the call by which another sub-agent started this one


class Checkpoint(Struct, frozen=True):
    """What earlier runs read of a transcript, up to the start of its first open turn."""

    entries: tuple[Entry, ...] = ()
    bad: tuple[BadSpot, ...] = ()
    state: bytes = b""


class Input(Struct, frozen=True):
    """A transcript as a stream that is positioned at `start`, and what earlier runs read of it.

    The reader passes each finished turn to `sink`. `temp_dirs` may have outputs of Claude Code, and
    `earlier` are files of the same session.
    """

    stream: Readable
    start: Mark
    identity: SessionIdentity
    sink: Sink
    checkpoint: Checkpoint = Checkpoint()
    temp_dirs: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    def decode_state(self, initial: S) -> S:
        """Return the state at `start`, which is `initial` in a file that was not read before."""
        state = self.checkpoint.state
        return msgspec.msgpack.decode(state, type=type(initial)) if state else initial


class SessionReading(Struct, frozen=True):
    """One session of a transcript.

    `is_inherited` marks the turns that a worker copied from its parent, under the parent's id.
    `lacks_output` tells that a file with the output of a call is missing. `claims` are the turns
    that ccgrep wrote itself, by number, with the stored turns that the transcript says they are.
    """

    session: Session
    entries: tuple[Entry, ...]
    bad: tuple[BadSpot, ...] = ()
    is_inherited: bool = False
    lacks_output: bool = False
    claims: tuple[tuple[int, ObjectId], ...] = ()


class Reading(Struct, frozen=True):
    """The sessions of a transcript, and where the next run can resume.

    Reading began at `start`. The first open turn begins at `resume`, where the reader had the
    state `state`. The last complete record ends at `end`. Each CRC-32 covers all bytes before its
    offset. With `is_rewritten`, the client writes the whole file again each time: its former bytes
    are not kept if all former turns are still there.
    """

    sessions: tuple[SessionReading, ...]
    start: int
    resume: int
    resume_crc: int
    end: int
    end_crc: int
    state: bytes = b""
    bytes_read: int = 0
    is_rewritten: bool = False


class Progress(Protocol):
    """How far a file was read: `Records` or a `Document`."""

    @property
    def end(self) -> Mark: ...

    @property
    def bytes_read(self) -> int: ...


class NoState(Struct, frozen=True):
    """The state of a reader that always reads the whole file."""


def make_reading(
    input: Input,
    records: Progress,
    sessions: Sequence[SessionReading],
    resume: Mark,
    state: Struct,
    is_rewritten: bool = False,
) -> Reading:
    """Return the reading of a file after iterating over all its `records`."""
    return Reading(
        sessions=tuple(
            replace(part, session=add_totals(part.session, part.entries, part.bad))
            for part in sessions
        ),
        start=input.start.offset,
        resume=resume.offset,
        resume_crc=resume.crc,
        end=records.end.offset,
        end_crc=records.end.crc,
        state=msgspec.msgpack.encode(state),
        bytes_read=records.bytes_read,
        is_rewritten=is_rewritten,
    )


def add_totals(session: Session, entries: Sequence[Entry], bad: Sequence[BadSpot] = ()) -> Session:
    """Return `session` with the totals of its entries and bad spots."""
    usage = {usage.key: usage for entry in entries for usage in entry.usage}.values()
    return replace(
        session,
        started=min((e.started for e in entries if e.started is not None), default=None),
        ended=max((e.ended for e in entries if e.ended is not None), default=None),
        turns=len(entries),
        messages=sum(entry.messages for entry in entries),
        tools=sum(entry.tools for entry in entries),
        input_tokens=sum_known(u.input for u in usage),
        output_tokens=sum_known(u.output for u in usage),
        bad_lines=len(bad),
    )
