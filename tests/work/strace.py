"""Runs a command under strace and counts its system calls.

Only files of the store, files of the agents and imported modules count. A thread of tantivy checks
twice a second whether its index has changed: files that it opens count in main threads only.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.helpers.homes import SOURCE, Home

TRACED = (
    "openat,open,creat,read,pread64,write,pwrite64,writev,stat,lstat,newfstatat,statx,fsync,"
    "fdatasync,sync_file_range,msync,rename,renameat,renameat2,unlink,unlinkat,rmdir,"
    "clone,clone3,fork,vfork"
)
PROGRAM = "from ccgrep.cli import entry; entry()"
"""The installed script; `python -m` would also count runpy."""

_WATCHED = ("/meta.json", "/.managed.json", ".lock")
_LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<(.*)>)?")
_PATH = re.compile(r'"([^"]*)"')
_DESCRIPTOR = re.compile(r"\d+<([^>]*)>")
_MODULE = re.compile(
    r"(?:__pycache__/)?([^/]+?)(?:\.(?:cpython|abi3)[^/]*)?\.(?:pyc|py|so)(?:\.\d+)?$"
)


class Call(NamedTuple):
    """A system call that succeeded."""

    name: str
    arguments: str
    result: int
    path: str
    is_main: bool


class Traced(NamedTuple):
    counts: Counter[str]
    modules: frozenset[str]
    output: str


def why_not() -> str:
    """Return why strace does not work here; empty if it does."""
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "strace is not permitted"


def trace(home: Home, *arguments: str) -> Traced:
    """Trace `ccgrep` with these arguments."""
    return _trace(home, [sys.executable, "-P", "-c", PROGRAM, *arguments])


def python_modules(home: Home) -> frozenset[str]:
    """Return the modules that Python itself imports."""
    return _trace(home, [sys.executable, "-P", "-c", "pass"]).modules


def _trace(home: Home, command: list[str]) -> Traced:
    with tempfile.TemporaryDirectory() as directory:
        strace = ["strace", "-ff", "-y", "-s", "0", "--seccomp-bpf", "-o", f"{directory}/of"]
        done = subprocess.run(
            [*strace, "-e", f"trace={TRACED}", *command],
            env={**home.environment, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        files = {int(path.suffix[1:]): path.read_text() for path in Path(directory).iterdir()}
    calls = list(_calls(files))
    return Traced(_count(calls, home), frozenset(_modules(calls)), done.stdout)


def _calls(files: Mapping[int, str]) -> Iterator[Call]:
    found = {number: list(map(_LINE.match, text.splitlines())) for number, text in files.items()}
    started = {
        int(line[3])
        for lines in found.values()
        for line in lines
        if line and line[1] in ("clone", "clone3") and "CLONE_THREAD" in line[2]
    }
    for number, lines in found.items():
        for line in lines:
            if line and int(line[3]) >= 0:
                path = line[4] or _path(line[2])
                yield Call(line[1], line[2], int(line[3]), path, number not in started)


def _path(arguments: str) -> str:
    """Return the path in a call's arguments, or the path of its descriptor."""
    names = _PATH.findall(arguments)
    if names and names[-1]:
        return str(names[-1])
    descriptor = _DESCRIPTOR.match(arguments)
    return descriptor[1] if descriptor else ""


def _count(calls: list[Call], home: Home) -> Counter[str]:
    counts: Counter[str] = Counter()
    for call in calls:
        if call.name in ("clone", "clone3", "fork", "vfork"):
            counts["processes"] += "CLONE_THREAD" not in call.arguments
        elif call.path.startswith(f"{home.store_dir}/") or call.path == str(home.store_dir):
            _count_in_store(counts, call)
        elif call.path.startswith((f"{home.directory}/.claude", f"{home.directory}/.codex")):
            _count_in_home(counts, call)
    return counts


def _count_in_store(counts: Counter[str], call: Call) -> None:
    match call.name:
        case "openat" | "open" | "creat":
            if "O_EXCL" in call.arguments:
                counts["files created"] += 1
            elif call.is_main or not call.path.endswith(_WATCHED):
                is_folder = "O_DIRECTORY" in call.arguments
                counts["store directories opened" if is_folder else "store files opened"] += 1
        case "stat" | "lstat" | "newfstatat" | "statx":
            counts["store stat calls"] += _is_by_path(call)
        case "write" | "pwrite64" | "writev":
            counts["bytes written"] += call.result
        case "fsync" | "fdatasync" | "sync_file_range" | "msync":
            counts["syncs"] += 1
        case "rename" | "renameat" | "renameat2":
            counts["renames"] += 1
        case "unlink" | "unlinkat" | "rmdir":
            counts["deletions"] += 1


def _count_in_home(counts: Counter[str], call: Call) -> None:
    match call.name:
        case "openat" | "open":
            is_folder = "O_DIRECTORY" in call.arguments
            counts["source directories opened" if is_folder else "source files opened"] += 1
        case "stat" | "lstat" | "newfstatat" | "statx":
            counts["source stat calls"] += _is_by_path(call)
        case "read" | "pread64":
            counts["source bytes read"] += call.result
        case _:
            counts["source files changed"] += 1


def _is_by_path(call: Call) -> bool:
    """Return whether a stat is by path: one of an open file costs little, and Python makes many."""
    return "AT_EMPTY_PATH" not in call.arguments


def _modules(calls: list[Call]) -> Iterator[str]:
    """Yield modules by path, compiled or not."""
    for call in calls:
        if call.name in ("openat", "open") and (found := _MODULE.search(call.path)):
            yield call.path[: found.start()] + found[1]


def is_own(module: str) -> bool:
    return module.startswith(f"{SOURCE}/ccgrep/")
