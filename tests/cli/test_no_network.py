"""Nothing that ccgrep does opens a socket to anywhere: strace watches every system call for it."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import scale
from tests.helpers.homes import Home
from tests.helpers.terminal import Terminal, need

SOCKET = re.compile(r"\b(?:socket|socketpair)\((AF_\w+|0x[0-9a-f]+)")
CALLS = (
    "status", "needle", "-F needle", "-E ne+dle", "--no-index -F needle", "--json needle", "list",
    "--semantic needle", "list --tree", "--hybrid needle", "show {id}", "export --format html {id}",
    "export --format md {id}", "blame shop.py", "stats", "stats tools", "stats bash --suggest",
    "stats tokens", "resume {id}", "settings", "model", "completions bash", "completions zsh",
    "completions fish", "setup shell", "setup claude", "setup codex",
    "__complete session", "__complete ref @", "fsck", "gc", "index --full", "--help", "--version",
    "secrets", "forget {id}",
)  # fmt: skip
MCP = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_conversations",'
    '"arguments":{"query":"needle"}}}\n'
)


class Watched:
    """Runs commands under strace, and keeps the families of the sockets that they ask for."""

    def __init__(self, home: Home, log: Path) -> None:
        self._home = home
        self._log = log
        self.families: set[str] = set()

    def command(self, *arguments: str) -> list[str]:
        strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(self._log)]
        return [*strace, sys.executable, "-m", "ccgrep", *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(*arguments),
            env=self._home.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        self.look()
        return done

    def look(self) -> None:
        seen = self._log.read_text(encoding="utf-8", errors="replace")
        self.families |= set(SOCKET.findall(seen))
        assert "sin_port" not in seen and "sin6_port" not in seen


@pytest.fixture
def watched(home: Home, tmp_path: Path) -> Watched:
    need("strace")
    home.embed = "auto"
    file = home.claude(cwd=str(tmp_path))
    file.turn("where is the needle", "in the hay", "make test", "ok")
    file.result(file.call("Edit", {"file_path": "/shop.py", "new_string": "x"}), "done")
    file.write()
    made = Watched(home, tmp_path / "strace")
    if "ptrace" in made.run("--version").stderr.lower():
        pytest.skip("strace may not watch here")
    return made


def test_the_watch_sees_sockets(home: Home, watched: Watched, tmp_path: Path) -> None:
    log = tmp_path / "probe"
    code = "import socket; socket.socket(socket.AF_INET).close(); socket.socket(socket.AF_UNIX)"
    strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(log), sys.executable, "-c"]
    subprocess.run([*strace, code], check=True)
    assert set(SOCKET.findall(log.read_text(encoding="utf-8"))) == {"AF_INET", "AF_UNIX"}


def test_no_command_opens_a_socket_to_anywhere(
    home: Home,
    watched: Watched,
    tmp_path_factory: pytest.TempPathFactory,
    figure: Callable[[str], None],
) -> None:
    id = next(iter(home.projects.rglob("*.jsonl"))).stem
    assert watched.run("index").returncode == 0
    ask_server(home, watched)
    pick(home, watched, tmp_path_factory.mktemp("t"))
    chosen = [CALLS[number].replace("{id}", id) for number in scale.some(range(len(CALLS)), 12)]
    ends = {typed: watched.run(*typed.split()) for typed in chosen}
    failed = {typed: done.stderr for typed, done in ends.items() if done.returncode not in (0, 1)}
    assert failed == {}
    assert watched.families <= {"AF_UNIX"}
    figure(
        f"network: {len(chosen) + 3} commands under strace, sockets of "
        f"{', '.join(sorted(watched.families)) or 'no family'} alone"
    )


def ask_server(home: Home, watched: Watched) -> None:
    """Has the MCP server search once."""
    command, pipe = watched.command("mcp"), subprocess.PIPE
    with subprocess.Popen(command, env=home.environment, stdin=pipe, stdout=pipe) as server:
        assert server.stdin and server.stdout
        server.stdin.write(MCP.encode())
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        assert b"needle" in server.stdout.readline()
        server.stdin.close()
    watched.look()


def pick(home: Home, watched: Watched, directory: Path) -> None:
    """Searches in fzf on a terminal, and leaves it by Escape."""
    need("fzf", "tmux")
    terminal = Terminal(home, directory, "env PS1='$ ' bash --norc --noprofile")
    terminal.type(f"clear; {shlex.join(watched.command('pick', 'needle'))}; echo left")
    terminal.press("Enter")
    terminal.wait(lambda screen: "where is the needle" in screen and "assistant:" in screen)
    terminal.press("Escape")
    terminal.wait(lambda screen: screen.rstrip().endswith("left\n$"))
    terminal.close()
    watched.look()
