"""Counts the instructions of commands, which other load on the machine does not change.

    python bench/instructions.py [--times 3] [--accept] [--baseline TREE]

valgrind counts a command and all its children, in a home that is always the same. The counts in
`bench/instructions.json` belong to one Python, tantivy and kind of machine. If a command takes 2 %
more, it is named and the exit status is 1. `--accept` overwrites the counts. `--baseline` compares
with the source tree of another version instead. This shows which functions take the instructions:

    valgrind --tool=callgrind python -P -c 'from ccgrep.cli import entry; entry()' two words
    callgrind_annotate --inclusive=yes callgrind.out.*
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.budget import Ratio, print_row
from bench.generate import generate
from bench.home import GrowingSession

FIGURES = Path(__file__).with_suffix(".json")
PASS = "python -c pass"
_SOURCE = Path(__file__).parents[1] / "src"
_PROGRAM = "from ccgrep.cli import entry; entry()"
_WORDS = ("query", "test")
COMMANDS = {
    "ccgrep --version": ("--version",),
    "ccgrep --no-refresh": ("--no-refresh", *_WORDS),
    "ccgrep": _WORDS,
    "ccgrep -F": ("-F", "--timeout=0", _WORDS[1]),
    "ccgrep __complete": ("__complete", "session", ""),
    "ccgrep list": ("list",),
}
APPENDED = "ccgrep, one turn appended"
CHEAP = ("ccgrep --version", "ccgrep --no-refresh")
"""The commands that the test suite counts."""

_BYTES, _FILES = 2_000_000, 40
_PATH_CHARS = 100
_MAX_GROWTH = 1.02
_MAX_BASELINE_RATIO = 1.15
_COUNT = re.compile(r"I +refs: +([\d,]+)")
# A forked child starts with the count of its parent, unless it is reset there.
_VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--zero-before=PyOS_AfterFork_Child", "--trace-children=yes")  # fmt: skip


class Home:
    """A home that is always the same, indexed, with nothing new in it."""

    def __init__(self, directory: Path, source: Path) -> None:
        self._source = source
        # The path always has the same length, since it is hashed, compared and copied.
        self._home = directory / "home".ljust(_PATH_CHARS - len(str(directory)), "-")
        generate(self._home, _BYTES, _FILES, processes=1)
        self._session = GrowingSession(self._home, " ".join(_WORDS))
        self._session.__enter__()
        hour_ago = time.time() - 3600
        for path in self._home.rglob("*"):
            os.utime(path, (hour_ago, hour_ago))
        self._run("index", "-q")
        for command in COMMANDS.values():
            self._run(*command)  # compiles all modules

    def count(self, name: str) -> int:
        if name == PASS:
            return self._count("pass")
        if name != APPENDED:
            return self._count(_PROGRAM, *COMMANDS[name])
        self._session.append_turn()
        self._session.settle()
        self._run(*_WORDS)  # compiles the modules that ingest
        self._session.append_turn()
        self._session.settle()
        return self._count(_PROGRAM, *_WORDS)

    def _count(self, program: str, *arguments: str) -> int:
        with tempfile.TemporaryDirectory() as logs:
            valgrind = [*_VALGRIND, f"--log-file={logs}/%p"]
            self._call([*valgrind, sys.executable, "-P", "-c", program, *arguments])
            log = "".join(path.read_text() for path in Path(logs).iterdir())
        return sum(int(count.replace(",", "")) for count in _COUNT.findall(log))

    def _run(self, *arguments: str) -> None:
        self._call([sys.executable, "-P", "-c", _PROGRAM, *arguments])

    def _call(self, command: Sequence[str]) -> None:
        environment = {
            "HOME": str(self._home),
            "CCGREP_DIR": str(self._home / "store"),
            "CCGREP_EMBED": "never",
            "PATH": os.environ["PATH"],
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(self._source),
            "TZ": "UTC",
        }
        subprocess.run(command, env=environment, capture_output=True, check=True)


def count_instructions(names: Sequence[str], source: Path = _SOURCE) -> dict[str, int]:
    """Count the instructions of commands in a new home, with the modules of a source tree."""
    with tempfile.TemporaryDirectory(prefix="ccgrep-") as directory:
        home = Home(Path(directory), source)
        return {name: home.count(name) for name in names}


def why_impossible() -> str:
    """Return why this machine cannot count instructions, or "" if it can."""
    return "" if shutil.which("valgrind") else "valgrind is not installed"


def platform_key() -> str:
    """Return the key of counts in the file: what they depend on besides ccgrep."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"Python {python}, tantivy {version('tantivy')}, {platform.machine()}"


def read_accepted() -> dict[str, int]:
    """Return the accepted counts for this Python and machine; empty if there are none."""
    figures: dict[str, int] = json.loads(FIGURES.read_text()).get(platform_key(), {})
    return figures


def accept(figures: dict[str, int]) -> None:
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    FIGURES.write_text(json.dumps({**known, platform_key(): figures}, indent=1) + "\n")


def describe_growth(old: dict[str, int], new: dict[str, int], limit: float) -> Iterator[str]:
    """Yield a line for each command that takes more than `limit` times what it took.

    Counts are compared relative to starting Python.
    """
    for name, count in new.items():
        if name in old and name != PASS:
            before, after = old[name] / old[PASS], count / new[PASS]
            if after > limit * before:
                yield f"{name} grew from {before:.3f} to {after:.3f} times {PASS}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=1, help="repeat to see the spread (default 1)")
    parser.add_argument("--accept", action="store_true", help="overwrite the accepted counts")
    parser.add_argument("--baseline", type=Path, help="compare with this source tree")
    arguments = parser.parse_args()
    if reason := why_impossible():
        parser.error(reason)
    names = [PASS, *COMMANDS, APPENDED]
    runs = [count_instructions(names) for _ in range(arguments.times)]
    least = {name: min(run[name] for run in runs) for name in names}
    print(f"{platform_key()}, instructions in millions")
    for name, count in least.items():
        spread = max(run[name] for run in runs) / count - 1
        print(f"{name:28} {count / 1e6:8.2f}  {count / least[PASS]:6.3f} x  ± {spread:.2%}")
    if arguments.accept:
        accept(least)
        return 0
    old, limit = read_accepted(), _MAX_GROWTH
    if arguments.baseline:
        old = count_instructions(names, arguments.baseline / "src")
        limit = _MAX_BASELINE_RATIO
        for name in names:
            ratio = Ratio(least[name] / old[name], limit, "baseline")
            print_row(name, f"{old[name] / 1e6:.2f} in the baseline", ratio)
    lines = list(describe_growth(old, least, limit))
    print("\n".join(lines) or f"nothing grew by more than {limit - 1:.0%}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
