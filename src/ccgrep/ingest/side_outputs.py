"""Keeps the outputs that an earlier ingest read from files beside a transcript.

Claude Code deletes large outputs after a while, and a restart deletes those of background commands.
When a turn is read again without such a file, the stored output takes the place of the gap.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.model import Entry, Message, Part, ToolCall, ToolResult, Turn
from ccgrep.sources.reading import SessionReading
from ccgrep.sources.spills import is_gap
from ccgrep.store.commit import Commit
from ccgrep.store.objects import make_frame


def restore_outputs(
    reading: SessionReading, known: Sequence[Entry], commit: Commit
) -> SessionReading:
    """Return a reading in which outputs of `known` turns replace those whose file is gone."""
    entries = list(reading.entries)
    for number, (before, after) in enumerate(zip(known, reading.entries, strict=False)):
        is_same = before.uuids and after.uuids.startswith(before.uuids)
        if before.turn == after.turn or not is_same:
            continue
        try:
            old, new = commit.load_turn(before.turn), commit.load_turn(after.turn)
        except StoreError:
            continue
        restored = _restore(old, new)
        if restored != new:
            frame = make_frame("turn", restored)
            commit.add(frame)
            entries[number] = replace(after, turn=frame.id)
    return replace(reading, entries=tuple(entries))


def _restore(old: Turn, new: Turn) -> Turn:
    calls = iter(old.calls())
    steps = [
        replace(step, parts=tuple(_restore_parts(step.parts, calls)))
        if isinstance(step, Message)
        else step
        for step in new.steps
    ]
    return replace(new, steps=tuple(steps))


def _restore_parts(parts: Sequence[Part], calls: Iterator[ToolCall]) -> Iterator[Part]:
    for part in parts:
        before = next(calls, None) if isinstance(part, ToolCall) else None
        if isinstance(part, ToolCall) and before is not None and _is_poorer(part, before):
            yield replace(part, result=before.result)
        else:
            yield part


def _is_poorer(call: ToolCall, before: ToolCall) -> bool:
    new, old = call.result or ToolResult(), before.result or ToolResult()
    is_same = (call.name, call.input) == (before.name, before.input)
    return is_same and (is_gap(new.text, old.text) or len(new.blobs) < len(old.blobs))
