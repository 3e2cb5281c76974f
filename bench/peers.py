"""The tools that ccgrep is compared with, and how each is installed and run.

Each tool gets a home of its own that shows the transcripts (`home.make_private_home`) and an
environment with that home and little else, so it cannot touch the home of the user. Its index is
whatever it leaves in its home.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import ccgrep
from bench.home import ROOTS
from bench.results import OURS
from ccgrep import __version__

ROOT = Path(__file__).parents[1]
PLANTED = "bec4bec4"
"""The prefix of the id of the session that every tool must find."""

Command = tuple[str, ...]


class Peer(NamedTuple):
    """A tool and its commands.

    `{word}` is the word to search for, `{home}` its home, and `{claude}` and `{codex}` the
    directories of transcripts.
    """

    name: str
    source: str  # `pip NAME`, `npm NAME`, `apt NAME`, or here
    answers: str  # a description of what it prints
    search: Command
    build: Command = ()
    """Without it, the first search is the build."""
    refresh: Command = ()
    """Without it, a search ingests changes or needs no index."""
    is_stale: bool = False
    """Whether a search answers from the state of the last refresh."""
    start: Command = ()
    stop: Command = ()
    variables: Mapping[str, str] = {}
    proof: str = PLANTED
    """What it prints if it finds the planted session by a word."""
    is_scan: bool = False
    """Whether it has no index and reads the transcripts in each search."""


_PYTHON = {"PYTHONPATH": str(Path(ccgrep.__file__).parents[1])}
_FTS5 = (sys.executable, str(ROOT / "bench" / "fts5.py"))
_AGENTSVIEW = {
    "AGENTSVIEW_TELEMETRY_ENABLED": "0",
    "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
    "CLAUDE_PROJECTS_DIR": "{claude}",
    "CODEX_SESSIONS_DIR": "{codex}",
}

PEERS = (
    Peer(
        OURS,
        "here",
        "turns, ranked",
        search=("ccgrep", "{word}"),
        build=("ccgrep", "index", "-q"),
        refresh=("ccgrep", "index", "-q"),
        variables={**_PYTHON, "CCGREP_EMBED": "never"},
    ),
    Peer(
        "ripgrep",
        "apt ripgrep",
        "files",
        search=("rg", "-uuu", "-l", "-e", "{word}", "{claude}/", "{codex}/"),
        is_scan=True,
    ),
    Peer(
        "grep",
        "apt grep",
        "files",
        search=("grep", "-r", "-l", "-F", "-e", "{word}", "{claude}/", "{codex}/"),
        variables={"LC_ALL": "C"},
        is_scan=True,
    ),
    Peer(
        "SQLite FTS5",
        "here sqlite",
        "turns, ranked",
        search=(*_FTS5, "search", "{home}/turns.db", "{word}"),
        build=(*_FTS5, "index", "{home}/turns.db", "{claude}", "{codex}"),
        refresh=(*_FTS5, "index", "{home}/turns.db", "{claude}", "{codex}"),
        is_stale=True,
        variables=_PYTHON,
    ),
    Peer(
        "fast-resume",
        "pip fast-resume",
        "sessions, ranked",
        search=("fr", "--list", "{word}"),
        build=("fr", "--rebuild", "--list", "--limit", "1"),
        refresh=("fr", "--list", "--limit", "1"),
    ),
    Peer(
        "agentsview",
        "pip agentsview",
        "messages; from a server that has to run",
        search=("agentsview", "session", "search", "--fts", "--include-one-shot", "{word}"),
        build=("env", "AGENTSVIEW_NO_DAEMON=1", "agentsview", "sync"),
        refresh=("agentsview", "sync"),
        is_stale=True,
        start=("agentsview", "daemon", "start"),
        stop=("agentsview", "daemon", "stop"),
        variables=_AGENTSVIEW,
    ),
    Peer(
        "cc-conversation-search",
        "pip cc-conversation-search",
        "messages, ranked",
        search=("cc-conversation-search", "search", "--limit", "10", "{word}"),
        build=("cc-conversation-search", "init", "--days", "36500", "--quiet"),
        refresh=("cc-conversation-search", "index", "--quiet"),
    ),
    Peer(
        "agent-chat-reader",
        "pip agent-chat-reader",
        "sessions, with what matched",
        search=("agent-chat-reader", "--find", "{word}"),
    ),
    Peer(
        "ccsearch",
        "pip ccsearch",
        "sessions, by number of matches",
        search=("ccsearch", "{word}"),
    ),
    Peer(
        "session-search",
        "pip session-search",
        "sessions, ranked; never none",
        search=("ss", "{word}"),
        proof='"{word}"',
    ),
    Peer(
        "claude-history",
        "pip claude-history",
        "messages",
        search=("claude-history", "search", "{word}"),
        is_scan=True,
    ),
    Peer(
        "claude-search",
        "npm claude-search",
        "messages",
        search=("claude-search", "{word}"),
        is_scan=True,
    ),
)


class InstallDir(NamedTuple):
    """The directory into which peers are installed."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "peers"

    @property
    def node(self) -> Path:
        return self.directory / "npm"

    @property
    def path(self) -> str:
        """The search path for programs: ours, then those of the peers, then the system's."""
        own = [
            Path(sys.executable).parent,
            self.python / "bin",
            self.node / "node_modules" / ".bin",
        ]
        return os.pathsep.join([*map(str, own), os.environ.get("PATH", os.defpath)])


