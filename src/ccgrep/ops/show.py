"""Reads conversations: a session, a part of it, or a turn with its neighbours."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ccgrep import refs
from ccgrep.blame.evidence import MadeCommit
from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.model import Entry, ObjectId, Session, Turn
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.lineage import count_common_turns, find_original
from ccgrep.store.machines import name_machine, read_machines
from ccgrep.store.manifest import Row
from ccgrep.store.store import Store


class PlacedTurn(Struct, frozen=True):
    """A turn with its number and its entry in a session."""

    number: int
    entry: Entry
    turn: Turn | None  # None: the object is lost
    is_inherited: bool = False  # a fork copied it from its original
    commits: tuple[MadeCommit, ...] = ()


class Conversation(Struct, frozen=True):
    """Some or all turns of a session. `session` is None for a turn that no session refers to.

    `named_turn` is the turn that the REF named; the others are its neighbours.
    """

    session: Session | None
    turns: tuple[PlacedTurn, ...]
    named_turn: int | None = None
    path: str = ""
    is_gone: bool = False
    machine: str = ""  # the name of the other machine that it came from


def show(config: Config, ref: str, before: int = 0, after: int = 0, limit: int = 0) -> Conversation:
    """Return the session that `ref` names, or the turn with its neighbours.

    `limit` is the maximum number of turns; 0 means no limit.
    """
    return read_consistently(
        config.store_dir, lambda store: _show(store, ref, before, after, limit)
    )


def add_commits(config: Config, conversation: Conversation) -> Conversation:
    """Return a conversation with the commits that its turns made."""
    from ccgrep.blame.turn_commits import find_commits  # noqa: PLC0415 - runs git, rarely asked for

    turns = conversation.turns
    entries = [(placed.entry, placed.turn) for placed in turns if placed.turn is not None]
    found = find_commits(config.store_dir, entries)
    return replace(
        conversation,
        turns=tuple(replace(one, commits=tuple(found.get(one.entry.turn, ()))) for one in turns),
    )


def read_blob(config: Config, ref: str) -> bytes | None:
    """Return the bytes of the image or document that `ref` names, or None if it names none."""

    def read(store: Store) -> bytes | None:
        id = refs.find_blob(store, ref)
        return None if id is None else store.read(id)

    return read_consistently(config.store_dir, read)


def find_sessions(config: Config, names: Iterable[str]) -> frozenset[str]:
    """Return the sessions that REFs name. A turn's hash names the first session that has it."""

    def read(store: Store) -> frozenset[str]:
        rows = list(store.rows())
        found = (_find(store, rows, ref)[0] for ref in names)
        return frozenset(row.session.id for row in found if row is not None)

    return read_consistently(config.store_dir, read)


def show_range(config: Config, ref: str, start: int = 0, count: int | None = None) -> Conversation:
    """Return at most `count` turns of the session that `ref` names, from turn `start` on.

    A whole id is found without a list of all sessions.
    """
    end = None if count is None else start + count

    def read(store: Store) -> Conversation:
        row = store.row(ref) or refs.find_row(list(store.rows()), ref)
        return _read(store, row, slice(start, end))

    return read_consistently(config.store_dir, read)


def _show(store: Store, ref: str, before: int, after: int, limit: int) -> Conversation:
    row, turn, id = _find(store, list(store.rows()), ref)
    if row is None:
        assert id is not None
        entry = Entry(turn=id, start=0, end=0)
        return Conversation(None, (PlacedTurn(0, entry, store.load(id, Turn)),))
    if turn is None:
        return _read(store, row, slice(limit or None))
    first, end = max(turn - before, 0), turn + after + 1
    return _read(store, row, slice(first, min(end, first + limit) if limit else end), turn)


def _find(store: Store, rows: Sequence[Row], ref: str) -> refs.Target:
    """Return what a REF names. A hash gets the first place that has its turn, if there is one."""
    found = refs.find(store, rows, ref)
    if found.object is None:
        return found
    return refs.Target(*_first_place(store, rows, found.object), found.object)


def _first_place(store: Store, rows: Sequence[Row], id: ObjectId) -> tuple[Row | None, int | None]:
    for row in rows:
        for number, entry in enumerate(store.manifest(row).entries):
            if entry.turn == id:
                return row, number
    return None, None


def _read(store: Store, row: Row, chosen: slice, named_turn: int | None = None) -> Conversation:
    entries = store.manifest(row).entries
    inherited = _count_inherited(store, row, entries)
    return Conversation(
        session=row.session,
        turns=tuple(
            PlacedTurn(number, entry, _load(store, entry), number < inherited)
            for number, entry in list(enumerate(entries))[chosen]
        ),
        named_turn=named_turn,
        path=row.files[0].path if row.files else "",
        is_gone=row.is_gone and row.provenance is None,
        machine=name_machine(read_machines(store.directory), row) if row.provenance else "",
    )


def _count_inherited(store: Store, row: Row, entries: Sequence[Entry]) -> int:
    """Return how many turns a fork begins with that are its original's."""
    if not row.session.forked_from and row.session.forked_at is None:
        return 0
    original = find_original(store, row, list(store.rows()))
    return count_common_turns([entries, store.manifest(original).entries]) if original else 0


def _load(store: Store, entry: Entry) -> Turn | None:
    try:
        return store.load(entry.turn, Turn)
    except StoreError:
        return None
