"""How many instructions does a command take? Counts that the noise of a machine cannot hide.

    python bench/instructions.py [--times 3] [--accept]

Counted by valgrind, in a command and all its children, in a home that is always the same. The
figures of `bench/instructions.json` are those of one Python, tantivy and kind of machine; what
takes 2 % more is named, and then the exit code is 1. `--accept` writes them anew. Where they go:

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

from bench.generate import generate
from bench.home import Growing

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
"""What is counted on every change."""

_BYTES, _FILES = 2_000_000, 40
_PATH_CHARS = 100
_MOST = 1.02
_COUNT = re.compile(r"I +refs: +([\d,]+)")
# A child that was forked begins with the count of its parent, unless it is set to zero there.
_VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             "--zero-before=PyOS_AfterFork_Child", "--trace-children=yes")  # fmt: skip


class Home:
    """A home that is always the same, indexed, with nothing new in it."""

    def __init__(self, directory: Path) -> None:
        # Its path has always the same length: it is hashed, compared and copied.
        self._home = directory / "home".ljust(_PATH_CHARS - len(str(directory)), "-")
        generate(self._home, _BYTES, _FILES, processes=1)
        self._growing = Growing(self._home, " ".join(_WORDS))
        self._growing.__enter__()
        hour_ago = time.time() - 3600
        for path in self._home.rglob("*"):
            os.utime(path, (hour_ago, hour_ago))
        self._run("index", "-q")
        for command in COMMANDS.values():
            self._run(*command)  # so that everything is compile_pattern

    def instructions(self, name: str) -> int:
        if name == PASS:
            return self._counted("pass")
        if name != APPENDED:
            return self._counted(_PROGRAM, *COMMANDS[name])
        self._growing.grow()
        self._growing.settle()
        self._run(*_WORDS)  # so that what takes it in is compile_pattern, too
        self._growing.grow()
        self._growing.settle()
        return self._counted(_PROGRAM, *_WORDS)

    def _counted(self, program: str, *arguments: str) -> int:
        with tempfile.TemporaryDirectory() as logs:
            valgrind = [*_VALGRIND, f"--log-file={logs}/%p"]
            self._call([*valgrind, sys.executable, "-P", "-c", program, *arguments])
            said = "".join(path.read_text() for path in Path(logs).iterdir())
        return sum(int(count.replace(",", "")) for count in _COUNT.findall(said))

    def _run(self, *arguments: str) -> None:
        self._call([sys.executable, "-P", "-c", _PROGRAM, *arguments])

    def _call(self, command: Sequence[str]) -> None:
        environment = {
            "HOME": str(self._home),
            "CCGREP_DIR": str(self._home / "store"),
            "CCGREP_EMBED": "never",
            "PATH": os.environ["PATH"],
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(_SOURCE),
            "TZ": "UTC",
        }
        subprocess.run(command, env=environment, capture_output=True, check=True)


def counted(names: Sequence[str]) -> dict[str, int]:
    """The instructions of commands, in a new home."""
    with tempfile.TemporaryDirectory(prefix="ccgrep-") as directory:
        home = Home(Path(directory))
        return {name: home.instructions(name) for name in names}


def why_not() -> str:
    """Why nothing can be counted here; empty if it can."""
    return "" if shutil.which("valgrind") else "valgrind is not installed"


def key() -> str:
    """What figures depend on besides ccgrep."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"Python {python}, tantivy {version('tantivy')}, {platform.machine()}"


def accepted() -> dict[str, int]:
    """The figures for this Python and machine; none when there are none yet."""
    found: dict[str, int] = json.loads(FIGURES.read_text()).get(key(), {})
    return found


def accept(figures: dict[str, int]) -> None:
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    FIGURES.write_text(json.dumps({**known, key(): figures}, indent=1) + "\n")


def grown(was: dict[str, int], now: dict[str, int], most: float) -> Iterator[str]:
    """A line for each command that takes more than `most` times what it took, by the ratio to
    starting Python."""
    for name, count in now.items():
        if name in was and name != PASS:
            old, new = was[name] / was[PASS], count / now[PASS]
            if new > most * old:
                yield f"{name} grew from {old:.3f} to {new:.3f} times {PASS}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=1, help="to see the spread (default 1)")
    parser.add_argument("--accept", action="store_true", help="write the figures anew")
    arguments = parser.parse_args()
    if reason := why_not():
        parser.error(reason)
    runs = [counted([PASS, *COMMANDS, APPENDED]) for _ in range(arguments.times)]
    least = {name: min(run[name] for run in runs) for name in runs[0]}
    print(f"{key()}, instructions in millions")
    for name, count in least.items():
        spread = max(run[name] for run in runs) / count - 1
        print(f"{name:28} {count / 1e6:8.2f}  {count / least[PASS]:6.3f} x  ± {spread:.2%}")
    if arguments.accept:
        accept(least)
        return 0
    lines = list(grown(accepted(), least, _MOST))
    print("\n".join(lines) or f"nothing grew by more than {_MOST - 1:.0%}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
