"""Scenarios of Codex without a terminal."""

from typing import Any

from tests.clients.script import Call, Say, Scenario, Session, Think, turn


def execute(command: str, output: str = "", **fields: Any) -> Call:
    more = {key: fields.pop(key) for key in ("yield_time_ms",) if key in fields}
    return Call("exec_command", {"cmd": command, **more}, output, **fields)


SCENARIOS = (
    Scenario(
        "codex-plain",
        "codex",
        (Session("main", (turn("hello quokka", "Hello from the stub."),)),),
    ),
    Scenario(
        "codex-tools",
        "codex",
        (
            Session(
                "main",
                (
                    turn(
                        "why does the wombat test fail",
                        (
                            Think("**Looking** at the wombat test."),
                            Say("I run the test."),
                            execute(
                                "python3 test_wombat.py",
                                "the wombat factor is wrong",
                                is_error=True,
                            ),
                        ),
                        (execute("echo passed", "passed"),),
                        (Say("The wombat factor must be 4."),),
                    ),
                ),
            ),
        ),
    ),
)
