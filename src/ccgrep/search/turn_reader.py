"""Reads turns by their place in a session."""

from collections.abc import Callable

from ccgrep.errors import StoreError
from ccgrep.model import Entry, Turn
from ccgrep.store.store import Store


class TurnReader:
    """A reader that loads the snapshot and each manifest once.

    It calls `on_lost` for each turn that cannot be read.
    """

    def __init__(
        self, store: Store, on_lost: Callable[[StoreError], None] = lambda _: None
    ) -> None:
        self._store = store
        self._on_lost = on_lost
        self._open()

    def _open(self) -> None:
        self._head = self._store.head()
        self._snapshot = self._store.snapshot()
        self._entries: dict[str, tuple[Entry, ...]] = {}

    def turn(self, session: str, number: int) -> Turn | None:
        """Return a turn, or None if there is no such turn or it is lost."""
        try:
            entry = self.entry(session, number)
            return self._store.load(entry.turn, Turn) if entry is not None else None
        except StoreError as error:
            if self._store.head() == self._head:
                self._on_lost(error)
                return None
        self._open()  # A writer has moved or removed the object: read the new snapshot.
        return self.turn(session, number)

    def turn_id(self, session: str, number: int) -> str:
        """Return the id of a turn, or an empty text if there is no such turn."""
        entry = self.entry(session, number)
        return entry.turn.hex() if entry is not None else ""

    def entry(self, session: str, number: int) -> Entry | None:
        """Return the entry of a turn, or None if there is no such turn."""
        if session not in self._entries:
            row = self._store.row(session, self._snapshot)
            self._entries[session] = self._store.manifest(row).entries if row else ()
        entries = self._entries[session]
        return entries[number] if number < len(entries) else None
