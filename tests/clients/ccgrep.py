"""Runs the real ccgrep command on the home of a scenario."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src"


class Ccgrep:
    """The command with a new store, and nothing of this machine's settings."""

    def __init__(self, directory: Path) -> None:
        self._environment = {
            "HOME": str(directory / "home"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "CCGREP_DIR": str(directory / "store"),
            "CLAUDE_CODE_TMPDIR": str(directory / "home" / "tmp"),
            "CCGREP_EMBED": "never",
            "TZ": "UTC",
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ccgrep", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"ccgrep {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def ask(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))
