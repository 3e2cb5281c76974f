"""A client in a terminal of fixed size, under a tmux server of its own."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 90.0
"""A limit that only a hang exceeds, even on a busy machine."""
_POLL_S = 0.1
_ECHO_CHARS = 8
"""A client may wrap or decorate typed text, but hardly its last characters."""


class Stuck(Exception):
    """An expected text never appeared."""


def wait_for(is_done: Callable[[], bool], describe: Callable[[], str]) -> None:
    """Wait until a condition holds. Describe the missing text only if it never does."""
    deadline = time.monotonic() + WAIT_S
    while not is_done():
        if time.monotonic() > deadline:
            raise Stuck(describe())
        time.sleep(_POLL_S)


class Terminal:
    """A running program, its screen and its keyboard."""

    def __init__(self, command: list[str], directory: Path, environment: dict[str, str]) -> None:
        self._socket = str(directory.parent.parent / "tmux")
        self._environment = environment
        self._directory = directory
        self.last_screen = ""
        size = ("-x", "150", "-y", "50")
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "--", *command)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments],
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Stuck(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def screen(self) -> str:
        self.last_screen = self._tmux("capture-pane", "-p", "-J")
        return self.last_screen

    def type(self, text: str) -> None:
        """Type a text, and wait until its end is on the screen."""
        self._tmux("send-keys", "-l", "--", text)
        self.wait(text[-_ECHO_CHARS:])

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def wait(self, text: str, is_gone: bool = False) -> None:
        """Wait until the screen shows a text, or no longer shows it."""
        verb = "always" if is_gone else "never"
        wait_for(
            lambda: (text in self.screen()) is not is_gone,
            lambda: f"the screen {verb} shows {text!r}",
        )

    def wait_for_exit(self) -> None:
        wait_for(self._is_gone, lambda: "the client does not exit")

    def _is_gone(self) -> bool:
        try:
            self.screen()
        except Stuck:
            return True
        return False

    def kill(self) -> None:
        """End the program, if it still runs."""
        command = ["tmux", "-S", self._socket, "kill-server"]
        subprocess.run(command, capture_output=True, check=False)
