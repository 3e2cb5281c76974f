"""Tells whether a file continues what was read before, and which of two files reaches further."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ccgrep.errors import StoreError
from ccgrep.model import Entry, Note, ObjectId, ToolCall, Turn
from ccgrep.store.manifest import Row, SourceFile

Load = Callable[[ObjectId], Turn]


def continues(old: Sequence[Entry], new: Sequence[Entry], load: Load) -> bool:
    """Return whether `new` extends `old`: the same turns, of which an open one may have grown."""
    if len(old) > len(new):
        return False
    return all(
        before.turn == after.turn or (before.is_open and _extends(before, after, load))
        for before, after in zip(old, new, strict=False)
    )


def _extends(before: Entry, after: Entry, load: Load) -> bool:
    """Return whether a turn grew into another, by its record ids or else by its content."""
    if before.uuids:
        return after.uuids.startswith(before.uuids)
    try:
        old, new = (list(_content(load(entry.turn))) for entry in (before, after))
    except StoreError:
        return before.start == after.start  # The old object is lost; the new one replaces it.
    return new[: len(old)] == old


def _content(turn: Turn) -> Iterator[object]:
    """Yield a turn's content in order, without tool results: they may arrive later."""
    yield turn.prompt
    for step in turn.steps:
        if isinstance(step, Note):
            yield step
        else:
            for part in step.parts:
                yield (part.name, part.input) if isinstance(part, ToolCall) else part


def defines(file: SourceFile, row: Row) -> bool:
    """Return whether the turns of a session come from this file."""
    return row.provenance is None and bool(row.files) and row.files[0].path == file.path


def extent(entries: Sequence[Entry]) -> tuple[int, int, int]:
    """Return how far a file reaches; of two with the same turns, one may have more records."""
    records = sum(len(entry.uuids) for entry in entries)
    return len(entries), records, entries[-1].end if entries else 0


def mark_copy(file: SourceFile, is_partial: bool) -> SourceFile:
    """Return `file` without a watermark: when a copy changes, all of it is read again."""
    return replace(file, resume=0, resume_crc=0, is_partial=is_partial)
