"""Reads turns by their place in a session."""

from collections import Counter
from collections.abc import Callable

from ccgrep.errors import StoreError
from ccgrep.model import Entry, ObjectId, Turn
from ccgrep.store.store import Store

_MAX_LOOKUPS = 20


class TurnReader:
    """A reader that loads the snapshot and each manifest once.

    It calls `on_lost` for each turn that cannot be read. `find_key` returns the first seven bytes
    of a turn's id as a number, if the full-text index has it: the manifest of a session with many
    turns takes long to read.
    """

    def __init__(
        self,
        store: Store,
        on_lost: Callable[[StoreError], None] = lambda _: None,
        find_key: Callable[[str, int], int | None] = lambda *_: None,
    ) -> None:
        self._store = store
        self._on_lost = on_lost
        self._find_key = find_key
        self._lookups: Counter[str] = Counter()
        self._open()

    def _open(self) -> None:
        self._head = self._store.head()
        self._snapshot = self._store.snapshot()
        self._entries: dict[str, tuple[Entry, ...]] = {}

    def turn(self, session: str, number: int, key: int | None = None) -> Turn | None:
        """Return a turn, or None if there is no such turn or it is lost."""
        try:
            id = self._id(session, number, key)
            return self._store.load(id, Turn) if id is not None else None
        except StoreError as error:
            if self._store.head() == self._head:
                self._on_lost(error)
                return None
        self._open()  # A writer has moved or removed the object: read the new snapshot.
        return self.turn(session, number, key)

    def stored_bytes(self, key: int) -> bytes | None:
        """Return the encoded turn with a key, or None if `turn` has to find it."""
        try:
            ids = self._store.find_ids("turn", f"{key:014x}")
            return self._store.read(ids[0]) if len(ids) == 1 else None
        except StoreError:
            return None

    def turn_id(self, session: str, number: int) -> str:
        """Return the id of a turn, or an empty text if there is no such turn."""
        id = self._id(session, number)
        return id.hex() if id is not None else ""

    def _id(self, session: str, number: int, key: int | None = None) -> ObjectId | None:
        """Return the id of a turn; by its key if that is known, or else the first few.

        That takes no manifest.
        """
        self._lookups[session] += key is None
        if session not in self._entries and self._lookups[session] <= _MAX_LOOKUPS:
            key = self._find_key(session, number) if key is None else key
            ids = self._store.find_ids("turn", f"{key:014x}") if key is not None else []
            if len(ids) == 1:
                return ids[0]
        entry = self.entry(session, number)
        return entry.turn if entry is not None else None

    def entry(self, session: str, number: int) -> Entry | None:
        """Return the entry of a turn, or None if there is no such turn."""
        if session not in self._entries:
            row = self._store.row(session, self._snapshot)
            self._entries[session] = self._store.manifest(row).entries if row else ()
        entries = self._entries[session]
        return entries[number] if number < len(entries) else None
