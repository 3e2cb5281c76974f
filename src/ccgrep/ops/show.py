"""Reads conversations: a session, a part of it, or a turn with its neighbours."""

from msgspec import Struct

from ccgrep import refs
from ccgrep.config import Config
from ccgrep.errors import StoreError
from ccgrep.model import Entry, Session, Turn
from ccgrep.store.lifecycle import read_consistently
from ccgrep.store.manifest import Manifest, Row
from ccgrep.store.store import Store


class PlacedTurn(Struct, frozen=True):
    """A turn with its number and its entry in a session."""

    number: int
    entry: Entry
    turn: Turn | None  # None: the object is lost


class Conversation(Struct, frozen=True):
    """Some or all turns of a session. `session` is None for a turn that no session refers to.

    `named_turn` is the turn that the REF named; the others are its neighbours.
    """

    session: Session | None
    turns: tuple[PlacedTurn, ...]
    named_turn: int | None = None
    path: str = ""
    is_gone: bool = False


def show(config: Config, ref: str, before: int = 0, after: int = 0) -> Conversation:
    """Return the session that `ref` names, or the turn with its neighbours."""
    return read_consistently(config.store_dir, lambda store: _show(store, ref, before, after))


def show_range(config: Config, ref: str, start: int, count: int) -> Conversation:
    """Return at most `count` turns of the session that `ref` names, from turn `start` on."""
    return read_consistently(config.store_dir, lambda store: _show_range(store, ref, start, count))


def _show_range(store: Store, ref: str, start: int, count: int) -> Conversation:
    row = store.row(ref) or refs.find_row(list(store.rows()), ref)
    return _read_turns(store, row, store.manifest(row), range(start, start + count))


def _show(store: Store, ref: str, before: int, after: int) -> Conversation:
    target = refs.find(store, list(store.rows()), ref)
    if target.row is not None:
        return _show_around(
            store, target.row, store.manifest(target.row), target.turn, before, after
        )
    assert target.object is not None
    for row in store.rows():
        manifest = store.manifest(row)
        for number, entry in enumerate(manifest.entries):
            if entry.turn == target.object:
                return _show_around(store, row, manifest, number, before, after)
    entry = Entry(turn=target.object, start=0, end=0)
    return Conversation(None, (PlacedTurn(0, entry, store.load(target.object, Turn)),))


def _show_around(
    store: Store, row: Row, manifest: Manifest, turn: int | None, before: int, after: int
) -> Conversation:
    numbers = range(len(manifest.entries))
    if turn is not None:
        numbers = range(max(turn - before, 0), turn + after + 1)
    return _read_turns(store, row, manifest, numbers, turn)


def _read_turns(
    store: Store, row: Row, manifest: Manifest, numbers: range, named_turn: int | None = None
) -> Conversation:
    numbers = range(len(manifest.entries))[numbers.start : numbers.stop]
    return Conversation(
        session=row.session,
        turns=tuple(_read_turn(store, manifest, number) for number in numbers),
        named_turn=named_turn,
        path=row.files[0].path if row.files else "",
        is_gone=row.is_gone,
    )


def _read_turn(store: Store, manifest: Manifest, number: int) -> PlacedTurn:
    entry = manifest.entries[number]
    try:
        turn = store.load(entry.turn, Turn)
    except StoreError:
        turn = None
    return PlacedTurn(number, entry, turn)
