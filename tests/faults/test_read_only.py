"""A store that cannot be written is searched all the same, with a temporary directory or none."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.embedded_home import Done, run_many
from tests.helpers.homes import Home, assert_same_as_fresh

NOBODY = 65534
BECOME_NOBODY = f"""
import os, shutil, tempfile
import importlib, ccgrep.ingest.recover, ccgrep.refresh.update
for name in ("blame", "export", "forget", "fsck", "gc", "index", "status"):
    importlib.import_module(f"ccgrep.cli.commands.{{name}}")
for warm in (["login"], ["-E", "x+"], ["list"], ["show", "x"], ["stats"]):
    one(warm)  # Python itself may be where only we can read.
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""
NOTHING_WRITABLE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.unshare(0x20000) if hasattr(os, "unshare") else libc.unshare(0x20000)
libc.mount(None, b"/", None, 0x40000 | 0x4000, None)  # private, all below
with open("/proc/self/mountinfo", "rb") as file:
    points = [line.split()[4] for line in file]
for point in points:
    libc.mount(None, point, None, 0x1 | 0x20 | 0x1000, None)  # read-only, again, as a bind mount
"""
WORDS = ("login", "build", "worker", "cache", "parser")
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, or mount")


def fill(home: Home) -> None:
    for seed, word in enumerate(WORDS):
        file = home.claude(seed + 1, cwd=f"/home/sam/{word}")
        for number in range(4):
            file.turn(f"the {word} is slow {number}", f"mended {number}", "make", f"ok {word}\n")
        file.write()
    home.rest()
    home.index()
    assert home.run("stats").returncode == 0


def queries(home: Home) -> list[list[str]]:
    """Fifty, of all kinds."""
    made: list[list[str]] = []
    for word in WORDS:
        made += [[word], [f"{word} slow", "-n", "2"], ["-F", f"the {word} is"], ["-l", word]]
        made += [["-E", f"{word[:3]}[a-z]+ is"], ["-t", "tool", word], ["-p", word, "mended"]]
        made += [["-F", "-t", "tool", f"ok {word}"], ["--no-index", "-F", f"{word} is slow 2"]]
    made += [["show", row] for row in sorted(home.rows())[:2]]
    return [*made, ["list"], ["stats"], ["stats", "tools"]]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user can reach."""
    path = Path(tempfile.mkdtemp(prefix="ccgrep-tests-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextmanager
def closed(home: Home) -> Iterator[None]:
    """Everybody may read the store, nobody may write it."""
    paths = [home.directory, home.store_dir, *home.store_dir.rglob("*")]
    modes = [(path, path.stat().st_mode) for path in paths]
    for path, _ in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)


@contextmanager
def mounted_read_only(path: Path) -> Iterator[None]:
    for options in (["--bind", str(path), str(path)], ["-o", "remount,ro,bind", str(path)]):
        done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def assert_same(home: Home, asked: list[list[str]], right: list[Done], before: str = "") -> None:
    answers = run_many(home, asked, before)
    for one, expected, done in zip(asked, right, answers, strict=True):
        assert (done.code, done.out) == (expected.code, expected.out), (one, done)
        assert "Traceback" not in done.err, done
    (indexed,) = run_many(home, [["index"]], before)
    assert (indexed.code, "cannot write" in indexed.err) == (2, True), indexed


@is_root
def test_store_of_another_user_that_cannot_be_written(
    place: Path, figure: Callable[[str], None]
) -> None:
    home = Home(place / "home")
    fill(home)
    asked = queries(home)
    right = run_many(home, asked)
    assert len(asked) == 50
    assert all(done.code == 0 for done in right)
    with closed(home):
        assert_same(home, asked, right, BECOME_NOBODY)
    with mounted_read_only(home.store_dir):
        assert_same(home, asked, right)
    assert_same(home, asked, right, NOTHING_WRITABLE)
    home.index()
    assert_same_as_fresh(home)
    figure(
        f"read-only store: {len(asked)} of {len(asked)} answers the same for another user, on a "
        "read-only mount, and with nothing writable at all"
    )


def test_nothing_is_left_in_the_temporary_directory(home: Home, tmp_path: Path) -> None:
    fill(home)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ.pop("TMPDIR", None)
    with closed(home):
        done = home.run("login", env={"TMPDIR": str(temporary)})
    assert done.returncode == 0
    assert list(temporary.iterdir()) == []
    assert_same_as_fresh(home)
