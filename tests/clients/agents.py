"""Runs further agents against stub model servers: `python -m tests.clients.agents [NAME…]`.

Each one takes the address of its model from a variable and needs no account. They run without a
terminal, one prompt after the other, and `compare` checks what ccgrep reads, as for Claude Code and
Codex. Qwen Code needs Node 22, which npm installs beside it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.clients.anthropic_stub import AnthropicHandler
from tests.clients.ccgrep import Ccgrep
from tests.clients.chat_stub import ChatHandler
from tests.clients.compare import compare
from tests.clients.gemini_stub import GeminiHandler
from tests.clients.script import (
    Call,
    Outcome,
    Say,
    Scenario,
    Session,
    Think,
    Turn,
    replace_paths,
    turn,
)
from tests.clients.stub import StubHandler, StubServer
from tests.clients.world import API_KEY, FILES

SCRATCH = Path(__file__).parents[2] / "build" / "clients"
_TIMEOUT_S = 300
_EMUS = "python3 -c \"print('emu line\\n' * 9000)\""


class Agent(NamedTuple):
    """A client: its package, its model server and how to ask it.

    `first` and `next` are the arguments of the first prompt and of the others.
    """

    package: str
    version: str
    program: str
    handler: type[StubHandler]
    variables: dict[str, str]
    first: tuple[str, ...]
    next: tuple[str, ...]
    settings: tuple[str, str] = ("", "")  # a file in the home, and its content
    asks_by_itself: bool = False  # for titles and memories, which no scenario scripts


AGENTS = {
    "copilot": Agent(
        "@github/copilot",
        "1.0.102",
        "copilot",
        AnthropicHandler,
        {
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": "{url}",
            "COPILOT_PROVIDER_API_KEY": API_KEY,
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
        ("--allow-all-tools", "--allow-all-paths", "-p"),
        ("--allow-all-tools", "--allow-all-paths", "--continue", "-p"),
    ),
    "gemini": Agent(
        "@google/gemini-cli",
        "0.61.0",
        "gemini",
        GeminiHandler,
        {
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": API_KEY,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        ("--yolo", "-m", "gemini-2.5-pro", "-p"),
        ("--yolo", "-m", "gemini-2.5-pro", "--resume", "latest", "-p"),
        (
            ".gemini/settings.json",
            json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": False},
                }
            ),
        ),
    ),
    "qwen": Agent(
        "@qwen-code/qwen-code",
        "0.24.4",
        "qwen",
        ChatHandler,
        {
            "OPENAI_BASE_URL": "{url}/v1",
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_MODEL": "qwen3-coder-plus",
        },
        ("--yolo", "--auth-type", "openai", "-p"),
        ("--yolo", "--auth-type", "openai", "--continue", "-p"),
        asks_by_itself=True,
    ),
}


def _scenario(name: str, shell: str, *turns: Turn, agents: tuple[Session, ...] = ()) -> Scenario:
    """Return a scenario with turns that every agent has, and some of its own."""
    command = {"command": "echo numbat; exit 3", "description": "fail"}
    fields = {**command, "is_background": False} if name == "qwen" else command
    shared = (
        turn("hello quokka", (Think("**Marsupials**\nA quokka says hello."), Say("Hello there."))),
        turn(
            "run what fails",
            (Say("It may fail."), Call(shell, fields, "numbat", is_error=True)),
            "It failed.",
        ),
    )
    return Scenario(name, "claude", (Session("main", (*shared, *turns)), *agents))


_MISSING = {"path": "$PROJECT/none.txt"}
SCENARIOS = {
    "copilot": _scenario(
        "copilot",
        "bash",
        turn(
            "change a file",
            (
                Call("view", _MISSING, "Path does not exist", is_error=True),
                Call("create", {"path": "$PROJECT/a.py", "file_text": "x = 1\n"}, "Created file"),
            ),
            (
                Call(
                    "edit",
                    {"path": "$PROJECT/a.py", "old_str": "x = 1", "new_str": "x = 2"},
                    "updated",
                ),
            ),
            "Changed.",
        ),
        turn(
            "ask an explorer",
            (
                Call(
                    "task",
                    {
                        "agent_type": "explore",
                        "name": "digger",
                        "description": "Find the wombat",
                        "prompt": "where is the wombat",
                    },
                    "in its burrow",
                    is_whole=True,
                ),
            ),
            "The explorer found it.",
        ),
        agents=(
            Session(
                "explorer",
                (
                    turn(
                        "where is the wombat",
                        (
                            Say("Digging."),
                            Call("bash", {"command": "ls", "description": "list"}, "notes.md"),
                        ),
                        "in its burrow",
                    ),
                ),
                kind="subagent",
                parent="main",
                title="Find the wombat",
                agent="explore",
            ),
        ),
    ),
    "gemini": _scenario(
        "gemini",
        "run_shell_command",
        turn(
            "change a file",
            (
                Call("read_file", {"file_path": "none.txt"}, "File not found", is_error=True),
                Call("write_file", {"file_path": "a.py", "content": "x = 1\n"}, "Successfully"),
            ),
            (
                Call(
                    "replace",
                    {
                        "file_path": "a.py",
                        "old_string": "x = 1",
                        "new_string": "x = 2",
                        "instruction": "change x",
                    },
                    "Successfully modified",
                ),
            ),
            "Changed.",
        ),
        turn(
            "print a lot",
            (
                Call(
                    "run_shell_command",
                    {"command": _EMUS, "description": "print"},
                    "emu line\n" * 8000,
                ),
            ),
            "A lot.",
        ),
    ),
    "qwen": _scenario(
        "qwen",
        "run_shell_command",
        turn(
            "change a file",
            (
                Call("read_file", {"file_path": "/none/none.txt"}, "not found", is_error=True),
                Call("write_file", {"file_path": "$PROJECT/a.py", "content": "x = 1\n"}, "Success"),
            ),
            "Changed.",
        ),
        turn(
            "print a lot",
            (
                Call(
                    "run_shell_command",
                    {"command": _EMUS, "description": "print", "is_background": False},
                    "emu line\n" * 8000,
                ),
            ),
            "A lot.",
        ),
    ),
}


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
    if agent.settings[0]:
        path = home / agent.settings[0]
        path.parent.mkdir(parents=True)
        path.write_text(agent.settings[1])
    scenario = replace_paths(SCENARIOS[name], {"$PROJECT": str(project)})
    stage = server.open_stage(scenario)
    url = server.url(scenario)
    environment = {
        "HOME": str(home),
        "PATH": f"{bin}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        **{key: value.replace("{url}", url) for key, value in agent.variables.items()},
    }
    problems = []
    for number, asked in enumerate(scenario.sessions[0].turns):
        done = subprocess.run(
            [agent.program, *(agent.next if number else agent.first), asked.prompt],
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
