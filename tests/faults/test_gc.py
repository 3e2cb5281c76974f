"""kill -9 inside `gc` loses nothing that HEAD reaches, and the next `gc` completes."""

import signal
from collections.abc import Callable, Iterable

import pytest

from ccgrep.errors import LostRaceError, StoreError
from ccgrep.fulltext import generations
from ccgrep.model import ObjectId
from ccgrep.store import refs
from ccgrep.store.gc import collect_garbage, find_reachable
from ccgrep.store.store import Store
from tests.faults.injection import Fault, SavedHome, assert_heals, count_operations, needs_shim, run
from tests.faults.scenarios import append_turns, live_sessions, write_sessions
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh


def make_garbage(home: Home) -> str:
    """Leave packs that are mostly garbage; return the id of a session without transcript."""
    files = write_sessions(home)
    for round in range(3):
        home.index()
        append_turns(files, round)
    files[5].path.unlink()
    home.index()
    return files[5].id


def garbage(home: Home) -> set[ObjectId]:
    """Return the objects that HEAD does not reach."""
    store = home.store
    return {id for pack in store.packs() for id in pack.ids()} - find_reachable(store, store.head())


def unreadable(store: Store, ids: Iterable[ObjectId]) -> set[ObjectId]:
    lost = set()
    for id in ids:
        try:
            store.read(id)
        except StoreError:
            lost.add(id)
    return lost


def kills_of_gc(home: Home) -> list[Fault]:
    """Return a kill before each operation of `gc`, and some between them."""
    saved = SavedHome(home, "counted")
    operations = count_operations(home, "gc", seam="shim")
    assert len(garbage(home)) <= 1  # the snapshot that recorded the garbage
    saved.restore()
    calls = count_operations(home, "gc", seam="calls")
    saved.restore()
    faults = [Fault("shim", n, "kill") for n in range(1, operations + 1)]
    return faults + [Fault("calls", n, "kill") for n in range(1, calls * 9 // 10, calls // 100)]


@needs_shim
def test_killed_gc_loses_no_reachable_object(home: Home, figure: Callable[[str], None]) -> None:
    gone = make_garbage(home)
    saved = SavedHome(home)
    before, prompts = live_sessions(home), home.prompts(gone)
    kept = find_reachable(home.store, home.store.head())
    assert len(garbage(home)) > 1
    faults = kills_of_gc(home)
    lost: set[ObjectId] = set()
    kills = 0
    moments = scale.some(range(len(faults)), 8)
    for n in moments:
        saved.restore()
        outcome = run(home, "gc", fault=faults[n])
        assert outcome.code in (0, -signal.SIGKILL), outcome
        kills += outcome.code != 0
        lost |= unreadable(home.store, kept)
        assert (live_sessions(home), home.prompts(gone)) == (before, prompts)
        assert_heals(home)
        assert run(home, "gc").code == 0
        assert len(garbage(home)) <= 1
        assert home.prompts(gone) == prompts
        assert_same_as_fresh(home)
    assert not lost
    # tantivy's threads do not make the same number of operations each time.
    assert kills >= len(moments) - 2
    figure(
        f"kill -9 inside gc: {kills} of {len(faults)} moments, "
        f"{len(lost)} of {len(kept)} reachable objects lost"
    )


@pytest.mark.parametrize("command", ["gc", "index"])
@pytest.mark.parametrize("name", ["meta.json", "*.term", "*.pos"])
def test_incomplete_full_text_index_is_rebuilt_by_every_writer(
    home: Home, command: str, name: str
) -> None:
    write_sessions(home, sessions=2)
    home.index()
    (text,) = (home.store_dir / "text").iterdir()
    (lost,) = text.glob(name)
    lost.unlink()
    ended = run(home, command)
    assert ended.code == 0, ended
    found = generations.current(str(home.store_dir))
    assert found is not None
    generations.open_reader(found.path)
    assert_same_as_fresh(home)


def test_pack_dropped_before_its_head_is_written_is_restored(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without locks `gc` may run during a commit."""
    files = write_sessions(home)
    home.index()
    append_turns(files, 0)
    dropped = []
    write = refs.write_head

    def late(directory: str, id: ObjectId) -> None:
        monkeypatch.setattr(refs, "write_head", write)
        dropped.append(collect_garbage(home.store).objects_dropped)
        write(directory, id)

    monkeypatch.setattr(refs, "write_head", late)
    home.index()
    assert dropped[0] > 5
    assert_same_as_fresh(home)


def test_garbage_needed_again_while_gc_drops_it_is_restored(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that grew is cut back at that moment."""
    file = home.claude()
    file.turn("a prompt", "an answer")
    before = file.write().read_bytes()
    home.rest()
    home.index()
    file.answer("and one more")
    file.append()
    home.rest()
    home.index()
    drop = Store.drop_packs

    def late(store: Store, names: list[str]) -> None:
        monkeypatch.setattr(Store, "drop_packs", drop)
        file.path.write_bytes(before)
        home.index()
        drop(store, names)

    monkeypatch.setattr(Store, "drop_packs", late)
    with pytest.raises(LostRaceError):
        collect_garbage(home.store)
    assert_same_as_fresh(home)
