"""How the text index is written; `text` has its fields.

A document is an upsert by its place, and what is put is visible when it is committed. Tantivy is
imported by who opens a writer: who has another process write does without.
"""

from __future__ import annotations

import os
import time

from ccgrep.errors import TextIndexError
from ccgrep.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import tantivy

    from ccgrep.fulltext.document import Fields
    from ccgrep.fulltext.reader import TextReader

_MOST_WAITING = 16_000_000  # characters that tantivy has not taken in
_CATCH_UP_S = 30.0
_MANY = 1000  # documents


class Means(NamedTuple):
    """What tantivy may use. Much memory gives few segments: less to merge, and fewer bytes."""

    threads: int
    heap: int  # bytes for each thread
    is_new: bool = True  # nothing to replace: what is added was never there


CHANGE = Means(1, 15_000_000, is_new=False)  # the least that it takes
NEW = Means(1, 80_000_000)
NEW_LARGE = Means(2, 80_000_000)
"""Two are fed by what makes the documents; with one, documents would queue up in memory."""
NEW_HUGE = Means(2, 36_000_000)
"""Merges have their files in memory too, and they are as large as what is merged."""


class TextWriter:
    """Changes a generation; `commit` makes the changes visible and durable.

    Without a directory it is in memory, and `reader` the only way to it.
    """

    def __init__(
        self, directory: str | None, means: Means, opened: TextReader | None = None
    ) -> None:
        """Who has `opened` it to read lends that."""
        from ccgrep.fulltext.reader import guarded, open_tantivy  # noqa: PLC0415

        self._call = guarded
        self._is_new = means.is_new
        self._directory = directory or "the memory"
        self._is_in_memory = directory is None
        self._index = opened.index if opened else self._guarded(open_tantivy, directory)
        self._schema = self._index.schema
        heap = means.heap * means.threads
        self._writer = self._guarded(self._index.writer, heap, means.threads)
        self.added = 0
        self._last_began = 0
        self._waiting = 0
        self._keeps_small: Callable[[], object] | None = None

    def put(self, fields: Fields) -> None:
        """Writes a turn anew."""
        if not self._is_new:
            self.delete(str(fields["place"]))
        self._guarded(self._writer.add_document, _made(fields, self._schema))
        self.added += 1
        if self.added == _MANY and not self._is_in_memory:
            self._keep_small()
        self._last_began = max(self._last_began, int(fields["started"]))  # type: ignore[arg-type]
        self._waiting += sum(len(text) for text in fields.values() if isinstance(text, str))
        if self._waiting > _MOST_WAITING:
            self._catch_up()

    def _catch_up(self) -> None:
        """Waits until tantivy has taken in what was added. It lets ten thousand documents wait,
        whatever their size, and does not say how many do; its threads sleep when there are none."""
        self._waiting = 0
        deadline = time.monotonic() + _CATCH_UP_S
        while _is_at_work() and time.monotonic() < deadline:
            time.sleep(0.002)

    def _keep_small(self) -> None:
        """What is written is merged meanwhile: that is not to fill the memory."""
        from weakref import finalize  # noqa: PLC0415 - not for an append

        from ccgrep.refresh.mapped import keep_small  # noqa: PLC0415

        self._keeps_small = finalize(self, keep_small(self._directory))

    def delete(self, place: str) -> None:
        self._guarded(self._writer.delete_documents_by_term, "place", place)

    def delete_session(self, session: str) -> None:
        self._guarded(self._writer.delete_documents_by_term, "session", session)

    def commit(self) -> None:
        """Waits for merges, so that nothing changes behind the caller's back: they may be of all
        that there is."""
        if self._keeps_small is not None:
            from ccgrep.refresh.mapped import give_back  # noqa: PLC0415

            give_back()  # What documents took that are written.
        self._guarded(self._writer.commit)
        self._guarded(self._writer.wait_merging_threads)
        if self._keeps_small is not None:
            self._keeps_small()

    def newest(self, before: int | None) -> int:
        """When the newest turn began, which was `before`: one that was just written, or the index
        is asked for it."""
        if before is not None and before <= self._last_began:
            return self._last_began
        return self.reader().newest()

    def _guarded(self, work: Any, *arguments: Any) -> Any:
        """In a new directory there is nothing that could be damaged: it cannot be written."""
        try:
            return self._call(work, *arguments)
        except TextIndexError as error:
            if not self._is_new:
                raise
            from ccgrep.store.fsio import parse_write_error  # noqa: PLC0415 - only if it fails

            raise parse_write_error(str(error.__cause__), self._directory) from error

    def reader(self) -> TextReader:
        """A reader of what was committed, without opening the index once more."""
        from ccgrep.fulltext.reader import TextReader  # noqa: PLC0415

        self._guarded(self._index.reload)
        return TextReader(self._index)


def _is_at_work() -> bool:
    """Whether a thread that takes in documents is running; where that cannot be told, none is."""
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/stat", "rb") as file:
                name, _, state = file.read().partition(b"(")[2].rpartition(b") ")
            if name.startswith(b"thrd-tantivy") and state[:1] in (b"R", b"D"):
                return True
    except OSError:  # It ended meanwhile, or there is no such directory.
        return False
    return False


def _made(fields: Fields, schema: tantivy.Schema) -> tantivy.Document:
    import tantivy  # noqa: PLC0415

    return tantivy.Document.from_dict(fields, schema)
