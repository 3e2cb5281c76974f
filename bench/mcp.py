"""Measures the start of the MCP server against `python -c pass`, and growth of its memory.

python bench/mcp.py [HOME]         a home with .claude and .codex (default: a generated one)
python bench/mcp.py --bytes 1e8    a smaller generated home

Figures are CPU times from the start of the process to the reply, because a busy machine does not
change them much. The cases take turns, and figures are medians. Needs Linux.
"""

import argparse
import json
import os
import resource
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
from bench.budget import Ratio, milliseconds, print_row
from bench.generate import generate
from bench.text import TERMS

_CALLS = 3000
_MAX_RESIDENT_MB = 40


class Server:
    """A server process. It is spoken to line by line, because a client takes longer than it."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0

    def __enter__(self) -> Self:
        client = {"name": "bench", "version": "0"}
        self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
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
        result = self.call("tools/call", name="search_conversations", arguments=arguments)
        assert not result.get("isError"), result
        reply: dict[str, Any] = json.loads(result["content"][0]["text"])
        return reply

    @property
    def cpu_s(self) -> float:
        """The CPU time of all threads so far."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    @property
    def memory(self) -> measure.Memory:
        return measure.tree_memory(self._process.pid)

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

    def start_python() -> float:
        before = _children_cpu_s()
        subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
        return _children_cpu_s() - before

    def list_tools() -> float:
        with Server([*ccgrep, "mcp"], environment) as server:
            server.call("tools/list")
            return server.cpu_s

    def search() -> float:
        with Server([*ccgrep, "mcp"], environment) as server:
            assert server.search(words)["results"]
            return server.cpu_s

    cases = {"python": start_python, "list": list_tools, "search": search}
    times = measure.run_interleaved(cases, runs)
    python, listed, first = (statistics.median(seconds) for seconds in times.values())
    print_row("python -c pass", milliseconds(python))
    print_row(
        "initialize and tools/list", milliseconds(listed), Ratio(listed / python, 5, "python")
    )
    print_row("the same and a search", milliseconds(first), Ratio(first / python, 8, "python"))
    with Server([*ccgrep, "mcp"], environment) as server:
        _report_memory(server)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _report_memory(server: Server) -> None:
    """Report the time and memory of many searches, each with other words."""
    server.search(TERMS[0])
    resident = server.memory.resident / 1e6
    limit = f"{_MAX_RESIDENT_MB} MB"
    ratio = Ratio(resident / _MAX_RESIDENT_MB, 1, limit)
    print_row("resident memory, one search", f"{resident:.0f} MB", ratio)
    early, started = measure.Memory(0, 0), 0.0
    for number in range(_CALLS):
        if number == _CALLS // 5:
            early, started = server.memory, time.monotonic()
        server.search(f"{TERMS[number % len(TERMS)]} {TERMS[number // 7 % len(TERMS)]}")
    mean = (time.monotonic() - started) / (_CALLS - _CALLS // 5)
    print_row("a search in a running server", milliseconds(mean))
    print_row(f"anonymous memory, {_CALLS // 5} calls", str(early))
    print_row(f"anonymous memory, {_CALLS} calls", str(server.memory))


if __name__ == "__main__":
    main()