def install(install_dir: InstallDir, peers: Iterable[Peer] = PEERS) -> None:
    """Install missing peers. `version` returns None for those that cannot be installed."""
    missing = [peer for peer in peers if version(install_dir, peer) is None]
    if any(peer.source.startswith("pip ") for peer in missing) and not install_dir.python.exists():
        venv.create(install_dir.python, with_pip=True)
    for peer in missing:
        kind, _, name = peer.source.partition(" ")
        print(f"installing {name}", flush=True)
        subprocess.run(_install_command(install_dir, kind, name), capture_output=True, check=False)


def _install_command(install_dir: InstallDir, kind: str, name: str) -> list[str]:
    if kind == "pip":
        return [str(install_dir.python / "bin" / "pip"), "install", "--quiet", name]
    if kind == "npm" and shutil.which("npm"):
        return ["npm", "install", "--silent", "--no-fund", "--prefix", str(install_dir.node), name]
    if kind == "apt" and os.geteuid() == 0 and shutil.which("apt-get"):
        return ["apt-get", "install", "-qq", "-y", name]
    return ["true"]


def version(install_dir: InstallDir, peer: Peer) -> str | None:
    """Return the installed version of a peer, or None if it is not installed."""
    kind, _, name = peer.source.partition(" ")
    if kind == "here":
        return __version__ if peer.name == OURS else sqlite3.sqlite_version
    if kind == "pip":
        site = next(install_dir.python.glob("lib/*/site-packages"), install_dir.python)
        return package_version(site, name)
    if kind == "npm":
        package = install_dir.node / "node_modules" / name / "package.json"
        return str(json.loads(package.read_bytes())["version"]) if package.exists() else None
    program = shutil.which(peer.search[0])
    if program is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return next(word for word in done.stdout.split() if word[0].isdigit())


def package_version(site: Path, name: str) -> str | None:
    """Return the version of a package in a site-packages directory, or None if it has none."""
    names = [path.stem for path in site.glob(f"{name.replace('-', '_')}-*.dist-info")]
    return names[0].rpartition("-")[2] if names else None


def fill_command(template: Command, home: Path, word: str = "") -> list[str]:
    """Fill in the placeholders of a command."""
    return [_fill(part, home, word) for part in template]


def make_environment(install_dir: InstallDir, peer: Peer, home: Path) -> dict[str, str]:
    """Return all environment variables of a tool."""
    return {
        "PATH": install_dir.path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": str(home),
        "NO_COLOR": "1",
        **{name: _fill(value, home) for name, value in peer.variables.items()},
    }


def _fill(text: str, home: Path, word: str = "") -> str:
    claude, codex = (str(home / root) for root in ROOTS)
    return text.format(word=word, home=home, claude=claude, codex=codex)
