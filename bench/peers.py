"""What ccgrep is compared with, and how each is installed and run. A table, mostly.

Every tool gets a home of its own in which it sees the transcripts (`home.private`), and an
environment that has that home and little else: none can read or write that of whoever runs this.
What it keeps is what stands in that home afterwards.
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
"""How the id begins of the session that every tool has to find."""

Command = tuple[str, ...]


class Peer(NamedTuple):
    """A tool. In its commands `{word}` is what is searched for, `{home}` its home, `{claude}` and
    `{codex}` where the transcripts are; the first word is a program."""

    name: str
    source: str  # where it is from: `pip NAME`, `npm NAME`, `apt NAME`, or here
    answers: str  # what it prints
    search: Command
    build: Command = ()
    """Before the first search; without, the first search is the build."""
    refresh: Command = ()
    """Takes in what changed; without, a search does so or has nothing to."""
    is_stale: bool = False
    """A search answers from what was there at the last refresh."""
    start: Command = ()
    stop: Command = ()
    variables: Mapping[str, str] = {}
    proof: str = PLANTED
    """What is printed when the planted session was found by a word."""
    is_scan: bool = False
    """Keeps nothing: each search reads the transcripts."""


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


class Places(NamedTuple):
    """Where peers are installed."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "peers"

    @property
    def node(self) -> Path:
        return self.directory / "npm"

    @property
    def path(self) -> str:
        """Where programs are looked for; ours first, then theirs, then the system's."""
        own = [
            Path(sys.executable).parent,
            self.python / "bin",
            self.node / "node_modules" / ".bin",
        ]
        return os.pathsep.join([*map(str, own), os.environ.get("PATH", os.defpath)])


def install(places: Places, peers: Iterable[Peer] = PEERS) -> None:
    """Installs what is not there yet; what cannot be is passed over, and told by `version`."""
    wanted = [peer for peer in peers if version(places, peer) is None]
    if any(peer.source.startswith("pip ") for peer in wanted) and not places.python.exists():
        venv.create(places.python, with_pip=True)
    for peer in wanted:
        kind, _, name = peer.source.partition(" ")
        print(f"installing {name}", flush=True)
        subprocess.run(_installer(places, kind, name), capture_output=True, check=False)


def _installer(places: Places, kind: str, name: str) -> list[str]:
    if kind == "pip":
        return [str(places.python / "bin" / "pip"), "install", "--quiet", name]
    if kind == "npm" and shutil.which("npm"):
        return ["npm", "install", "--silent", "--no-fund", "--prefix", str(places.node), name]
    if kind == "apt" and os.geteuid() == 0 and shutil.which("apt-get"):
        return ["apt-get", "install", "-qq", "-y", name]
    return ["true"]


def version(places: Places, peer: Peer) -> str | None:
    """The version that is installed; nothing if it is not."""
    kind, _, name = peer.source.partition(" ")
    if kind == "here":
        return __version__ if peer.name == OURS else sqlite3.sqlite_version
    if kind == "pip":
        site = next(places.python.glob("lib/*/site-packages"), places.python)
        return packaged(site, name)
    if kind == "npm":
        package = places.node / "node_modules" / name / "package.json"
        return str(json.loads(package.read_bytes())["version"]) if package.exists() else None
    program = shutil.which(peer.search[0])
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return next(word for word in said.stdout.split() if word[0].isdigit())


def packaged(site: Path, name: str) -> str | None:
    """The version of a package in a directory that Python imports from."""
    found = site.glob(f"{name.replace('-', '_')}-*.dist-info")
    return next((one.name.removesuffix(".dist-info").rpartition("-")[2] for one in found), None)


def command(template: Command, home: Path, word: str = "") -> list[str]:
    """A command with everything filled in."""
    return [_filled(part, home, word) for part in template]


def environment(places: Places, peer: Peer, home: Path) -> dict[str, str]:
    """All that a tool gets to know of the world."""
    return {
        "PATH": places.path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": str(home),
        "NO_COLOR": "1",
        **{name: _filled(value, home) for name, value in peer.variables.items()},
    }


def _filled(text: str, home: Path, word: str = "") -> str:
    claude, codex = (str(home / root) for root in ROOTS)
    return text.format(word=word, home=home, claude=claude, codex=codex)
