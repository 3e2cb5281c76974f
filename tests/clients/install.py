"""Installs both clients from npm into the scratch folder, once, and finds their programs."""

import subprocess
from pathlib import Path
from typing import NamedTuple

TESTED = {"@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.169.0"}
"""The releases whose behaviour the scenarios expect."""


class Clients(NamedTuple):
    """The installed clients: the directory of their programs, and their versions."""

    bin: Path
    claude: str
    codex: str


def install(scratch: Path, is_update: bool = False) -> Clients:
    """Install the tested releases if a client is missing, or the latest ones."""
    bin = scratch / "npm" / "node_modules" / ".bin"
    if is_update or not all((bin / name).exists() for name in ("claude", "codex")):
        chosen = [f"{name}@{'latest' if is_update else tested}" for name, tested in TESTED.items()]
        options = ("--silent", "--no-audit", "--no-fund", "--prefix", str(scratch / "npm"))
        subprocess.run(["npm", "install", *options, *chosen], check=True)
    return Clients(bin, _version(bin / "claude"), _version(bin / "codex"))


def _version(program: Path) -> str:
    """Return the version among words such as `codex-cli 0.169.0`."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return next(word for word in done.stdout.split() if word[0].isdigit())
