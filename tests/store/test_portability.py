"""The store and its commands without the calls that only Linux has; see helpers/portability.py."""

import ast
import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccgrep.store import fsio
from tests.helpers import portability, scale
from tests.helpers.homes import SOURCE, Home

ROOT = Path(SOURCE).parent
SITE = ROOT / "tests" / "helpers" / "site"

SUITES = ["tests/store/test_store.py"]
if scale.IS_LONG:
    SUITES = ["tests/store", "tests/sources", "tests/ingest", "tests/refresh", "tests/search"]
    SUITES += ["tests/stats", "tests/cli/test_search.py", "tests/cli/test_show.py"]
    SUITES += ["tests/faults/test_placements.py", "--ignore=tests/store/test_portability.py"]

CHECK_HIDDEN = """
import os, tempfile
for use in (
    lambda: os.sched_getaffinity(0), lambda: os.posix_fadvise(0, 0, 0, 0), lambda: os.O_TMPFILE,
    lambda: os.memfd_create("x"), lambda: open("/proc/self/stat"), lambda: os.stat("/proc/self/fd"),
    lambda: os.listdir("/proc/self/task"), lambda: os.readlink("/proc/self/exe"),
):
    try:
        use()
    except (AttributeError, FileNotFoundError):
        print("hidden")
assert not os.path.exists("/proc/self/stat")
assert os.listdir() is not None and tempfile.TemporaryFile().write(b"x")
"""

COUNT_SYNCS = """
import os
from tests.helpers.portability import full_syncs
from ccgrep.cli import main
fsync, plain = os.fsync, []
os.fsync = lambda descriptor: plain.append(descriptor) or fsync(descriptor)
assert main(["index", "-q"]) == 0
print(len(plain), len(full_syncs))
"""


def environment(home: Home, is_hidden: bool) -> dict[str, str]:
    path = [SOURCE, str(ROOT), *([str(SITE)] if is_hidden else [])]
    return {**home.environment, "PYTHONPATH": os.pathsep.join(path)}


def run(home: Home, *command: str, is_hidden: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        env=environment(home, is_hidden),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fill(home: Home) -> Home:
    file = home.claude()
    file.turn("where is the zebra", "in the zoo", "ls", "zebra.txt")
    file.write()
    codex = home.codex()
    codex.meta()
    codex.turn("feed the zebra", "done")
    codex.write()
    home.rest()
    return home


def test_hidden_calls_cannot_be_used(home: Home) -> None:
    assert run(home, "-c", CHECK_HIDDEN) == "hidden\n" * 8


def test_core_suites_pass_without_linux() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "tests.helpers.portability", *SUITES],
        cwd=ROOT,
        env={**os.environ, "CCGREP_TESTS": ""},  # A sample of each suite's cases is enough.
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_commands_answer_alike_without_linux(tmp_path: Path) -> None:
    answers: list[list[str]] = []
    for is_hidden in (True, False):
        home = fill(Home(tmp_path / str(is_hidden)))
        ccgrep = ["-m", "ccgrep"]
        run(home, *ccgrep, "index", is_hidden=is_hidden)
        file = home.claude(2)
        file.turn("a second zebra", "seen")
        file.write()
        home.rest()  # A file that was just written is read again, which makes another commit.
        run(home, *ccgrep, "zebra", is_hidden=is_hidden)
        # How many commits there were, and so the number of dangling objects, depends on the time.
        run(home, *ccgrep, "gc", is_hidden=is_hidden)
        commands = (["zebra"], ["-F", "zebra"], ["list"], ["fsck"], ["stats"], ["zebra"])
        answers.append([run(home, *ccgrep, *command, is_hidden=is_hidden) for command in commands])
    assert answers[0] == answers[1]
    assert answers[0][0].count("zebra") == 3


def test_every_sync_is_a_full_sync_where_that_exists(home: Home) -> None:
    fill(home)
    plain, full = map(int, run(home, "-c", COUNT_SYNCS).split())
    assert plain == full > 3


def test_sync_falls_back_where_full_sync_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(errno.ENOTSUP, "not supported")

    synced: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", portability.F_FULLFSYNC, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", synced.append)
    fsio.publish(str(tmp_path), str(tmp_path / "file"), b"content")
    assert len(synced) == 2  # The file and its directory.


def linux_only_names(module: Path) -> Iterator[str]:
    hidden = {
        f"{m.__name__}.{name}" for m, names in portability.LINUX_ONLY.items() for name in names
    }
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in hidden:
            yield ast.unparse(node)
        if isinstance(node, ast.Constant) and str(node.value).startswith(("/proc/", "/sys/")):
            yield "/proc"


def test_source_reads_proc_only_to_know_filesystem_and_start_of_a_process() -> None:
    """Without `/proc`, the lock takes every filesystem for a local one.

    Where a process cannot be limited to some cores, the worker pool uses all of them. The recall
    hook counts its time from the start of the process, elsewhere from when its code runs. `prune`
    keeps files that another process has open, where it can see them.
    """
    source = Path(SOURCE) / "ccgrep"
    used = {
        str(path.relative_to(source)): {*linux_only_names(path)} for path in source.rglob("*.py")
    }
    assert {name: names for name, names in used.items() if names} == {
        "cli/recall_hook.py": {"/proc"},
        "ops/prune.py": {"/proc"},
        "store/lock.py": {"/proc"},
        "worker_pool.py": {"os.sched_getaffinity"},
    }
