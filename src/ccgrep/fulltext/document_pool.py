"""Makes the documents of a large build on all cores: workers make them, the caller indexes them.

The caller reads objects and sends them as they are stored. A worker verifies and decodes them, and
splits their words. Workers do not open the store: each would hold its pack indexes in memory.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ccgrep.errors import CorruptError, StoreError
from ccgrep.fulltext.document import Fields, document_fields, restrict_kinds, turn_content
from ccgrep.model import Entry, Turn
from ccgrep.store.manifest import Row
from ccgrep.store.objects import Frame, decode, unpack_frame
from ccgrep.worker_pool import Send, run_in_workers


class Task(msgspec.Struct, frozen=True):
    """Some turns of a session, with their numbers, and the text kinds to index."""

    row: Row
    kinds: list[str]
    turns: list[tuple[int, Entry, Frame]]


_TASK = msgspec.msgpack.Decoder(Task)
_REPLY: msgspec.msgpack.Decoder[list[Any]] = msgspec.msgpack.Decoder(list[Any])


def make_documents(
    tasks: Iterable[Task], workers: int
) -> Iterator[tuple[Row, int, Entry, Fields | None]]:
    """Yield the document of every turn, or None if its object is damaged."""
    for task, reply in run_in_workers(__name__, tasks, workers):
        if reply is None:
            raise StoreError("a process that builds the index died: run the command again")
        for (number, entry, _), fields in zip(task.turns, _REPLY.decode(reply), strict=True):
            yield task.row, number, entry, fields


def run_task(data: bytes, send: Send) -> None:
    """Make documents in a worker."""
    task = _TASK.decode(data)
    send([_make_document(task, *turn) for turn in task.turns])


def _make_document(task: Task, number: int, entry: Entry, frame: Frame) -> Fields | None:
    try:
        turn = decode(unpack_frame(frame), Turn)
    except CorruptError:
        return None
    content = restrict_kinds(turn_content(turn), task.kinds)
    return document_fields(task.row.session, number, entry, content, task.row.is_superseded)
