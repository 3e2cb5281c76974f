"""Tells whether the turns of a file continue those that were read before."""

from collections.abc import Callable, Iterator, Sequence

from ccgrep.errors import StoreError
from ccgrep.model import Entry, Note, ObjectId, ToolCall, Turn

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
