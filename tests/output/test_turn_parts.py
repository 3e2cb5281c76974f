"""How calls of the agents' tools are printed."""

from typing import Any

import pytest

from ccgrep.model import ToolCall
from ccgrep.output.turn_parts import readable_input, summary_line

DIFF = "-x = 1\n+x = 2"


@pytest.mark.parametrize(
    ("tool", "fields", "line", "text"),
    [
        ("bash", {"command": "ls"}, "[bash] ls", "ls"),
        ("run_shell_command", {"command": "ls"}, "[run_shell_command] ls", "ls"),
        ("Shell", {"command": "ls", "description": "list"}, "[Shell] ls", "ls"),
        ("create", {"path": "a.py", "file_text": "x"}, "[create] a.py (1 chars)", "x"),
        ("Write", {"path": "a.py", "contents": "x"}, "[Write] a.py (1 chars)", "x"),
        ("edit", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"}, "[edit] a.py", DIFF),
        (
            "replace",
            {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
            "[replace] a.py",
            DIFF,
        ),
        (
            "replace_string_in_file",
            {"filePath": "a.py", "oldString": "x = 1", "newString": "x = 2"},
            "[replace_string_in_file] a.py",
            DIFF,
        ),
        ("view", {"path": "a.py"}, "[view] a.py", '{\n  "path": "a.py"\n}'),
    ],
)
def test_tools_of_further_agents(tool: str, fields: dict[str, Any], line: str, text: str) -> None:
    call = ToolCall(tool, fields)
    assert summary_line(call) == line
    assert readable_input(call).text == text
