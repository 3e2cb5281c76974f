"""Installs both clients from npm into the scratch folder, once, and finds their programs."""

import subprocess
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex")


class Clients(NamedTuple):
    """The installed clients: the directory of their programs, and their versions."""

    bin: Path
    claude: str
    codex: str


def install(scratch: Path, is_update: bool = False) -> Clients:
    """Install what is missing, or the latest release of everything."""
    bin = scratch / "npm" / "node_modules" / ".bin"
    if is_update or not all((bin / name).exists() for name in ("claude", "codex")):
        latest = [f"{package}@latest" for package in PACKAGES]
        options = ("--silent", "--no-audit", "--no-fund", "--prefix", str(scratch / "npm"))
        subprocess.run(["npm", "install", *options, *latest], check=True)
    return Clients(bin, _version(bin / "claude"), _version(bin / "codex"))


def _version(program: Path) -> str:
    """Return the version among words such as `codex-cli 0.169.0`."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return next(word for word in done.stdout.split() if word[0].isdigit())
