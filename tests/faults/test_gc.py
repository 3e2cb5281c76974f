"""kill -9 inside `gc`: nothing that HEAD leads to is lost, and the next one ends what it began."""

import random
import signal
import time
from collections.abc import Callable

import pytest

from ccgrep.errors import LostRaceError
from ccgrep.fulltext import generations
from ccgrep.model import ObjectId
from ccgrep.store import refs
from ccgrep.store.gc import collect_garbage, find_reachable
from ccgrep.store.store import Store
from tests.faults.faulty import Fault, Saved, assert_heals, count_operations, needs_shim, run
from tests.faults.test_kill import fill, grow, killed_after, snapshot
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh

KILLS = 200


def with_garbage(home: Home) -> str:
    """Packs of which most is garbage, and a session whose transcript is gone; gives its id."""
    files = fill(home)
    for round in range(3):
        home.index()
        grow(files, round)
    files[5].path.unlink()
    home.index()
    return files[5].id


def garbage(home: Home) -> set[ObjectId]:
    """What nothing leads to."""
    store = home.store
    return {id for pack in store.packs() for id in pack.ids()} - find_reachable(store, store.head())


@needs_shim
def test_killed_gc_loses_nothing_that_head_leads_to(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Before each of its operations, and at random moments for the rest."""
    gone = with_garbage(home)
    saved = Saved(home)
    before, prompts = snapshot(home), home.prompts(gone)
    kept = find_reachable(home.store, home.store.head())
    assert len(garbage(home)) > 1
    began = time.monotonic()
    operations = count_operations(home, "gc", seam="shim")
    took_s = time.monotonic() - began
    assert len(garbage(home)) <= 1  # the snapshot that says that there is garbage
    chance = random.Random(30)
    moments = [*range(1, operations + 1), *[0] * (KILLS - operations)]
    kills = 0
    for n in scale.some(range(len(moments)), 15):
        saved.restore()
        if moments[n]:
            fault = Fault("shim", moments[n], "kill")
            kills += run(home, "gc", fault=fault).code == -signal.SIGKILL
        else:
            kills += killed_after(home, chance.uniform(0.05, took_s), "gc")
        store = home.store
        assert all(store.read(id) for id in kept)
        assert (snapshot(home), home.prompts(gone)) == (before, prompts)
        assert_heals(home)
        assert run(home, "gc").code == 0
        assert len(garbage(home)) <= 1
        assert home.prompts(gone) == prompts
        assert_same_as_fresh(home)
    figure(f"kill -9 inside gc: {kills} kills, 0 of {len(kept)} reachable objects lost")


@pytest.mark.parametrize("command", ["gc", "index"])
@pytest.mark.parametrize("name", ["meta.json", "*.term", "*.pos"])
def test_a_text_index_that_is_not_whole_is_made_anew_by_every_writer(
    home: Home, command: str, name: str
) -> None:
    fill(home, sessions=2)
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


def test_pack_that_is_dropped_before_its_head_is_written_is_put_back(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no lock keeps `gc` away from a commit that is under way."""
    files = fill(home)
    home.index()
    grow(files, 0)
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


def test_garbage_that_is_needed_again_while_it_is_dropped_is_put_back(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that grew, and is cut back again at that moment."""
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
