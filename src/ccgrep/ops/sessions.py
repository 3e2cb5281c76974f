"""Sessions and turns to look at: lists, and whole conversations."""

import os
from collections.abc import Callable, Iterator

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import NotFoundError, StoreError
from ccgrep.model import Entry, Session, Turn
from ccgrep.ops.search import open_index, open_searcher
from ccgrep.search.request import Filters
from ccgrep.store.lifecycle import open_store, read_consistently
from ccgrep.store.lineage import trees
from ccgrep.store.manifest import Manifest, Row
from ccgrep.store.store import Store


class Listed(Struct, frozen=True):
    """A session in a list, with the shortest id that names it; in a tree how deep it stands."""

    row: Row
    short_id: str
    depth: int | None = None


class ShownTurn(Struct, frozen=True):
    """A turn as it stands in a session."""

    number: int
    entry: Entry
    turn: Turn | None  # None: the object is lost


class Shown(Struct, frozen=True):
    """A session with the turns that were asked for; `session` is None for a bare object.

    `turn` is the one that was named, if one was; the others are those around it.
    """

    session: Session | None
    places: tuple[ShownTurn, ...]
    turn: int | None = None
    path: str = ""
    is_gone: bool = False


def list_sessions(
    config: Config, filters: Filters, limit: int = 0, is_tree: bool = False
) -> list[Listed]:
    """Sessions with turns, the most recent first; as trees each with those that came of it.

    At most `limit` sessions, or trees.
    """
    rows = read_consistently(config.store_dir, lambda store: list(store.rows()))
    short = refs.short_ids(row.session.id for row in rows)
    passing = _passing(config, filters)
    wanted = [
        row
        for row in rows
        if row.session.turns
        and not row.is_superseded
        and (passing is None or row.session.id in passing)
    ]
    wanted.sort(key=lambda row: (-(row.session.ended or 0), row.session.id))
    if is_tree:
        found = read_consistently(config.store_dir, lambda store: list(trees(store, wanted, limit)))
        return [Listed(row, short[row.session.id], depth) for row, depth in found]
    return [Listed(row, short[row.session.id]) for row in wanted[: limit or None]]


def _passing(config: Config, filters: Filters) -> set[str] | None:
    """The sessions that have a turn which a search with these filters would look at."""
    if filters == Filters():
        return None
    try:
        return set(open_searcher(config, open_index(config)).sessions(filters))
    except NotFoundError:
        return set()


def show(config: Config, ref: str, before: int = 0, after: int = 0) -> Shown:
    """The session that `ref` names, or the turn and so many around it."""
    return read_consistently(config.store_dir, lambda store: _show(store, ref, before, after))


def show_part(config: Config, ref: str, start: int, count: int) -> Shown:
    """So many turns of the session that `ref` names, from turn `start` on."""
    return read_consistently(config.store_dir, lambda store: _show_part(store, ref, start, count))


def _show_part(store: Store, ref: str, start: int, count: int) -> Shown:
    row = store.row(ref) or refs.find_row(list(store.rows()), ref)
    return _shown(store, row, store.manifest(row), range(start, start + count))


def _show(store: Store, ref: str, before: int, after: int) -> Shown:
    target = refs.find(store, list(store.rows()), ref)
    if target.row is not None:
        return _show_row(store, target.row, store.manifest(target.row), target.turn, before, after)
    assert target.object is not None
    for row, manifest in _manifests(store):
        for number, entry in enumerate(manifest.entries):
            if entry.turn == target.object:  # The first place that refers to it.
                return _show_row(store, row, manifest, number, before, after)
    bare = Entry(turn=target.object, start=0, end=0)
    return Shown(None, (ShownTurn(0, bare, store.load(target.object, Turn)),))


def _show_row(
    store: Store, row: Row, manifest: Manifest, turn: int | None, before: int, after: int
) -> Shown:
    numbers = range(len(manifest.entries))
    if turn is not None:
        numbers = range(max(turn - before, 0), turn + after + 1)
    return _shown(store, row, manifest, numbers, turn)


