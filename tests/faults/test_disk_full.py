"""A full disk, a quota or a failing disk leaves the old snapshot, and a later run continues."""

import errno
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from tests.faults.injection import (
    SEAMS,
    Fault,
    Outcome,
    SavedHome,
    Seam,
    assert_heals,
    count_operations,
    needs_shim,
    run,
)
from tests.faults.scenarios import append_turns, live_sessions, write_sessions
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh, read_content

CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
ADVICE = {
    errno.ENOSPC: "free some space and run the command again; nothing that was stored is lost",
    errno.EDQUOT: "free some space and run the command again; nothing that was stored is lost",
    errno.EIO: "then run again",
}


def every_fault(seam: Seam, operations: int) -> list[Fault]:
    """Return every error at every operation, once and from there on, and short writes."""
    every = range(1, operations + 1)
    faults = [Fault(seam, n, "fail", code) for n, code in product(every, CODES)]
    faults += [Fault(seam, n, "fail on", code) for n, code in product(every, CODES)]
    if seam == "shim":
        faults += [Fault(seam, n, "short") for n in every]
        faults += [Fault(seam, n, "short then fail", errno.ENOSPC) for n in every]
    return faults


@pytest.mark.parametrize("seam", SEAMS)
def test_failing_writes_leave_the_old_snapshot(
    home: Home, seam: Seam, figure: Callable[[str], None]
) -> None:
    files = write_sessions(home, sessions=3)
    home.index()
    append_turns(files, 1)
    saved = SavedHome(home)
    before, found_before = live_sessions(home), read_content(home.config).places
    operations = count_operations(home, "index", "-q", seam=seam)
    after, found_after = live_sessions(home), read_content(home.config).places
    faults = every_fault(seam, operations)
    sample = [faults[n] for n in scale.some(range(len(faults)), 8)]
    refused = 0
    for fault in sample:
        saved.restore()
        outcome = run(home, "index", "-q", fault=fault)
        refused += outcome.code == 2
        assert_explained(outcome, fault.code)
        assert outcome.code == 2 or fault.action in ("fail", "short") or seam == "shim"
        assert live_sessions(home) in (before, after)
        assert read_content(home.config).places in (found_before, found_after)
        if fault.code != errno.EIO:
            assert os.listdir(home.store_dir / "tmp") == []
        assert_heals(home)
        assert_same_as_fresh(home)
    assert refused > len(sample) / 4
    figure(
        f"ENOSPC, EDQUOT, EIO, short writes ({seam}): {len(sample)} of {len(faults)} faults at"
        f" {operations} operations, {refused} refused, all = fresh"
    )


def assert_explained(outcome: Outcome, code: int) -> None:
    """Assert that a failure printed one line with advice, and a success printed nothing."""
    if outcome.code == 0:
        assert outcome.errors == ""
        return
    assert outcome.code == 2, outcome
    assert outcome.errors.startswith("ccgrep: ")
    assert outcome.errors.count("\n") == 1
    is_advice = ADVICE[code] in outcome.errors
    assert is_advice or "An index writer was killed" in outcome.errors, outcome


@needs_shim
def test_full_text_index_that_cannot_be_written_is_removed(home: Home) -> None:
    """Half of it would only take up the space that is left."""
    write_sessions(home, sessions=1)
    saved = SavedHome(home)
    operations = count_operations(home, "index", "-q", seam="shim")
    removed = 0
    for n in scale.some(range(1, operations + 1), 6):
        saved.restore()
        outcome = run(home, "index", "-q", fault=Fault("shim", n, "fail on", errno.ENOSPC))
        assert_explained(outcome, errno.ENOSPC)
        if "/text/" in outcome.errors:
            removed += 1
            assert os.listdir(home.store_dir / "text") == []
        assert_heals(home)
    assert removed
    assert_same_as_fresh(home)


def test_no_space_is_explained_and_exits_2(home: Home) -> None:
    write_sessions(home, sessions=1)
    home.index()
    file = home.claude(9)
    file.turn("x", "y")
    file.write()
    shown = home.run("index", preexec_fn=_no_file_may_grow)
    assert shown.returncode == 2
    assert shown.stderr.startswith("ccgrep: cannot write")
    assert "Traceback" not in shown.stderr
    assert home.index().new_sessions == 1
    assert_same_as_fresh(home)


def _no_file_may_grow() -> None:
    """Make writes fail in this process as they do on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """Mount a filesystem of 64 MB."""
    path.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(path)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"cannot mount a filesystem: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def fill_up(path: Path, left: int) -> Path:
    """Write a file that leaves `left` bytes free."""
    info = os.statvfs(path)
    filler = path / "filler"
    filler.write_bytes(bytes(max(info.f_bavail * info.f_frsize - left, 0)))
    return filler


def test_really_full_disk_keeps_the_old_snapshot(
    home: Home, request: pytest.FixtureRequest, figure: Callable[[str], None]
) -> None:
    if os.geteuid() != 0:
        run_as_root_of_a_namespace(request)
        return
    chance = random.Random(3)
    write_sessions(home, sessions=3)
    refused = 0
    rounds = scale.of(2, 10)
    with small_disk(home.store_dir):
        home.index()
        for number in range(rounds):
            add_session(home, number, chance)
            before, found = live_sessions(home), read_content(home.config).places
            filler = fill_up(home.store_dir, left=chance.randrange(700) * 1024)
            outcome = run(home, "index", "-q")
            refused += outcome.code == 2
            assert_explained(outcome, errno.ENOSPC)
            if outcome.code == 2:
                assert ", has " in outcome.errors
            if live_sessions(home) == before:
                assert read_content(home.config).places == found
            assert os.listdir(home.store_dir / "tmp") == []
            filler.unlink()
            assert_heals(home)
            assert_same_as_fresh(home)
        assert refused
    figure(f"a full disk of 64 MB: {rounds} times, {refused} refused, all = fresh")


def add_session(home: Home, number: int, chance: random.Random) -> None:
    """Write half a megabyte that cannot be compressed."""
    file = home.claude(20 + number)
    for turn in range(10):
        file.turn(f"prompt {turn}", f"answer {turn}", "cat x", chance.randbytes(40_000).hex())
    file.write()


def run_as_root_of_a_namespace(request: pytest.FixtureRequest) -> None:
    """Run the same test in a user namespace, where this user may mount."""
    command = [sys.executable, "-m", "pytest", "-q", request.node.nodeid]
    done = subprocess.run(["unshare", "-rm", *command], capture_output=True, text=True, check=False)
    if "1 passed" not in done.stdout:
        assert "failed" not in done.stdout, done.stdout
        pytest.skip(f"only root can mount a filesystem: {done.stderr.strip()}")
