"""What the tools of each agent do to files."""

from typing import Any

import pytest

from ccgrep.blame.file_access import Change, FileAccess, file_accesses, is_file_tool
from ccgrep.model import Message, ToolCall, ToolResult, Turn

EDITED = (Change("x = 1", "x = 2"),)


@pytest.mark.parametrize(
    ("tool", "fields", "access"),
    [
        ("view", {"path": "a.py"}, FileAccess("read", "/src/a.py")),
        (
            "create",
            {"path": "a.py", "file_text": "x = 1\n"},
            FileAccess("wrote", "/src/a.py", (Change(None, "x = 1\n"),)),
        ),
        (
            "edit",
            {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2"},
            FileAccess("edited", "/src/a.py", EDITED),
        ),
        (
            "replace",
            {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
            FileAccess("edited", "/src/a.py", EDITED),
        ),
        (
            "Write",
            {"path": "a.py", "contents": "x = 1\n"},
            FileAccess("wrote", "/src/a.py", (Change(None, "x = 1\n"),)),
        ),
        (
            "StrReplace",
            {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
            FileAccess("edited", "/src/a.py", EDITED),
        ),
        ("Delete", {"path": "a.py"}, FileAccess("deleted", "/src/a.py", (Change(None, ""),))),
        (
            "replace_string_in_file",
            {"filePath": "/other/a.py", "oldString": "x = 1", "newString": "x = 2"},
            FileAccess("edited", "/other/a.py", EDITED),
        ),
    ],
)
def test_tools_of_further_agents(tool: str, fields: dict[str, Any], access: FileAccess) -> None:
    done = Turn(steps=(Message((ToolCall(tool, fields, ToolResult("done")),)),))
    failed = Turn(steps=(Message((ToolCall(tool, fields, ToolResult("no", is_error=True)),)),))
    assert is_file_tool(tool)
    assert list(file_accesses(done, "/src")) == [access]
    assert list(file_accesses(failed, "/src")) == []
