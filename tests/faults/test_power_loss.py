"""Power loss: anything that was not synced may be lost, but nothing that was committed."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ccgrep.store.checksummed_file import strip_checksum
from ccgrep.store.fsio import remove_tree
from tests.faults.injection import Fault, assert_heals, needs_shim, run
from tests.faults.scenarios import (
    append_turns,
    embedded,
    live_sessions,
    not_indexed,
    write_sessions,
)
from tests.faults.simulated_disk import Disk, Operation, read_log
from tests.helpers import scale
from tests.helpers.homes import WORD_QUERIES, Home, assert_same_as_fresh, read_content

pytestmark = needs_shim


def grown(home: Home) -> None:
    """Leave packs to be folded, and a session whose transcript is deleted."""
    files = write_sessions(home)
    home.index()
    files[4].path.unlink()
    home.index()
    append_turns(files, 1)


def replaced(home: Home) -> None:
    """Leave garbage, and terms of deleted documents."""
    grown(home)
    home.index()


@pytest.mark.parametrize(
    ("prepare", "command", "sample"),
    [
        (not_indexed, "index", 3),
        (grown, "index", 3),
        (replaced, "gc", 3),
        (embedded, "index", 2),
    ],
)
def test_power_loss_at_every_sync_loses_nothing_that_was_committed(
    home: Home,
    tmp_path: Path,
    prepare: Callable[[Home], None],
    command: str,
    sample: int,
    figure: Callable[[str], None],
) -> None:
    prepare(home)
    disk = Disk(home.store_dir)
    before, gone = (live_sessions(home), places(home)), gone_prompts(home)
    log = tmp_path / "log"
    assert run(home, command, fault=Fault("shim"), log=str(log)).code == 0
    after = (live_sessions(home), places(home))
    operations = list(read_log(log))
    ends = [*(n for n, made in enumerate(operations) if made.name == "fsync"), len(operations)]
    chance = random.Random(5)
    chosen = [
        chance.randint(ends[n - 1] + 1 if n else 0, ends[n])
        for n in scale.some(range(len(ends)), sample)
        for _ in range(scale.of(1, 4))
    ]
    for n in range(len(operations) + 1):
        for _ in range(chosen.count(n)):
            if home.store_dir.exists():
                remove_tree(str(home.store_dir))
            disk.write_after_loss(home.store_dir, chance)
            is_committed = n > committed_at(home, operations)
            assert live_sessions(home) in ([after[0]] if is_committed else [before[0], after[0]])
            assert places(home) in (before[1], after[1])
            assert_heals(home)
            assert gone_prompts(home) == gone
            assert_same_as_fresh(home)
        if n < len(operations):
            assert_verified_files_are_synced(disk, operations[n])
            disk.apply(operations[n])
    name = prepare.__name__.replace("_", " ")
    figure(
        f"power loss, {command} ({name}): {len(chosen)} states at {len(ends) - 1} syncs,"
        " all = fresh"
    )


def places(home: Home) -> list[set[tuple[str, int]]]:
    """Return what word searches find without refresh; empty if there is no snapshot."""
    return read_content(home.config).places[:WORD_QUERIES] if live_sessions(home) else []


def gone_prompts(home: Home) -> list[list[str]]:
    if not (home.store_dir / "FORMAT").exists():
        return []
    return [home.prompts(id) for id, row in sorted(home.rows().items()) if row.is_gone]


def committed_at(home: Home, operations: Sequence[Operation]) -> int:
    """Return the number of the sync that makes the last new HEAD durable."""
    head, top = str(home.store_dir / "HEAD"), str(home.store_dir)
    renamed = [n for n, made in enumerate(operations) if made.to == head]
    if not renamed:
        return len(operations)
    syncs = (n for n, made in enumerate(operations) if made[:2] == ("fsync", top))
    return next(n for n in syncs if n > renamed[-1])


def assert_verified_files_are_synced(disk: Disk, made: Operation) -> None:
    """Assert that power loss cannot change a file that CHECKED records as verified."""
    directory, _, name = made.to.rpartition("/")
    if made.name == "rename" and name == "CHECKED":
        noted = strip_checksum(disk.content(made.path))
        assert noted
        for line in noted.decode().splitlines():
            disk.assert_synced(directory, line.split()[0])
