"""A sync that fails or is killed at any operation loses nothing, and the next one continues."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import product
from pathlib import Path

import pytest

from ccgrep.errors import CcgrepError
from ccgrep.store import fsck
from tests.helpers import scale
from tests.helpers.faulty_storage import (
    FAULTS,
    KilledError,
    full_disk,
    killed_write,
    storage_fault,
)
from tests.helpers.fleet import Fleet, conversations
from tests.helpers.homes import assert_same_as_fresh
from tests.helpers.stored import write_session
from tests.helpers.tiny_vectors import (
    embed,
    embedded,
    keys_of,
    model_dir,
    remote_keys,
    use_tiny_model,
)

FORGOTTEN = 2
"""The seed of the session that is forgotten."""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """Return a fleet in which the first home has something to pull, to push and to forget.

    All texts have vectors.
    """
    fleet = use_tiny_model(Fleet(tmp_path / "work"), monkeypatch)
    prepare(fleet)
    shutil.copytree(fleet.directory, tmp_path / "saved")
    restore(fleet)
    return fleet


def prepare(fleet: Fleet) -> None:
    write_session(fleet[0], 1)
    forgotten = write_session(fleet[1], FORGOTTEN)
    fleet[0].index()
    fleet[1].index()
    embed(fleet[0])
    embed(fleet[1])
    fleet.settle()
    write_session(fleet[0], 3)
    write_session(fleet[1], 4)
    fleet[0].index()
    fleet[1].index()
    embed(fleet[0])
    embed(fleet[1])
    fleet[1].run("forget", forgotten.id)
    fleet.sync(1)


def restore(fleet: Fleet) -> None:
    shutil.rmtree(fleet.directory)
    shutil.copytree(fleet.directory.with_name("saved"), fleet.directory)


def run_broken(fleet: Fleet, broken: AbstractContextManager[object]) -> None:
    """Sync the first home with a fault, from the prepared state."""
    restore(fleet)
    with broken, suppress(KilledError, CcgrepError):
        fleet.sync(0)


def check(fleet: Fleet) -> None:
    """Assert that the next syncs repair everything."""
    fleet.settle()
    prompts = [[turns[0] for *_, turns in conversations(home)] for home in fleet.homes]
    assert prompts[0] == prompts[1]
    assert sorted(prompts[0]) == ["prompt 1 0", "prompt 3 0", "prompt 4 0"]
    assert b"prompt 2 0" not in fleet.held_bytes()
    assert remote_keys(fleet) == embedded(fleet[0]) == embedded(fleet[1]) == keys_of(fleet[0])
    for home in fleet.homes:
        report = fsck.check(home.store)
        assert (report.damaged, report.lost) == ([], [])
        shutil.rmtree(model_dir(home))  # A fresh store has other vectors.
        foreign = [row.session.id for row in home.store.rows() if row.provenance is not None]
        assert_same_as_fresh(home, but=[*foreign, home.claude(FORGOTTEN).id])
        assert not (home.store_dir / "remotes" / "r" / "incoming").exists()


def test_every_operation_of_the_storage_fails_once(
    fleet: Fleet, figure: Callable[[str], None]
) -> None:
    with storage_fault() as count:
        fleet.sync(0)
    cases = list(product(range(1, count[0] + 1), FAULTS))
    chosen = [cases[number] for number in scale.some(range(len(cases)), 6)]
    for at, fault in chosen:
        run_broken(fleet, storage_fault(at, fault))
        check(fleet)
    figure(f"remote: {len(chosen)} of {len(cases)} faults of the storage, nothing lost")


def test_killed_at_every_write(fleet: Fleet, figure: Callable[[str], None]) -> None:
    with killed_write(0) as count:
        fleet.sync(0)
    moments = scale.some(range(1, count[0] + 1), 4)
    for at in moments:
        run_broken(fleet, killed_write(at))
        check(fleet)
    figure(f"remote, killed: {len(moments)} of {count[0]} writes, nothing lost")


def test_disk_fills_up_at_every_write(fleet: Fleet, figure: Callable[[str], None]) -> None:
    with killed_write(0) as count:
        fleet.sync(0)
    moments = scale.some(range(1, count[0] + 1), 4)
    for at in moments:
        restore(fleet)
        with full_disk(at), suppress(CcgrepError):
            fleet.sync(0)
        check(fleet)
    figure(f"remote, disk full: at {len(moments)} of {count[0]} writes, nothing lost")
