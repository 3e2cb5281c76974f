"""Scenarios of Claude Code without a terminal."""

from typing import Any

from tests.clients.script import Call, Say, Scenario, Session, Think, turn


def bash(command: str, output: str = "", **fields: Any) -> Call:
    more = {key: fields.pop(key) for key in ("run_in_background",) if key in fields}
    input = {"command": command, "description": "A scripted command", **more}
    return Call("Bash", input, output, **fields)


SCENARIOS = (
    Scenario(
        "claude-plain",
        "claude",
        (Session("main", (turn("hello quokka", "Hello from the stub."),)),),
    ),
    Scenario(
        "claude-tools",
        "claude",
        (
            Session(
                "main",
                (
                    turn(
                        "why does the wombat test fail",
                        (
                            Think("The wombat test must be read first."),
                            Say("I read the test."),
                            Call("Read", {"file_path": "$PROJECT/test_wombat.py"}, "FACTOR = 3"),
                        ),
                        (
                            Call(
                                "Edit",
                                {
                                    "file_path": "$PROJECT/test_wombat.py",
                                    "old_string": "FACTOR = 3",
                                    "new_string": "FACTOR = 4",
                                    "replace_all": False,
                                },
                                "test_wombat.py has been updated",
                            ),
                        ),
                        (
                            Call(
                                "Write",
                                {"file_path": "$PROJECT/fix.md", "content": "The factor is 4.\n"},
                                "File created successfully",
                            ),
                            bash("python3 test_wombat.py && echo passed", "passed", is_whole=True),
                        ),
                        (Think("It passes."), Say("The wombat factor must be 4.")),
                    ),
                ),
            ),
        ),
    ),
)
