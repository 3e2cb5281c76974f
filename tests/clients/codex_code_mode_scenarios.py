"""Scenarios of Codex in code mode: one custom tool `exec`, whose input is JavaScript."""

import json
from typing import Any

from tests.clients.codex_scenarios import PATCH
from tests.clients.script import Call, Ran, Run, Scenario, Session, Turn, turn

_ADDED = {"path": "$PROJECT/fix.md", "type": "add", "content": "four\n"}
_FIRST = "echo one; touch first"
_SECOND = "until [ -e first ]; do sleep 0.1; done; sleep 1; echo two"
MODEL = ("-m", "gpt-6-sol")


def script(code: str, output: str = "", **fields: Any) -> Call:
    """Return a call of the only tool."""
    return Call("exec", code, output, **fields)


def command(text: str) -> str:
    """Return the JavaScript that runs a command."""
    return f"tools.exec_command({{cmd: {json.dumps(text)}}})"


def ran(text: str, output: str = "", is_error: bool = False) -> Ran:
    """Return the command that Codex ran for a script."""
    return Ran("exec_command", {"cmd": text}, output, is_error)


def single(name: str, *turns: Turn) -> Scenario:
    steps = tuple(Run(arguments=MODEL) for _ in turns)
    return Scenario(name, "codex", (Session("main", turns),), steps)


def _spawn(name: str, inherited: str) -> Scenario:
    """Return a scenario with a sub-agent, which inherits none or all turns of its parent."""
    task = "Helper: count the bettongs."
    input = {"task_name": "count_bettongs", "message": task, "fork_turns": inherited}
    spawn = Call("spawn_agent", input, "count_bettongs", namespace="collaboration")
    wait = Call("wait_agent", {"timeout_ms": 30000}, "Wait", namespace="collaboration")
    before = turn("hello before the helper", "Hello.")
    main = Session("main", (before, turn("spawn a helper", (spawn,), (wait,), "Eleven, it says.")))
    count = script(f"text((await {command('echo eleven')}).output);", "eleven")
    # The task is in a field named `encrypted_content`: real rollouts do not reveal it.
    own = turn("", (count, ran("echo eleven", "eleven")), "Eleven bettongs.", seen_as=task)
    helper = Session("helper", (own,), kind="subagent", parent="main", title="count_bettongs")
    return Scenario(name, "codex", (main, helper), (Run(arguments=MODEL), Run(arguments=MODEL)))


_ECHO = turn(
    "run the wombat test",
    (
        script(f"const r = await {command('echo wombat ran')};\ntext(r.output);", "wombat ran"),
        ran("echo wombat ran", "wombat ran"),
    ),
    "It ran.",
)

SCENARIOS = (
    single("codex-code-plain", turn("hello in code mode", "Hello.")),
    single("codex-code-command", _ECHO),
    single(
        "codex-code-failing",
        turn(
            "run what fails",
            (
                script(f"text((await {command('echo broken; exit 5')}).output);", "broken"),
                ran("echo broken; exit 5", "broken", is_error=True),
            ),
            "It failed.",
        ),
    ),
    single(
        "codex-code-broken-script",
        turn(
            "run a broken script",
            (script("throw new Error('the numbat fell');", "the numbat fell", is_error=True),),
            "The script threw.",
        ),
    ),
    single(
        "codex-code-parallel",
        turn(
            "run two commands at once",
            (
                script(
                    f"text(await Promise.all([{command(_FIRST)}, {command(_SECOND)}]));",
                    "two",
                ),
                ran(_FIRST, "one"),
                ran(_SECOND, "two"),
            ),
            "One, two.",
        ),
    ),
    single(
        "codex-code-patch",
        turn(
            "write a note in code mode",
            (
                script(
                    f"text(await tools.apply_patch({json.dumps(PATCH.format('fix.md', 'four'))}));"
                ),
                Ran("apply_patch", {"changes": [_ADDED]}, "A fix.md"),
            ),
            "The note is written.",
        ),
    ),
    single("codex-code-resume", _ECHO, turn("and resumed", "Resumed.")),
    Scenario(
        "codex-code-fork",
        "codex",
        (
            Session("main", (_ECHO,)),
            Session("fork", (turn("in the fork", "The chuditch."),), forked_from="main"),
        ),
        (Run(arguments=MODEL), Run("fork", fork="main", arguments=MODEL)),
    ),
    _spawn("codex-code-subagent", "none"),
    _spawn("codex-code-subagent-with-turns", "all"),
)
