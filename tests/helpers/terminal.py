"""Commands on a pseudo-terminal, and shells in a real terminal under tmux."""

import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.homes import Home

WAIT_S = 120.0
"""A limit that only a hang exceeds, even on a busy machine."""
COLOR = re.compile(r"\x1b\[(?:0|1|2|1;31|1;36|3[0-7])m")
_MAIN = "import sys; from ccgrep.cli import main; {}; sys.exit(main(sys.argv[1:]))"


def wait_until(is_done: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_done():
        assert time.monotonic() < deadline, failure
        time.sleep(0.05)


def run_on_terminal(
    home: Home, *arguments: str, setup: str = "", **variables: str
) -> tuple[str, int]:
    """Run ccgrep on a terminal of 100 columns. Return its output and exit status.

    `setup` is Python code that runs first in the same process.
    """
    leader, follower = pty.openpty()
    program = ["-c", _MAIN.format(setup)] if setup else ["-m", "ccgrep"]
    child = subprocess.Popen(
        [sys.executable, *program, *arguments],
        env={
            **home.environment,
            "TERM": "xterm-256color",
            "COLUMNS": "100",
            "PAGER": "cat",  # a real pager would wait for a key
            **variables,
        },
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    output = b""
    try:
        while block := os.read(leader, 65536):
            output += block
    except OSError:
        pass  # Linux raises EIO when the child has closed the terminal.
    os.close(leader)
    return output.decode().replace("\r\n", "\n"), child.wait(timeout=WAIT_S)


def on_terminal(home: Home, *arguments: str, code: int | None = None, **variables: str) -> str:
    """Run ccgrep on a terminal, check its exit status, and return its output."""
    output, status = run_on_terminal(home, *arguments, **variables)
    assert status in ((0, 1) if code is None else (code,)), output
    return output


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def put_on_path(home: Home) -> None:
    """Put a script named ccgrep on the PATH of `environment`."""
    (home.directory / "bin").mkdir()
    script = home.directory / "bin" / "ccgrep"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ccgrep "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def environment(home: Home) -> dict[str, str]:
    path = f"{home.directory / 'bin'}:{os.environ['PATH']}"
    return {**home.environment, "PATH": path, "LC_ALL": "C.UTF-8"}


class Terminal:
    """A terminal of a fixed size that runs a shell, on a tmux server of its own."""

    def __init__(
        self,
        home: Home,
        directory: Path,
        shell: str = "bash --norc --noprofile",
        columns: int = 160,
    ) -> None:
        self._home = home
        self._directory = directory
        self._socket = f"ccgrep-test-{os.getpid()}-{time.monotonic_ns()}"
        size = ("-x", str(columns), "-y", "50")
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, shell)
        self.wait(lambda screen: screen.strip() != "")  # the prompt

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments],
            env={**environment(self._home), "TERM": "xterm-256color", "SHELL": "/bin/bash",
                 "TMUX_TMPDIR": str(self._directory)},
            cwd=self._home.directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, is_expected: Callable[[str], bool]) -> str:
        """Wait until the screen is as expected, and return it."""
        deadline = time.monotonic() + WAIT_S
        while not is_expected(screen := self.screen()):
            assert time.monotonic() < deadline, f"the screen does not change:\n{screen}"
            time.sleep(0.1)
        return screen

    def clear(self) -> None:
        """Clear the command line and the screen.

        Ctrl-C would do the first, but its signal can overtake the keys that follow.
        """
        for key in ("C-e", "C-u", "C-l"):
            self.press(key)
        self.wait(lambda screen: screen.strip() == "$")

    def buffer(self) -> str:
        """Return the text that was copied last."""
        return self._tmux("show-buffer")

    def close(self) -> None:
        self._tmux("kill-server")
