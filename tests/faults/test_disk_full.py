"""A full disk, a quota or a failing disk: the old snapshot stays, and a later run goes on."""

import errno
import resource
import shutil
import signal

import pytest

from ccgrep.store.fsio import remove_tree
from tests.faults.faulty import count_operations, run_failing_at
from tests.faults.test_kill import fill, grow, held
from tests.homes import Home, assert_same_as_fresh


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_failing_writes_leave_the_old_snapshot(home: Home, code: int) -> None:
    files = fill(home, sessions=3)
    home.index()
    grow(files, 1)
    saved = home.directory.with_name("saved")
    shutil.copytree(home.directory, saved, symlinks=True)
    before = held(home)
    operations = count_operations(home, "index", "-q")
    after = held(home)
    for n in range(1, operations + 1):
        remove_tree(str(home.directory))
        shutil.copytree(saved, home.directory, symlinks=True)
        assert run_failing_at(home, n, code, "index", "-q") == 2
        assert held(home) in (before, after)
        home.index()
        assert_same_as_fresh(home)
    print(f"{errno.errorcode[code]} from every operation on: {operations} of {operations} = fresh")


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
