"""Real terminals: a shell under tmux on a server of its own, and the PATH that it has."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.homes import Home

WAIT_S = 30.0


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def put_on_path(home: Home) -> None:
    """Makes `ccgrep` a command of the shells that run in `environment`."""
    (home.directory / "bin").mkdir()
    script = home.directory / "bin" / "ccgrep"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ccgrep "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def environment(home: Home) -> dict[str, str]:
    path = f"{home.directory / 'bin'}:{os.environ['PATH']}"
    return {**home.environment, "PATH": path, "LC_ALL": "C.UTF-8"}


class Terminal:
    """A terminal of a fixed size with a shell in it, on a tmux server of its own."""

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

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments],
            env={**environment(self._home), "TERM": "xterm-256color", "SHELL": "/bin/bash",
                 "TMUX_TMPDIR": str(self._directory)},
            cwd=self._home.directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait(self, is_there: Callable[[str], bool]) -> str:
        """The screen as soon as it is as wanted."""
        deadline = time.monotonic() + WAIT_S
        while not is_there(screen := self.screen()):
            assert time.monotonic() < deadline, f"the screen stays:\n{screen}"
            time.sleep(0.1)
        return screen

    def clear(self) -> None:
        """An empty command line at the top."""
        self.press("C-c")
        self.wait(lambda screen: screen.rstrip().endswith("$"))
        self.press("C-l")
        self.wait(lambda screen: screen.strip() == "$")

    def buffer(self) -> str:
        """What was copied last."""
        return self._tmux("show-buffer")

    def close(self) -> None:
        self._tmux("kill-server")
