"""Write documents to a Tantivy index; `schema` defines its fields.

A document replaces an earlier one at the same place. Readers see it after a commit.
"""

from typing import Any, NamedTuple

import tantivy

from ccgrep.errors import TextIndexError
from ccgrep.fulltext.document import Fields
from ccgrep.fulltext.reader import TextReader
from ccgrep.fulltext.schema import call_tantivy, open_tantivy
from ccgrep.store.fsio import parse_write_error


class WriterBudget(NamedTuple):
    """Resources for Tantivy. More memory makes fewer segments, so less to merge."""

    threads: int
    heap: int  # bytes per thread
    is_new: bool = True  # an empty index: no document replaces another
    queue_chars: int = 100_000_000  # a commit stalls the build, a queue takes memory


CHANGE = WriterBudget(1, 15_000_000, is_new=False)  # the smallest heap that Tantivy accepts
NEW = WriterBudget(1, 80_000_000)
_LARGE = WriterBudget(1, 120_000_000)
_LARGE_MANY_CORES = WriterBudget(2, 80_000_000, queue_chars=60_000_000)
_MANY_CORES = 4


def large_budget(cores: int) -> WriterBudget:
    """Return the budget of a large build.

    Each commit adds a segment per thread, and Tantivy merges eight of them. On two cores a second
    thread gains nothing: the other core makes documents.
    """
    return _LARGE_MANY_CORES if cores >= _MANY_CORES else _LARGE


class TextWriter:
    """A Tantivy index open for writing. Without a directory it is in memory."""

    def __init__(self, directory: str | None, budget: WriterBudget) -> None:
        self.is_new = budget.is_new
        self._queue_chars = budget.queue_chars
        self._directory = directory or "memory"
        self._index = self._guard(open_tantivy, directory)
        self._schema = self._index.schema
        heap = budget.heap * budget.threads
        self._writer = self._guard(self._index.writer, heap, budget.threads)
        self.added = 0
        self._newest_start = 0
        self._uncommitted_chars = 0

    def put(self, fields: Fields) -> None:
        """Add a document, or replace the one at its place.

        Tantivy queues up to ten thousand documents of any size. A commit empties the queue, so
        committing after a number of characters bounds the memory that documents take.
        """
        if not self.is_new:
            self.delete(str(fields["place"]))
        self._guard(self._writer.add_document, tantivy.Document.from_dict(fields, self._schema))
        self.added += 1
        self._newest_start = max(self._newest_start, int(fields["started"]))  # type: ignore[arg-type]
        self._uncommitted_chars += sum(len(t) for t in fields.values() if isinstance(t, str))
        if self._uncommitted_chars > self._queue_chars:
            self._uncommitted_chars = 0
            self._guard(self._writer.commit)

    def newest_start(self, before: int) -> int:
        """Return when the newest turn started; `before` is the answer before this writer."""
        if not self.is_new and before <= self._newest_start:
            return self._newest_start
        return self.reader().newest_start()

    def delete(self, place: str) -> None:
        self._guard(self._writer.delete_documents_by_term, "place", place)

    def delete_session(self, session: str) -> None:
        self._guard(self._writer.delete_documents_by_term, "session", session)

    def commit(self) -> None:
        """Make all changes visible and wait for merges, which would change files afterwards.

        This must be the writer's last call.
        """
        self._guard(self._writer.commit)
        self._guard(self._writer.wait_merging_threads)

    def _guard(self, function: Any, *arguments: Any) -> Any:
        """Call Tantivy. An error in a new index is a write error: nothing in it can be damaged."""
        try:
            return call_tantivy(function, *arguments)
        except TextIndexError as error:
            if not self.is_new:
                raise
            raise parse_write_error(str(error.__cause__), self._directory) from error

    def reader(self) -> TextReader:
        """Return a reader of what was committed, without opening the index again."""
        self._guard(self._index.reload)
        return TextReader(self._index)
