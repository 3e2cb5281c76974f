"""Index the discussion early, while a large first build is still reading transcripts.

It is a generation of its own, which a whole one replaces. The discussion is a small part of the
text, so indexing it twice costs little.
"""

from collections.abc import Iterable, Sequence

from ccgrep.fulltext.document import Content, document_fields
from ccgrep.fulltext.sync import Contents, IndexSync, new_generation
from ccgrep.fulltext.writer import NEW, TextWriter
from ccgrep.model import Entry, ObjectId, Session
from ccgrep.sources.reading import Reading
from ccgrep.store.store import Store


class DiscussionIndex:
    """The discussion of a set of transcripts. It becomes searchable when all of them are read."""

    def __init__(self, store: Store, paths: set[str]) -> None:
        directory = new_generation(store)
        self._store = store
        self._sync = IndexSync(store, directory, TextWriter(directory, NEW))
        self._turn_counts: dict[str, int] = {}
        self._unread = paths
        self._contents: dict[str, dict[ObjectId, Content]] = {}

    def add_contents(self, path: str, contents: Iterable[tuple[ObjectId, Content]]) -> None:
        """Collect the contents of a transcript's turns, a batch at a time."""
        if path in self._unread:
            self._contents.setdefault(path, {}).update(contents)

    def add_file(self, path: str, reading: Reading | None) -> bool:
        """Index a transcript that was read to its end. Return whether it was the last one."""
        if path not in self._unread:
            return False
        self._unread.remove(path)
        contents = self._contents.pop(path, {})
        for part in reading.sessions if reading is not None else ():
            self._put(part.session, part.entries, contents)
        return not self._unread

    def _put(self, session: Session, entries: Sequence[Entry], contents: Contents) -> None:
        """Index a session. If several transcripts hold it, the longest one counts."""
        known = self._turn_counts.get(session.id)
        if known is not None and known >= len(entries):
            return
        if known is not None:
            self._sync.writer.delete_session(session.id)
        self._turn_counts[session.id] = len(entries)
        for number, entry in enumerate(entries):
            fields = document_fields(session, number, entry, contents[entry.turn])
            self._sync.writer.put(fields)

    def finish(self) -> None:
        """Make the index searchable."""
        self._sync.finish("discussion", self._store.head())
