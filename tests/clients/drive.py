"""Plays the steps of a scenario with the real client."""

import json
import re
import subprocess
import uuid

from tests.clients.script import (
    AnyStep,
    Find,
    Open,
    Press,
    Quit,
    Run,
    Scenario,
    See,
    Stream,
    Type,
    Write,
)
from tests.clients.stream import run_stream
from tests.clients.terminal import WAIT_S, Stuck, Terminal
from tests.clients.world import World

_READY = {"claude": "❯", "codex": "· ~/shop"}
"""What the screen shows as soon as the client accepts a prompt."""
_CODEX_ID = re.compile(r"session id: (\S+)")


class Driver:
    """Runs the client of one scenario, and remembers the ids of its sessions."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._terminal: Terminal | None = None
        self._asked: dict[str, int] = {}
        self.ids: dict[str, str] = {}

    def play(self) -> None:
        try:
            for step in (*_steps(self._world.scenario), Quit()):
                self._play(step)
        except Stuck as problem:
            screen = self._terminal.last_screen if self._terminal else ""
            raise Stuck(f"{problem}\n{screen}".strip()) from None
        finally:
            if self._terminal:
                self._terminal.kill()

    def _play(self, step: AnyStep) -> None:
        match step:
            case Run():
                self._run(step)
            case Stream():
                self.ids[step.session] = self._new_id(step.session)
                run_stream(self._world, step, self.ids[step.session])
            case Open():
                self._open(step)
            case Type(text):
                self._screen.type(text)
                self._screen.press("Enter")
            case Press(key):
                self._screen.press(key)
            case See(text, is_gone):
                self._screen.wait(text, is_gone)
            case Find():
                self._world.find(step)
            case Write():
                self._world.write(step)
            case Quit() if self._terminal:
                self._screen.type("/exit")
                self._screen.press("Enter")
                self._screen.wait_for_exit()
                self._terminal = None

    @property
    def _screen(self) -> Terminal:
        if self._terminal is None:
            raise Stuck("no terminal is open")
        return self._terminal

    # Without a terminal.

    def _run(self, step: Run) -> None:
        prompt = step.prompt or self._next_prompt(step.session)
        is_claude = self._world.client == "claude"
        command = self._claude(step) if is_claude else self._codex(step)
        done = subprocess.run(
            [*command, *(() if step.stdin else ("--", prompt))],
            cwd=self._world.project,
            env=self._world.environment,
            input=step.stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * WAIT_S,
        )
        id = _claude_id(done.stdout) if is_claude else _codex_id(done.stdout + done.stderr)
        self.ids.setdefault(step.session, id)
        if not id or (done.returncode and not step.may_fail):
            raise Stuck(f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}")

    def _next_prompt(self, session: str) -> str:
        sessions = {one.name: one for one in self._world.scenario.sessions}
        position = self._asked.get(session, 0)
        self._asked[session] = position + 1
        return sessions[session].turns[position].prompt

    def _claude(self, step: Run) -> list[str]:
        command = ["claude", "-p", "--output-format", "json", "--dangerously-skip-permissions"]
        if step.fork:
            command += ["--resume", self.ids[step.fork], "--fork-session"]
        elif step.is_latest:
            command.append("--continue")
        elif step.session in self.ids:
            command += ["--resume", self.ids[step.session]]
        else:
            command += ["--session-id", self._new_id(step.session)]
        return [*command, *step.arguments]

    def _codex(self, step: Run) -> list[str]:
        command = ["codex", "exec", *step.arguments]
        for image in step.images:
            command += ["--image", image]
        if step.fork:
            command += ["fork", self.ids[step.fork]]
        elif step.is_latest:
            command += ["resume", "--last"]
        elif step.session in self.ids:
            command += ["resume", self.ids[step.session]]
        return [*command, *(["-"] if step.stdin else [])]

    def _new_id(self, session: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self._world.scenario.name}.{session}"))

    # In a terminal.

    def _open(self, step: Open) -> None:
        client = self._world.client
        if client == "claude":
            command = ["claude", *step.arguments]
            if step.session in self.ids:
                command += ["--resume", self.ids[step.session]]
            else:
                self.ids[step.session] = self._new_id(step.session)
                command += ["--session-id", self.ids[step.session]]
        else:
            command = ["codex", *step.arguments]
        world = self._world
        self._terminal = Terminal(command, world.project, world.terminal_environment)
        self._terminal.wait(_READY[client])


def _steps(scenario: Scenario) -> tuple[AnyStep, ...]:
    """Return the steps. By default, the first session is asked each of its prompts in turn."""
    return scenario.steps or tuple(Run() for _ in scenario.sessions[0].turns)


def _claude_id(output: str) -> str:
    lines = output.strip().splitlines()
    try:
        return str(json.loads(lines[-1])["session_id"])
    except (IndexError, ValueError, KeyError):
        return ""


def _codex_id(output: str) -> str:
    found = _CODEX_ID.search(output)
    return found.group(1) if found else ""
