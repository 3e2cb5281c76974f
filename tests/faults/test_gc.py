"""kill -9 inside `gc`: nothing that HEAD leads to is lost, and the next one ends what it began."""

import random
import signal
import time
from collections.abc import Callable

import pytest

from ccgrep.index import generations
from ccgrep.model import ObjectId
from ccgrep.store.gc import reachable
from tests import scale
from tests.faults.faulty import Fault, Saved, assert_heals, count_operations, needs_shim, run
from tests.faults.test_kill import fill, grow, killed_after, snapshot
from tests.homes import Home, assert_same_as_fresh

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
    return {id for pack in store.packs() for id in pack.ids()} - reachable(store)


@needs_shim
def test_killed_gc_loses_nothing_that_head_leads_to(
    home: Home, figure: Callable[[str], None]
) -> None:
    """Before each of its operations, and at random moments for the rest."""
    gone = with_garbage(home)
    saved = Saved(home)
    before, prompts, kept = snapshot(home), home.prompts(gone), reachable(home.store)
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
