"""Many commands side by side on one store, while transcripts grow."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

from tests.helpers.homes import Home
from tests.helpers.transcripts import ClaudeFile

PATIENT = """
from ccgrep.store.lock import WriterLock
init = WriterLock.__init__
WriterLock.__init__ = lambda self, path, wait, *_: init(self, path, 600 if wait >= 1 else wait)
"""
"""Commands that wait for the writer lock get it in the end, however busy the machine is."""
MAIN = "import sys; from ccgrep.cli import main; sys.exit(main(sys.argv[1:]))\n"
NO_FLOCK = "import fcntl; fcntl.flock = lambda *_: None\n"

SEARCHES = (
    ["-F", "prompt", "--json", "-n", "0", "--timeout", "0"],
    ["prompt", "--json", "-n", "0", "--no-refresh"],
    ["-E", "prom[p]t", "--json", "-n", "0", "--timeout", "0"],
    ["prompt", "--json", "-n", "0"],
)


def write_prompts(home: Home) -> list[ClaudeFile]:
    """Write six sessions whose turns all contain the word that `SEARCHES` look for."""
    files = []
    for seed in range(6):
        file = home.claude(seed + 1)
        for number in range(3):
            file.turn(f"prompt {seed} {number}", "answer " * 200)
        file.write()
        files.append(file)
    return files


class Reply(NamedTuple):
    """What a command printed; `caller` is its position in the list of commands."""

    caller: int
    command: list[str]
    code: int
    out: str
    err: str


def run_crowd(
    home: Home, files: list[ClaudeFile], commands: list[list[str]], rounds: int, code: str
) -> Iterator[Reply]:
    """Run every command `rounds` times, all of them side by side.

    A transcript grows before each run. The replies of one caller come in their order.
    """
    turns = 0
    growing = Lock()

    def grow() -> None:
        nonlocal turns
        with growing:
            turns += 1
            file = files[turns % len(files)]
            file.turn(f"more {turns}", "prompt answered")
            file.append()

    def call(caller: int) -> list[Reply]:
        command, replies = commands[caller], []
        for _ in range(rounds):
            grow()
            done = subprocess.run(
                [sys.executable, "-c", code, *command],
                env=home.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            replies.append(Reply(caller, command, done.returncode, done.stdout, done.stderr))
        return replies

    with ThreadPoolExecutor(len(commands)) as pool:
        for replies in pool.map(call, range(len(commands))):
            yield from replies
