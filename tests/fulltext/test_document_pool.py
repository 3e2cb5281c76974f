"""Workers build the same full-text index as one process."""

import re
from pathlib import Path

import pytest

from ccgrep.errors import StoreError
from ccgrep.fulltext import document_pool, generations, sync
from ccgrep.model import ObjectId
from ccgrep.store.store import Store
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.stored import index_sessions


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Use workers for stores of any size, with several tasks per session."""
    monkeypatch.setattr(sync, "_LARGE_BYTES", 0)
    monkeypatch.setattr(sync, "_TASK_BYTES", 0)
    return monkeypatch


def rebuild(store: Store, workers: int = 2) -> int:
    with store.lock(1):
        return sync.rebuild(store, workers=workers)


def damage(store: Store, id: ObjectId) -> None:
    """Flip a bit in an object, behind its header."""
    for pack in store.packs():
        if id in pack:
            path = Path(pack.path)
            data = bytearray(path.read_bytes())
            frame = pack.read(id)
            assert frame is not None
            at = re.search(re.escape(frame.data), data)
            assert at is not None
            data[at.end() - 1] ^= 1
            path.write_bytes(data)


@pytest.mark.parametrize("workers", [1, 4])
def test_workers_build_the_same_index(home: Home, large: pytest.MonkeyPatch, workers: int) -> None:
    index_sessions(home)
    assert rebuild(home.store, workers) == 15
    large.undo()
    assert_same_as_fresh(home, is_collected=True)


def test_damaged_turn_is_left_out(home: Home, large: pytest.MonkeyPatch) -> None:
    ids = index_sessions(home)
    damage(home.store, home.manifest(ids[0]).entries[1].turn)
    assert rebuild(home.store) == 14


def test_lost_turn_is_left_out(home: Home, large: pytest.MonkeyPatch) -> None:
    ids = index_sessions(home)
    lost = home.manifest(ids[0]).entries[1].turn
    store = home.store
    store.rewrite(store.packs(), {id for pack in store.packs() for id in pack.ids()} - {lost})
    assert rebuild(store) == 14


def test_dead_worker_leaves_the_current_generation(home: Home, large: pytest.MonkeyPatch) -> None:
    index_sessions(home)
    before = generations.current(home.store.directory)
    large.setattr(document_pool, "run_in_workers", lambda _, tasks, __: [(next(tasks), None)])
    with pytest.raises(StoreError, match="died: run the command again"):
        rebuild(home.store)
    assert generations.current(home.store.directory) == before
    large.undo()
    assert_same_as_fresh(home)
