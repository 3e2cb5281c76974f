"""Runs further agents against stub model servers: `python -m tests.clients.agents [NAME…]`.

Each one takes the address of its model from a variable and needs no account. They run without a
terminal, one prompt after the other, and `compare` checks what ccgrep reads, as for Claude Code and
Codex. Qwen Code needs Node 22, which npm installs beside it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.agent_table import AGENTS, SCENARIOS, Agent
from tests.clients.ccgrep import Ccgrep
from tests.clients.compare import compare
from tests.clients.script import Outcome, replace_paths
from tests.clients.stub import StubServer
from tests.clients.world import FILES

SCRATCH = Path(__file__).parents[2] / "build" / "clients"
_TIMEOUT_S = 300


def main(names: list[str]) -> int:
    scratch = Path(os.environ.get("CCGREP_CLIENTS", SCRATCH)).absolute()
    differences = 0
    for name in names or list(AGENTS):
        bin = _install(scratch, AGENTS[name])
        for line in _run(scratch, name, bin):
            print(f"{name}: {line}", flush=True)
            differences += 1
    print(f"{differences} differences")
    return 1 if differences else 0


def _install(scratch: Path, agent: Agent) -> Path:
    """Install the tested release and Node 22, once. Return the directory of the programs."""
    prefix = scratch / "agents" / agent.program
    bin = prefix / "node_modules" / ".bin"
    if not (bin / agent.program).exists():
        options = ("--silent", "--no-audit", "--no-fund", "--force", "--prefix", str(prefix))
        package = f"{agent.package}@{agent.version}"
        subprocess.run(["npm", "install", *options, "node@22", package], check=True)
    return bin


def _run(scratch: Path, name: str, bin: Path) -> list[str]:
    """Ask each prompt of the scenario, and return the differences to what ccgrep reads."""
    agent, server = AGENTS[name], StubServer(AGENTS[name].handler)
    directory = scratch / "runs" / name
    shutil.rmtree(directory, ignore_errors=True)
    home, project = directory / "home", directory / "home" / "shop"
    project.mkdir(parents=True)
    for file, text in FILES.items():
        (project / file).write_text(text)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    scenario = replace_paths(SCENARIOS[name], {"$PROJECT": str(project)})
    stage = server.open_stage(scenario)
    url = server.url(scenario)
    if agent.settings[0]:
        path = home / agent.settings[0]
        path.parent.mkdir(parents=True)
        path.write_text(agent.settings[1].replace("{url}", url))
    environment = {
        "HOME": str(home),
        "PATH": f"{bin}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        **{key: value.replace("{url}", url) for key, value in agent.variables.items()},
    }
    problems = []
    for number, asked in enumerate(scenario.sessions[0].turns):
        done = subprocess.run(
            [agent.program, *(agent.next if number else agent.first), asked.phrase],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        if done.returncode:
            problems.append(f"{asked.prompt}: {(done.stdout + done.stderr)[-1000:]}")
    server.close()
    ccgrep = Ccgrep(directory)
    ccgrep.run("index", "--quiet")
    unknown = ccgrep.ask("status")["unknown_types"]
    if not agent.asks_by_itself:
        problems += stage.problems
    outcome = Outcome(scenario, {}, tuple(stage.served), tuple(problems))
    return [*compare(outcome, ccgrep.ask), *(f"unknown record type {kind}" for kind in unknown)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
