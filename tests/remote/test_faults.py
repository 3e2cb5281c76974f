"""A sync that fails or is killed at any operation loses nothing, and the next one continues."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import product
from pathlib import Path

from ccgrep.errors import CcgrepError
from ccgrep.store import fsck
from tests.helpers import scale
from tests.helpers.faulty_storage import (
    FAULTS,
    KilledError,
    killed_write,
    storage_fault,
)
from tests.helpers.fleet import Fleet, conversations
from tests.helpers.homes import assert_same_as_fresh
from tests.helpers.stored import write_session

FORGOTTEN = 2
"""The seed of the session that is forgotten."""


def prepare(directory: Path) -> Fleet:
    """Leave something that the first home has to pull, to push and to forget."""
    fleet = Fleet(directory / "work")
    write_session(fleet[0], 1)
    forgotten = write_session(fleet[1], FORGOTTEN)
    fleet.settle()
    write_session(fleet[0], 3)
    write_session(fleet[1], 4)
    fleet[0].index()
    fleet[1].index()
    fleet[1].run("forget", forgotten.id)
    fleet.sync(1)
    shutil.copytree(directory / "work", directory / "saved")
    return fleet


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
    for home in fleet.homes:
        report = fsck.check(home.store)
        assert (report.damaged, report.lost) == ([], [])
        foreign = [row.session.id for row in home.store.rows() if row.provenance is not None]
        assert_same_as_fresh(home, but=[*foreign, home.claude(FORGOTTEN).id])
        assert not (home.store_dir / "remotes" / "r" / "incoming").exists()


def test_every_operation_of_the_storage_fails_once(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    fleet = prepare(tmp_path)
    restore(fleet)
    with storage_fault() as count:
        fleet.sync(0)
    cases = list(product(range(1, count[0] + 1), FAULTS))
    chosen = [cases[number] for number in scale.some(range(len(cases)), 8)]
    for at, fault in chosen:
        run_broken(fleet, storage_fault(at, fault))
        check(fleet)
    figure(f"remote: {len(chosen)} of {len(cases)} faults of the storage, nothing lost")


def test_killed_at_every_write(tmp_path: Path, figure: Callable[[str], None]) -> None:
    fleet = prepare(tmp_path)
    restore(fleet)
    with killed_write(0) as count:
        fleet.sync(0)
    moments = scale.some(range(1, count[0] + 1), 5)
    for at in moments:
        run_broken(fleet, killed_write(at))
        check(fleet)
    figure(f"remote, killed: {len(moments)} of {count[0]} writes, nothing lost")