def _shown(
    store: Store, row: Row, manifest: Manifest, wanted: range, turn: int | None = None
) -> Shown:
    numbers = range(len(manifest.entries))[wanted.start : wanted.stop]
    return Shown(
        session=row.session,
        places=tuple(_place(store, manifest, number) for number in numbers),
        turn=turn,
        path=row.files[0].path if row.files else "",
        is_gone=row.is_gone,
    )


def _manifests(store: Store) -> Iterator[tuple[Row, Manifest]]:
    for row in store.rows():
        yield row, store.manifest(row)


def _place(store: Store, manifest: Manifest, number: int) -> ShownTurn:
    entry = manifest.entries[number]
    try:
        turn = store.load(entry.turn, Turn)
    except StoreError:
        turn = None
    return ShownTurn(number, entry, turn)


class Turns:
    """Turns by their place; the snapshot and the manifests are read once.

    `on_lost` is told of what cannot be read any more.
    """

    def __init__(
        self, config: Config, on_lost: Callable[[StoreError], None] = lambda _: None
    ) -> None:
        self._store = open_store(config.store_dir)
        self._on_lost = on_lost
        self._open()

    def _open(self) -> None:
        self._head = self._store.head()
        self._snapshot = self._store.snapshot()
        self._entries: dict[str, tuple[Entry, ...]] = {}

    def at(self, session: str, number: int) -> Turn | None:
        """A turn; nothing when it is not there or lost."""
        try:
            return self._load(session, number)
        except StoreError as error:
            if self._store.head() == self._head:
                self._on_lost(error)
                return None
        self._open()  # A writer has taken it away meanwhile, or put another in its place.
        return self.at(session, number)

    def _load(self, session: str, number: int) -> Turn | None:
        entries = self._entries_of(session)
        return self._store.load(entries[number].turn, Turn) if number < len(entries) else None

    def id_at(self, session: str, number: int) -> str:
        """A turn's id; nothing when it is not there."""
        entries = self._entries_of(session)
        return entries[number].turn.hex() if number < len(entries) else ""

    def entry_at(self, session: str, number: int) -> Entry | None:
        """A turn's place; nothing when it is not there."""
        entries = self._entries_of(session)
        return entries[number] if number < len(entries) else None

    def _entries_of(self, session: str) -> tuple[Entry, ...]:
        if session not in self._entries:
            row = self._store.row(session, self._snapshot)
            self._entries[session] = self._store.manifest(row).entries if row else ()
        return self._entries[session]


def row_of(config: Config, session: str) -> Row | None:
    return read_consistently(config.store_dir, lambda store: store.row(session))


class Resumption(Struct, frozen=True):
    """How a session is resumed; with troubles it cannot be."""

    command: tuple[str, ...]
    directory: str
    troubles: tuple[str, ...] = ()


def resumption(config: Config, ref: str) -> Resumption:
    """The command that resumes the session of `ref` in the directory where it began."""
    return read_consistently(config.store_dir, lambda store: _resumption(store, ref))


def _resumption(store: Store, ref: str) -> Resumption:
    rows = list(store.rows())
    row = refs.find_row(rows, ref)
    parent = next((r for r in rows if r.session.id == row.session.parent), None)
    if row.session.kind != "main" and parent is not None:
        row = parent  # A sub-agent cannot be resumed, the session that it served can.
    session = row.session
    program = ("claude", "--resume") if session.source == "claude_code" else ("codex", "resume")
    troubles = []
    if row.is_gone or not any(os.path.exists(file.path) for file in row.files):
        troubles.append(
            f"the transcript of {session.id} is gone, so it cannot be resumed: "
            f"`ccgrep show {session.id}` has what was said"
        )
    if not session.cwd or not os.path.isdir(session.cwd):
        where = session.cwd or "its directory"
        troubles.append(f"{where} is gone: make it again to resume {session.id} there")
    return Resumption((*program, row.base_id), session.cwd, tuple(troubles))
