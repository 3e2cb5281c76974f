"""What goes into a reader and what comes out of it, for every kind of source file."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ccgrep.kinds import SessionKind
from ccgrep.model import BadSpot, Entry, Session
from ccgrep.sources.jsonl import Mark, Records
from ccgrep.sources.values import summed


class File(Struct, frozen=True):
    """What a transcript's path says about it."""

    id: str
    kind: SessionKind = "main"
    parent: str = ""
    description: str = ""
    agent: str = ""


class Before(Struct, frozen=True):
    """What earlier runs read of the file, up to where the first open turn began."""

    entries: tuple[Entry, ...]
    bad: tuple[BadSpot, ...]
    state: bytes


class SessionReading(Struct, frozen=True):
    """One session as a reader found it."""

    session: Session
    entries: tuple[Entry, ...]
    bad: tuple[BadSpot, ...] = ()


class Reading(Struct, frozen=True):
    """What reading a source file gave, and where the next run may go on.

    `start` is where reading began, `resume` where the first open turn begins, `state` what
    the reader knew there, and `end` where the last whole record ended. The latter two come
    with the crc32 of everything before them.
    """

    sessions: tuple[SessionReading, ...]
    start: int
    resume: int
    resume_crc: int
    end: int
    end_crc: int
    state: bytes = b""
    bytes_read: int = 0


def read_to(
    records: Records[Any],
    start: Mark,
    sessions: Sequence[SessionReading],
    resume: Mark,
    state: Struct,
) -> Reading:
    """The reading of a file whose `records` have been read to their end."""
    return Reading(
        sessions=tuple(sessions),
        start=start.offset,
        resume=resume.offset,
        resume_crc=resume.crc,
        end=records.end.offset,
        end_crc=records.end.crc,
        state=msgspec.msgpack.encode(state),
        bytes_read=records.bytes_read,
    )


def describe(session: Session, entries: Sequence[Entry]) -> Session:
    """`session` with what its entries add up to."""
    usage = {usage.key: usage for entry in entries for usage in entry.usage}.values()
    return replace(
        session,
        started=min((e.started for e in entries if e.started is not None), default=None),
        ended=max((e.ended for e in entries if e.ended is not None), default=None),
        turns=len(entries),
        messages=sum(entry.messages for entry in entries),
        tools=sum(entry.tools for entry in entries),
        input_tokens=summed(*(u.input for u in usage)),
        output_tokens=summed(*(u.output for u in usage)),
    )
