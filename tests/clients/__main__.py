"""Runs scenarios with the real clients and compares: `python -m tests.clients [NAME…]`."""

import argparse
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.clients import (
    claude_scenarios,
    claude_session_scenarios,
    claude_terminal_scenarios,
    codex_code_mode_scenarios,
    codex_scenarios,
    codex_terminal_scenarios,
    mcp_start,
)
from tests.clients.anthropic_stub import AnthropicHandler
from tests.clients.ccgrep import Ccgrep
from tests.clients.compare import compare
from tests.clients.drive import Driver
from tests.clients.install import Clients, install
from tests.clients.openai_stub import OpenAIHandler
from tests.clients.rebuilt import Rebuilder
from tests.clients.script import Client, Outcome, Scenario
from tests.clients.stub import StubServer
from tests.clients.terminal import Stuck
from tests.clients.world import World

SCENARIOS = (
    *claude_scenarios.SCENARIOS,
    *claude_session_scenarios.SCENARIOS,
    *claude_terminal_scenarios.SCENARIOS,
    *codex_scenarios.SCENARIOS,
    *codex_code_mode_scenarios.SCENARIOS,
    *codex_terminal_scenarios.SCENARIOS,
)
SCRATCH = Path(__file__).parents[2] / "build" / "clients"
AT_A_TIME = 2


class Result(NamedTuple):
    """What came of a scenario."""

    name: str
    differences: list[str]
    unknown_types: dict[str, int]


class Runner:
    """Runs scenarios, each in a directory of its own."""

    def __init__(self, scratch: Path, clients: Clients) -> None:
        self._runs = scratch / "runs"
        self._clients = clients
        self._servers: dict[Client, StubServer] = {
            "claude": StubServer(AnthropicHandler),
            "codex": StubServer(OpenAIHandler),
        }
        self.rebuilder = Rebuilder(self._runs, clients, self._servers)

    def run(self, scenario: Scenario) -> Result:
        """Run a scenario and compare."""
        return self._attempt(scenario, self._play)

    def run_again(self, scenario: Scenario) -> Result:
        """Compare the last outcome of a scenario with what ccgrep reads now."""
        return self._attempt(scenario, lambda _: None)

    def run_rebuilt(self, scenario: Scenario) -> Result:
        """Rebuild the sessions of the last run from their turns, resume and hand them over."""
        try:
            return Result(scenario.name, list(self.rebuilder.check(scenario)), {})
        except Exception:
            return Result(scenario.name, [traceback.format_exc().strip()], {})

    def _attempt(self, scenario: Scenario, play: Callable[[Scenario], None]) -> Result:
        """Whatever goes wrong is a difference."""
        try:
            play(scenario)
            return self._compare(scenario)
        except Stuck as problem:
            return Result(scenario.name, [str(problem)], {})
        except Exception:
            return Result(scenario.name, [traceback.format_exc().strip()], {})

    def _play(self, scenario: Scenario) -> None:
        server = self._servers[scenario.client]
        directory = self._runs / scenario.name
        world = World(directory, self._clients, scenario, server.url(scenario))
        stage = server.open_stage(world.scenario)
        driver = Driver(world)
        driver.play()
        outcome = Outcome(world.scenario, driver.ids, tuple(stage.served), tuple(stage.problems))
        (directory / "outcome.json").write_bytes(msgspec.json.encode(outcome))

    def _compare(self, scenario: Scenario) -> Result:
        directory = self._runs / scenario.name
        outcome = msgspec.json.decode((directory / "outcome.json").read_bytes(), type=Outcome)
        shutil.rmtree(directory / "store", ignore_errors=True)
        ccgrep = Ccgrep(directory)
        ccgrep.run("index", "--quiet")
        unknown = ccgrep.ask("status")["unknown_types"]
        return Result(scenario.name, compare(outcome, ccgrep.ask), unknown)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/clients", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios, by default all")
    parser.add_argument("--update", action="store_true", help="install the latest releases first")
    parser.add_argument("--again", action="store_true", help="only compare the last run again")
    parser.add_argument(
        "--rebuilt",
        action="store_true",
        help="restore and rebuild the sessions of the last run, resume and hand them over",
    )
    parser.add_argument(
        "--mcp",
        type=int,
        nargs="?",
        const=10,
        metavar="RUNS",
        help="only measure what the MCP server costs each client",
    )
    parser.add_argument("--scratch", type=Path, help="where clients and homes are kept")
    arguments = parser.parse_args()
    scratch = arguments.scratch or Path(os.environ.get("CCGREP_CLIENTS", SCRATCH))
    chosen = [one for one in SCENARIOS if not arguments.names or one.name in arguments.names]
    if missing := set(arguments.names) - {one.name for one in chosen}:
        parser.error(f"no scenario is named {', '.join(sorted(missing))}")
    clients = install(scratch.absolute(), arguments.update)
    if arguments.mcp:
        return mcp_start.measure(scratch.absolute(), clients, arguments.mcp)
    runner = Runner(scratch.absolute(), clients)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        if arguments.rebuilt:
            status = _report(pool.map(runner.run_rebuilt, chosen), clients)
            counts = runner.rebuilder
            for client in ("claude", "codex"):
                print(
                    f"{client}: {counts.restored[client]} restored and resumed, "
                    f"{counts.resumed[client]} rebuilt and resumed, "
                    f"{counts.handed_over[client]} handed over to it"
                )
            return status
        results = pool.map(runner.run_again if arguments.again else runner.run, chosen)
        return _report(results, clients)


def _report(results: Iterable[Result], clients: Clients) -> int:
    """Print each difference as soon as it is known, then the summary. Return the exit status."""
    scenarios = differences = unknown = 0
    for result in results:
        for line in result.differences:
            print(f"{result.name}: {line}", flush=True)
        for name, count in result.unknown_types.items():
            print(f"{result.name}: unknown record type {name} ({count})")
        scenarios += 1
        differences += len(result.differences)
        unknown += len(result.unknown_types)
    versions = f"Claude Code {clients.claude}, Codex {clients.codex}"
    counts = f"{differences} differences, {unknown} unknown record types"
    print(f"{scenarios} scenarios, {counts}, {versions}")
    return 1 if differences or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
