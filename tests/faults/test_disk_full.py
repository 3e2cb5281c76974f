"""A full disk, a quota or a failing disk: the old snapshot stays, and a later run goes on."""

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

from tests.faults.faulty import (
    Ended,
    Fault,
    Saved,
    Seam,
    assert_heals,
    count_operations,
    needs_shim,
    run,
)
from tests.faults.test_kill import SEAMS, fill, grow, snapshot
from tests.helpers import scale
from tests.helpers.homes import Home, assert_same_as_fresh, held

CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
ADVICE = {
    errno.ENOSPC: "free some space and run the command again; nothing that was stored is lost",
    errno.EDQUOT: "free some space and run the command again; nothing that was stored is lost",
    errno.EIO: "then run again",
}


def faults(seam: Seam, operations: int) -> list[Fault]:
    """Every error at every operation: once and from there on, and writes that are cut short."""
    every = range(1, operations + 1)
    made = [Fault(seam, n, "fail", code) for n, code in product(every, CODES)]
    made += [Fault(seam, n, "fail on", code) for n, code in product(every, CODES)]
    if seam == "shim":
        made += [Fault(seam, n, "short") for n in every]
        made += [Fault(seam, n, "short then fail", errno.ENOSPC) for n in every]
    return made


@pytest.mark.parametrize("seam", SEAMS)
def test_failing_writes_leave_the_old_snapshot(
    home: Home, seam: Seam, figure: Callable[[str], None]
) -> None:
    files = fill(home, sessions=3)
    home.index()
    grow(files, 1)
    saved = Saved(home)
    before, found_before = snapshot(home), held(home.config).places
    operations = count_operations(home, "index", "-q", seam=seam)
    after, found_after = snapshot(home), held(home.config).places
    cases = faults(seam, operations)
    tried = [cases[n] for n in scale.some(range(len(cases)), 18)]
    refused = 0
    for fault in tried:
        saved.restore()
        ended = run(home, "index", "-q", fault=fault)
        refused += ended.code == 2
        assert_explained(ended, fault.code)
        assert ended.code == 2 or fault.action in ("fail", "short") or seam == "shim"
        assert snapshot(home) in (before, after)
        assert held(home.config).places in (found_before, found_after)
        if fault.code != errno.EIO:
            assert os.listdir(home.store_dir / "tmp") == []
        assert_heals(home)
        assert_same_as_fresh(home)
    assert refused > len(tried) / 4
    figure(
        f"ENOSPC, EDQUOT, EIO, short writes ({seam}): {len(tried)} of {len(cases)} faults at"
        f" {operations} operations, {refused} refused, 0 wrong answers, all = fresh"
    )


def assert_explained(ended: Ended, code: int) -> None:
    """One line that says what to do; or nothing, when it was got over."""
    if ended.code == 0:
        assert ended.errors == ""
        return
    assert ended.code == 2, ended
    assert ended.errors.startswith("ccgrep: ")
    assert ended.errors.count("\n") == 1
    assert ADVICE[code] in ended.errors or "An index writer was killed" in ended.errors, ended


@needs_shim
def test_a_new_text_index_that_cannot_be_written_is_given_up(home: Home) -> None:
    """Half of it would take up what space there is."""
    fill(home, sessions=1)
    saved = Saved(home)
    operations = count_operations(home, "index", "-q", seam="shim")
    given_up = 0
    for n in scale.some(range(1, operations + 1), 10):
        saved.restore()
        ended = run(home, "index", "-q", fault=Fault("shim", n, "fail on", errno.ENOSPC))
        assert_explained(ended, errno.ENOSPC)
        if "/text/" in ended.errors:
            given_up += 1
            assert os.listdir(home.store_dir / "text") == []
        assert_heals(home)
    assert given_up
    assert_same_as_fresh(home)


def test_no_space_is_explained_and_exits_2(home: Home) -> None:
    fill(home, sessions=1)
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
    """As on a full disk, but for this process only."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A filesystem of 64 MB."""
    path.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(path)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no filesystem can be mounted: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def fill_up(path: Path, left: int) -> Path:
    """A file that leaves so many bytes free."""
    info = os.statvfs(path)
    filler = path / "filler"
    filler.write_bytes(bytes(max(info.f_bavail * info.f_frsize - left, 0)))
    return filler


def test_a_disk_that_is_really_full(
    home: Home, request: pytest.FixtureRequest, figure: Callable[[str], None]
) -> None:
    if os.geteuid() != 0:
        return run_as_root_of_a_namespace(request)
    chance = random.Random(3)
    fill(home, sessions=3)
    refused = 0
    rounds = scale.of(2, 10)
    with small_disk(home.store_dir):
        home.index()
        for number in range(rounds):
            add_session(home, number, chance)
            before, found = snapshot(home), held(home.config).places
            filler = fill_up(home.store_dir, left=chance.randrange(700) * 1024)
            ended = run(home, "index", "-q")
            refused += ended.code == 2
            assert_explained(ended, errno.ENOSPC)
            if ended.code == 2:
                assert ", has " in ended.errors
            if snapshot(home) == before:
                assert held(home.config).places == found
            assert os.listdir(home.store_dir / "tmp") == []
            filler.unlink()
            assert_heals(home)
            assert_same_as_fresh(home)
        assert refused
    figure(f"a full disk of 64 MB: {rounds} times, {refused} refused, 0 lost, all = fresh")
    return None


def add_session(home: Home, number: int, chance: random.Random) -> None:
    """Half a megabyte that cannot be compressed."""
    file = home.claude(20 + number)
    for turn in range(10):
        file.turn(f"prompt {turn}", f"answer {turn}", "cat x", chance.randbytes(40_000).hex())
    file.write()


def run_as_root_of_a_namespace(request: pytest.FixtureRequest) -> None:
    """Runs the same test where this user may mount."""
    command = [sys.executable, "-m", "pytest", "-q", request.node.nodeid]
    done = subprocess.run(["unshare", "-rm", *command], capture_output=True, text=True, check=False)
    if "1 passed" not in done.stdout:
        assert "failed" not in done.stdout, done.stdout
        pytest.skip(f"a filesystem can be mounted by root alone: {done.stderr.strip()}")
