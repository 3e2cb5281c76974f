"""Measures what `ccgrep mcp` costs the real clients, and checks that they offer its tools.

Each client runs alternately with and without the server, in two homes of its own. The first request
to the model must offer the server: the four tools by Claude Code, their namespace by Codex, which
defers the tools of every server until the model searches for them. One more run calls a tool: the
model must get its reply, and Codex must have found the four tools.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from ccgrep.mcp.arguments import TOOLS
from tests.clients.anthropic_stub import AnthropicHandler
from tests.clients.install import Clients
from tests.clients.openai_stub import OpenAIHandler
from tests.clients.script import Call, Client, Scenario, Session, turn
from tests.clients.stub import Stage, StubServer
from tests.clients.terminal import WAIT_S
from tests.clients.world import World

SOURCE = Path(__file__).parents[2] / "src"
LIMIT_S = 0.3
HELLO = "Say hello to the numbat"
SEARCH = "Search for the numbat"
_COMMANDS: dict[Client, list[str]] = {
    "claude": ["claude", "-p", "--dangerously-skip-permissions", "--"],
    "codex": ["codex", "exec", "--"],
}
_CALLS: dict[Client, tuple[Call, ...]] = {
    "claude": (Call("mcp__ccgrep__search_conversations", {"query": "numbat"}),),
    "codex": (
        Call("tool_search", {"query": "search list read past conversations turn", "limit": 4}),
        Call("search_conversations", {"query": "numbat"}, namespace="mcp__ccgrep"),
    ),
}
_OFFERED = {"claude": [f"mcp__ccgrep__{name}" for name in TOOLS], "codex": ["mcp__ccgrep"]}


class Place(NamedTuple):
    """A home of a client, with or without the server, and the stub that answers there."""

    world: World
    server: StubServer
    scenario: Scenario

    def run(self, prompt: str) -> tuple[float, list[Any]]:
        """Run the client once; return the time it took and its requests to the model."""
        stage = self.server.open_stage(self.scenario)
        started = time.monotonic()
        subprocess.run(
            [*_COMMANDS[self.world.client], prompt],
            cwd=self.world.project,
            env=self.world.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=2 * WAIT_S,
        )
        seconds = time.monotonic() - started
        assert not stage.problems, stage.problems
        return seconds, _asking(stage)


def _asking(stage: Stage) -> list[Any]:
    """Return the requests with tools; one without asks for a title."""
    return [body for body in stage.requests if body.get("tools")]


def measure(scratch: Path, clients: Clients, runs: int) -> int:
    """Print one line per client; return the exit status."""
    stubs: dict[Client, StubServer] = {
        "claude": StubServer(AnthropicHandler),
        "codex": StubServer(OpenAIHandler),
    }
    failures = 0
    for client, stub in stubs.items():
        without, with_server = (
            _open(scratch, clients, client, stub, has_server) for has_server in (False, True)
        )
        times: dict[bool, list[float]] = {False: [], True: []}
        offered = 0
        for _ in range(runs):
            times[False].append(without.run(HELLO)[0])
            seconds, requests = with_server.run(HELLO)
            times[True].append(seconds)
            offered += _has_all(requests[0], _OFFERED[client])
        *_, last = with_server.run(SEARCH)[1]
        is_answered = _has_all(last, [*TOOLS, '\\"results\\"'])
        bare, served = statistics.median(times[False]), statistics.median(times[True])
        is_met = served - bare <= LIMIT_S and offered == runs and is_answered
        print(
            f"{client}: median of {runs} runs {bare:.2f} s without the server, {served:.2f} s with "
            f"it, {served - bare:+.2f} s; offered in the first request of {offered} of {runs}; "
            f"the model {'got' if is_answered else 'did not get'} the four tools and a reply: "
            f"{'ok' if is_met else 'FAILED'} (limit +{LIMIT_S} s)",
            flush=True,
        )
        failures += not is_met
    print(f"Claude Code {clients.claude}, Codex {clients.codex}")
    return 1 if failures else 0


def _has_all(body: Any, texts: list[str]) -> bool:
    whole = json.dumps(body)
    return all(text in whole for text in texts)


def _open(
    scratch: Path, clients: Clients, client: Client, stub: StubServer, has_server: bool
) -> Place:
    name = f"{client}-start-{'with' if has_server else 'without'}"
    asked = turn(SEARCH, *((call,) for call in _CALLS[client]), "it is in the zoo")
    scenario = Scenario(name, client, (Session("main", (turn(HELLO, "hello"), asked)),))
    world = World(scratch / "runs" / name, clients, scenario, stub.url(scenario))
    if has_server:
        _register(world)
    return Place(world, stub, scenario)


def _register(world: World) -> None:
    variables = {
        "PYTHONPATH": str(SOURCE),
        "CCGREP_DIR": str(world.home / "store"),
    }
    arguments = ["-m", "ccgrep", "mcp"]
    if world.client == "claude":
        path = world.home / ".claude.json"
        server = {"command": sys.executable, "args": arguments, "env": variables}
        state = {**json.loads(path.read_text()), "mcpServers": {"ccgrep": server}}
        path.write_text(json.dumps(state))
        return
    path = world.home / ".codex" / "config.toml"
    pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
    with path.open("a") as file:
        file.write(f"\n[mcp_servers.ccgrep]\ncommand = {json.dumps(sys.executable)}\n")
        file.write(f"args = {json.dumps(arguments)}\nenv = {{ {pairs} }}\n")
