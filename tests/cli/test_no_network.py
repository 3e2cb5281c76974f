"""No command opens a network connection: every system call that could is traced."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ccgrep.cli.flags import COMMANDS
from tests import scale
from tests.homes import Home
from tests.terminal import need

TYPED: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (
        ("zebra",),
        ("-F", "zebra", "--json"),
        ("--no-index", "zebra"),
        ("--semantic", "zoo"),
    ),
    "pick": (("pick", "zebra"),),
    "index": (("index",), ("index", "--full"), ("index", "--recreate"), ("index", "--embed-all")),
    "status": (("status", "-v"),),
    "list": (("list",), ("list", "--tree")),
    "show": (("show", "{id}", "--tools"), ("show", "{id}", "--save")),
    "export": (("export", "{id}", "-f", "html"), ("export", "{id}")),
    "blame": (("blame", "notes.md"),),
    "stats": (("stats",), ("stats", "bash", "--suggest"), ("stats", "tokens")),
    "resume": (("resume", "{id}"),),
    "mcp": (("mcp",),),
    "model": (("model",),),
    "settings": (("settings",),),
    "setup": (("setup", "claude", "--dry-run"), ("setup", "shell")),
    "completions": (("completions", "bash"), ("__complete", "ref", "")),
    "fsck": (("fsck",), ("fsck", "--repair")),
    "gc": (("gc",),),
    "secrets": (("secrets",),),
    "forget": (("forget", "{id}"),),
}
_FAMILY = re.compile(r"\b(?:socket|socketpair|connect|bind|sendto)\(.*?\b(AF_\w+)")


def families(trace: Path) -> list[str]:
    """The kinds of addresses that were used, but for those of this machine alone."""
    found = _FAMILY.findall(trace.read_text(encoding="utf-8", errors="replace"))
    return [name for name in found if name not in ("AF_UNIX", "AF_UNSPEC")]


def traced(home: Home, trace: Path, *command: str) -> int:
    strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(trace)]
    done = subprocess.run(
        [*strace, *command],
        env=home.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode


def test_no_command_opens_a_connection(home: Home, figure: Callable[[str], None]) -> None:
    need("strace")
    trace = home.directory / "trace"
    home.embed = "auto"
    file = home.claude()
    file.turn("where is the zebra", "in the zoo")
    file.write()
    probe = "import socket; socket.socket().close()"
    if traced(home, trace, sys.executable, "-c", probe):
        pytest.skip("strace may not trace here")
    assert families(trace) == ["AF_INET"]
    assert set(TYPED) == set(COMMANDS)
    runs = [words for some in TYPED.values() for words in some[: scale.of(1, 9)]]
    opened = {}
    home.index()
    for words in runs:
        typed = [word.format(id=file.id) for word in words]
        code = traced(home, trace, sys.executable, "-m", "ccgrep", *typed)
        assert code in (0, 1, 2), words
        opened[words] = families(trace)
    assert {words: found for words, found in opened.items() if found} == {}
    figure(f"network: {len(runs)} runs of {len(TYPED)} commands traced, 0 sockets but AF_UNIX")
