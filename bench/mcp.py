"""How soon does the MCP server answer: against the SDK alone, and how does its memory grow?

python bench/mcp.py [HOME]         a home with .claude and .codex; made when not given
python bench/mcp.py --bytes 1e8    a smaller one

The server is started and asked to search, the SDK alone is started with one tool and asked for
`tools/list`; they take turns, and a figure is the median.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measure
from bench.generate import generate
from bench.text import TERMS

_BUDGET = 3.0
_CALLS = 1000
_SDK = """
from mcp.server import MCPServer
server = MCPServer("alone")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""


class Server:
    """A server as a process, spoken to line by line: a client would take longer than it does."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0

    def __enter__(self) -> Self:
        client = {"name": "bench", "version": "0"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        self._send(request)
        assert self._process.stdout is not None
        while True:
            reply: dict[str, Any] = json.loads(self._process.stdout.readline())
            if reply.get("id") == self._number:
                return dict(reply["result"])

    def search(self, words: str) -> dict[str, Any]:
        arguments = {"query": words}
        result = self.ask("tools/call", name="search_conversations", arguments=arguments)
        assert not result.get("isError"), result
        made: dict[str, Any] = json.loads(result["content"][0]["text"])
        return made

    @property
    def memory(self) -> measure.Memory:
        return measure.memory(self._process.pid)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ccgrep-bench-") as scratch:
        home = arguments.home
        if home is None:
            home = Path(scratch) / "home"
            print(generate(home, int(arguments.bytes), max(int(arguments.bytes / 200_000), 10)))
        report(home, Path(scratch) / "store", arguments.runs)


def report(home: Path, store: Path, runs: int) -> None:
    environment = {**os.environ, "HOME": str(home), "CCGREP_DIR": str(store)}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    ccgrep = [sys.executable, "-m", "ccgrep"]
    measure.run([*ccgrep, "index", "-q", "--no-embed"], environment)
    words = " ".join(TERMS[:2])
    alone: list[float] = []
    answered: list[float] = []
    for _ in range(runs + 1):  # The first is for warmth.
        begun = time.monotonic()
        with Server([sys.executable, "-c", _SDK], environment) as server:
            server.ask("tools/list")
            alone.append(time.monotonic() - begun)
        begun = time.monotonic()
        with Server([*ccgrep, "mcp"], environment) as server:
            found = server.search(words)
            answered.append(time.monotonic() - begun)
    sdk, first = statistics.median(alone[1:]), statistics.median(answered[1:])
    ratio = first / sdk
    verdict = "ok" if ratio <= _BUDGET else "OVER"
    print(f"  the SDK alone, tools/list       {sdk * 1e3:8.0f} ms")
    print(
        f"  ccgrep mcp, first search        {first * 1e3:8.0f} ms"
        f"{ratio:8.2f} of at most {_BUDGET:g}  {verdict}   ({len(found['results'])} hits)"
    )
    with Server([*ccgrep, "mcp"], environment) as server:
        _report_many(server)


def _report_many(server: Server) -> None:
    """Searches again and again, by other words each time."""
    early, begun = measure.Memory(0, 0), 0.0
    for number in range(_CALLS):
        if number == _CALLS // 5:
            early, begun = server.memory, time.monotonic()
        server.search(f"{TERMS[number % len(TERMS)]} {TERMS[number // 7 % len(TERMS)]}")
    each = (time.monotonic() - begun) / (_CALLS - _CALLS // 5)
    late = server.memory
    print(f"  a search when it is running     {each * 1e3:8.1f} ms")
    print(f"  memory after {_CALLS // 5} calls: {early}, after {_CALLS}: {late}")


if __name__ == "__main__":
    main()
