"""A store that cannot be written can still be searched, with or without a temporary directory."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.scenarios import TOPICS, index_topics
from tests.helpers import scale
from tests.helpers.embedded_home import Done, run_many
from tests.helpers.homes import Home, assert_same_as_fresh
from tests.helpers.users import BECOME_NOBODY, needs_root, shared_directory

NOTHING_WRITABLE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.unshare(0x20000) if hasattr(os, "unshare") else libc.unshare(0x20000)
libc.mount(None, b"/", None, 0x40000 | 0x4000, None)  # private, recursively
with open("/proc/self/mountinfo", "rb") as file:
    points = [line.split()[4] for line in file]
for point in points:
    libc.mount(None, point, None, 0x1 | 0x20 | 0x1000, None)  # remount read-only, as a bind mount
"""


def queries(home: Home) -> list[list[str]]:
    """Return commands of all kinds."""
    commands: list[list[str]] = []
    for word in TOPICS:
        commands += [[word], [f"{word} slow", "-n", "2"], ["-F", f"the {word} is"], ["-l", word]]
        commands += [["-E", f"{word[:3]}[a-z]+ is"], ["-t", "tool", word], ["-p", word, "mended"]]
        commands += [["-F", "-t", "tool", f"ok {word}"], ["--no-index", "-F", f"{word} is slow 2"]]
    commands += [["show", row] for row in sorted(home.rows())[:2]]
    return [*commands[:: scale.of(3, 1)], ["list"], ["stats"], ["stats", "tools"]]


@contextmanager
def write_protected(home: Home) -> Iterator[None]:
    """Let everybody read the store and nobody write it."""
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


def assert_same(home: Home, commands: list[list[str]], right: list[Done], setup: str = "") -> int:
    """Assert that the commands answer as before and `index` refuses; return the answer count."""
    answers = run_many(home, commands, setup)
    for command, expected, done in zip(commands, right, answers, strict=True):
        assert (done.code, done.out) == (expected.code, expected.out), (command, done)
        assert "Traceback" not in done.err, done
    (indexed,) = run_many(home, [["index"]], setup)
    assert (indexed.code, "cannot write" in indexed.err) == (2, True), indexed
    return len(answers)


@needs_root
def test_read_only_store_answers_every_command(figure: Callable[[str], None]) -> None:
    with shared_directory() as directory:
        home = Home(directory / "home")
        index_topics(home)
        commands = queries(home)
        right = run_many(home, commands)
        assert len(commands) == scale.of(19, 50)
        assert all(done.code == 0 for done in right)
        with write_protected(home):
            same = assert_same(home, commands, right, BECOME_NOBODY)
        with mounted_read_only(home.store_dir):
            same += assert_same(home, commands, right)
        same += assert_same(home, commands, right, NOTHING_WRITABLE)
        home.index()
        assert_same_as_fresh(home)
    figure(
        f"read-only store: {same} of {3 * len(commands)} answers the same for another user, on a "
        "read-only mount, and with nothing writable"
    )


def test_search_leaves_nothing_in_the_temporary_directory(home: Home, tmp_path: Path) -> None:
    index_topics(home)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with write_protected(home):
        done = home.run("login", env={"TMPDIR": str(temporary)})
    assert done.returncode == 0
    assert list(temporary.iterdir()) == []
    assert_same_as_fresh(home)
