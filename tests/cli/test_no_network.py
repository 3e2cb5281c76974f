"""ccgrep opens no network socket. strace records the system calls of every command."""

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
    "secrets", "log", "log --day", "brief", "mark {id} kept", "unmark {id}", "stats cost",
    "stats --html {directory}/stats.html", "sources", "show {id} --commits",
    "prune --older-than 1d --dry-run", "export --site {directory}/site", "forget {id}",
)  # fmt: skip
MCP = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_conversations",'
    '"arguments":{"query":"needle"}}}\n'
)


class Tracer:
    """Runs commands under strace and collects the families of the sockets that they open."""

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
        self.read_log()
        return done

    def read_log(self) -> None:
        log = self._log.read_text(encoding="utf-8", errors="replace")
        self.families |= set(SOCKET.findall(log))
        assert "sin_port" not in log and "sin6_port" not in log


@pytest.fixture
def tracer(home: Home, tmp_path: Path) -> Tracer:
    need("strace")
    home.embed = "auto"
    file = home.claude(cwd=str(tmp_path))
    file.turn("where is the needle", "in the hay", "make test", "ok")
    file.result(file.call("Edit", {"file_path": "/shop.py", "new_string": "x"}), "done")
    file.write()
    tracer = Tracer(home, tmp_path / "strace")
    if "ptrace" in tracer.run("--version").stderr.lower():
        pytest.skip("ptrace is not permitted")
    return tracer


def test_strace_sees_sockets(home: Home, tracer: Tracer, tmp_path: Path) -> None:
    log = tmp_path / "probe"
    code = "import socket; socket.socket(socket.AF_INET).close(); socket.socket(socket.AF_UNIX)"
    strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(log), sys.executable, "-c"]
    subprocess.run([*strace, code], check=True)
    assert set(SOCKET.findall(log.read_text(encoding="utf-8"))) == {"AF_INET", "AF_UNIX"}


def test_no_command_opens_a_network_socket(
    home: Home,
    tracer: Tracer,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    figure: Callable[[str], None],
) -> None:
    (tmp_path / "made").mkdir()
    id = next(iter(home.projects.rglob("*.jsonl"))).stem
    assert tracer.run("index").returncode == 0
    ask_server(home, tracer)
    pick(home, tracer, tmp_path_factory.mktemp("t"))
    numbers = scale.some(range(len(CALLS)), 8)
    chosen = [CALLS[number].format(id=id, directory=tmp_path / "made") for number in numbers]
    ends = {typed: tracer.run(*typed.split()) for typed in chosen}
    failed = {typed: done.stderr for typed, done in ends.items() if done.returncode not in (0, 1)}
    assert failed == {}
    assert tracer.families <= {"AF_UNIX"}
    figure(
        f"network: {len(chosen) + 3} commands under strace, sockets of "
        f"{', '.join(sorted(tracer.families)) or 'no family'} alone"
    )


def ask_server(home: Home, tracer: Tracer) -> None:
    """Let the MCP server run one search."""
    command, pipe = tracer.command("mcp"), subprocess.PIPE
    with subprocess.Popen(command, env=home.environment, stdin=pipe, stdout=pipe) as server:
        assert server.stdin and server.stdout
        server.stdin.write(MCP.encode())
        server.stdin.flush()
        assert b'"id":1' in server.stdout.readline()
        assert b"needle" in server.stdout.readline()
        server.stdin.close()
    tracer.read_log()


def pick(home: Home, tracer: Tracer, directory: Path) -> None:
    """Search in fzf on a terminal and leave it with Escape."""
    need("fzf", "tmux")
    terminal = Terminal(home, directory, "env PS1='$ ' bash --norc --noprofile")
    terminal.type(f"clear; {shlex.join(tracer.command('pick', 'needle'))}; echo left")
    terminal.press("Enter")
    terminal.wait(lambda screen: "where is the needle" in screen and "assistant:" in screen)
    terminal.press("Escape")
    terminal.wait(lambda screen: screen.rstrip().endswith("left\n$"))
    terminal.close()
    tracer.read_log()
